/** Keeps secrets out of everything that is logged: by the field's name, and by what a text looks like. */

/** What takes the place of a secret. */
export const REDACTED = "[redacted]";

/** Longest text that a log line carries; a config or a stack of causes is cut here. */
const MAX_TEXT_LENGTH = 2000;

/** Where a message has cut a text. */
const CUT = "…";

/** Longest text that is searched whole for its end. */
const MAX_SEARCHED_LENGTH = 65_536;

/*
 * A search for plain words comes before the regular expressions: the plugin writes a handful of lines and ends, and compiling the
 * expressions costs it more (0.3 ms) than all else that a line needs. Loops for the same reason: the first call of `some` alone is 0.07 ms.
 */

/** Parts of the name, in lower case, of a field whose value is a secret. */
const SECRET_PARTS =
  "passw passphrase secret token credential authorization bearer cookie privatekey private_key private-key keydata key_data key-data apikey api_key api-key".split(
    " ",
  );

/** Names, in lower case, of documents that may hold a secret. */
const DOCUMENT_NAMES = "raw stdin config conf netconf networkconfig network_config environment env".split(" ");

/** Without one of these, in lower case, there is no secret in a text and none under a name: a superset of all others. */
const SUSPICIOUS_PARTS =
  ':// eyj -----begin ls0tls1crudjti bearer basic passw passphrase token secret credential "cniversion" key authorization cookie conf raw stdin env'.split(
    " ",
  );

const SECRETS_IN_TEXT: readonly (readonly [pattern: RegExp, replacement: string])[] = [
  // A whole network config or kubeconfig pasted into a message.
  [/\{[^{}]*"cniVersion"[\s\S]*/g, REDACTED],
  [/-----BEGIN [A-Z0-9 ]+-----[\s\S]*?(-----END [A-Z0-9 ]+-----|$)/g, REDACTED],
  // JSON web tokens: Kubernetes and etcd credentials.
  [/eyJ[\w-]+(\.[\w-]*)*/g, REDACTED],
  // PEM once more in base64, as a kubeconfig has keys.
  [/LS0tLS1CRUdJTi[\w+/=]*/g, REDACTED],
  // Headers: of a scheme that nobody foresaw, and each of several cookies. A quote right after "=" begins a parameter, as `Digest` has them,
  // also within a text in quotes; another one ends the header, and so does the one after the "=" that fills up base64.
  [
    /\b(authorization|cookie): (?:(?:basic|bearer|negotiate) [^\r\n"']+|[^\r\n"']+(?:(?:(?<==)"(?:[^"\\\r\n]|\\.)*"?|(?<==\\)"[^"\r\n]*"?)[^\r\n"']*)*)/gi,
    `$1: ${REDACTED}`,
  ],
  [/\b(bearer|basic)\s+(?!authentication\b)[\w.~+/=-]{8,}/gi, `$1 ${REDACTED}`],
  // Options of a command.
  [
    /((?<![\w-])--?(?:\w+-)*(?:password|passwd|passphrase|token|secret|api-key) )(?![=:]\s)(?:\\"[^"]+"?|[^\s"']+|"(?:[^"\\]|\\[\s\S])+"?|'[^']+'?)/gi,
    `$1${REDACTED}`,
  ],
  // User information in a URL, up to the last "@": a password may hold "@" and, written carelessly, "/".
  [/(:\/\/)[^\s"']{0,1000}@/g, `$1${REDACTED}@`],
  // name=value, name: value, "name": "value", as queries, environments, JSON (also inside JSON) and YAML write them, of names as
  // isSecretName() has them. No "-" follows the word but in one name: the pod "default/token-server" is no secret, nor
  // is "full" in `pool "tokens": full` or "EMFILE" in `open "/run/tokens": EMFILE (…)`.
  [
    /(?<!(?:\b(?:pool|pod|namespace|node|kubeconfig|delegate) "|"\/)[^"\s=]{0,300}(?=[\w-]{0,64}": (?:[a-z]+|E[A-Z0-9]+):? ))((?:passw|passphrase|secret|token|credential|authorization|bearer|cookie|private[_-]?key|key[_-]?data|api[_-]?key)(?:-access-key|\w{0,64})(?<!file|path|dir|interval)(?:\\?["'])?\s*[=:]\s*)(?!\[redacted\])(?:\\"[\s\S]*?(?:(?<!\\\\)\\"|$)|"(?:[^"\\]|\\.)*(?:"|$)|'[^']*(?:'|$)|[^\s,;&"'}\]]+)/gi,
    `$1${REDACTED}`,
  ],
];

/** Whether names and texts, joined, are surely free of secrets and short enough: nearly every log line needs this one check only. */
export function isSurelyClean(namesAndTexts: string): boolean {
  return namesAndTexts.length <= MAX_TEXT_LENGTH && !hasAny(namesAndTexts.toLowerCase(), SUSPICIOUS_PARTS);
}

/** Whether a value under this name must never be written down. */
export function isSecretName(name: string): boolean {
  const lower = name.toLowerCase();
  if (DOCUMENT_NAMES.includes(lower) || lower.includes("kubeconfig")) return true;
  return hasAny(lower, SECRET_PARTS) && !/(?:file|path|dir|interval)$/.test(lower);
}

/** A text as it may be written down: what looks like a secret replaced, and no longer than a log line bears. */
export function redactText(text: string): string {
  // Cut in two steps: a hostile text of megabytes must not be searched whole, and no secret may survive as a stump at the cut.
  const isCut = text.length > 4 * MAX_TEXT_LENGTH;
  const clean = withoutSecrets(isCut ? text.slice(0, 4 * MAX_TEXT_LENGTH) + CUT : text);
  return clean.length > MAX_TEXT_LENGTH || isCut ? `${clean.slice(0, MAX_TEXT_LENGTH)}… (${text.length} characters)` : clean;
}

/**
 * The end of a text as it may be written down: of what a failed program has written, the last lines say why.
 *
 * @returns undefined for a text that is too long to be searched whole: half a secret at the cut would not be recognised
 */
export function redactEnd(text: string, length: number): string | undefined {
  if (text.length > MAX_SEARCHED_LENGTH) return undefined;
  const clean = withoutSecrets(text);
  return clean.length > length ? `…${clean.slice(-length)}` : clean;
}

/** Not for text that was cut at its beginning: a secret is recognised by its beginning. */
function withoutSecrets(text: string): string {
  if (!hasAny(text.toLowerCase(), SUSPICIOUS_PARTS)) return text;
  let clean = text;
  for (const [pattern, replacement] of SECRETS_IN_TEXT) clean = clean.replace(pattern, replacement);
  return clean.includes(CUT) ? withoutCutUserInfo(clean) : clean;
}

/** User information in a URL that a message has cut before the "@". The expression fits any URL, so that no place is looked at twice. */
function withoutCutUserInfo(text: string): string {
  return text.replace(/(:\/\/)([^\s"'@…]*)(…?)/g, (url, lead: string, rest: string, cut: string) => {
    const hasWholeHost = /^[^/?#:]*(?::\d{1,5})?[/?#]/.test(rest);
    return cut === "" || rest === "" || hasWholeHost ? url : `${lead}${REDACTED}${CUT}`;
  });
}

function hasAny(text: string, parts: readonly string[]): boolean {
  for (const part of parts) if (text.includes(part)) return true;
  return false;
}
