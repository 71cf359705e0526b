/** Keeps secrets out of everything that is logged: by the field's name, and by what a text looks like. */

/** What stands where a secret stood. */
export const REDACTED = "[redacted]";

/** Longest text that a log line carries; a whole config or a stack of causes is cut here. */
const MAX_TEXT_LENGTH = 2000;

/*
 * Before the first regular expression stands a search for plain words: the plugin writes a handful of lines and ends, and compiling
 * the expressions below costs it more (0.3 ms) than everything else that a line needs. Loops for the same reason: the first call of
 * `some` alone is 0.07 ms.
 */

/** Parts of the name, in lower case, of a field whose value is a secret. */
const SECRET_PARTS =
  "passw passphrase secret token credential authorization bearer cookie privatekey private_key private-key keydata key_data key-data".split(
    " ",
  );

/** Names, in lower case, of documents that may hold a secret. */
const DOCUMENT_NAMES = "raw stdin config conf netconf networkconfig network_config environment env".split(" ");

/** Without one of these, in lower case, there is no secret in a text and none under a name: a superset of what all others look for. */
const SUSPICIOUS_PARTS =
  ':// eyj -----begin bearer basic passw passphrase token secret credential "cniversion" key authorization cookie conf raw stdin env'.split(
    " ",
  );

const SECRETS_IN_TEXT: readonly (readonly [pattern: RegExp, replacement: string])[] = [
  // A whole network config or kubeconfig pasted into a message.
  [/\{[^{}]*"cniVersion"[\s\S]*/g, REDACTED],
  [/-----BEGIN [A-Z0-9 ]+-----[\s\S]*?(-----END [A-Z0-9 ]+-----|$)/g, REDACTED],
  // JSON web tokens: Kubernetes and etcd credentials.
  [/eyJ[\w-]+(\.[\w-]*)*/g, REDACTED],
  [/\b(bearer|basic)\s+[\w.~+/=-]{8,}/gi, `$1 ${REDACTED}`],
  // User information in a URL, up to the last "@": a password may hold "@" and, written carelessly, "/".
  [/(:\/\/)[^\s"']{0,1000}@/g, `$1${REDACTED}@`],
  // name=value, name: value, "name": "value", as queries, environments, JSON (also inside JSON) and YAML write them.
  [
    /((?:passwd|password|passphrase|secret|token|credentials?|client-key-data)(?:\\?["'])?\s*[=:]\s*)(?:\\"[\s\S]*?(?:(?<!\\\\)\\"|$)|"(?:[^"\\]|\\.)*(?:"|$)|'[^']*(?:'|$)|[^\s,;&"'}\]]+)/gi,
    `$1${REDACTED}`,
  ],
];

/**
 * Whether names and texts, put together, are surely free of secrets and short enough: one look that spares each of them their own, which
 * nearly every log line passes.
 */
export function isSurelyClean(namesAndTexts: string): boolean {
  return namesAndTexts.length <= MAX_TEXT_LENGTH && !hasAny(namesAndTexts.toLowerCase(), SUSPICIOUS_PARTS);
}

/** Whether a value under this name must never be written down. */
export function isSecretName(name: string): boolean {
  const lower = name.toLowerCase();
  if (DOCUMENT_NAMES.includes(lower) || lower.includes("kubeconfig")) return true;
  return hasAny(lower, SECRET_PARTS) && !lower.endsWith("file") && !lower.endsWith("path") && !lower.endsWith("dir");
}

/** A text as it may be written down: what looks like a secret replaced, and no longer than a log line bears. */
export function redactText(text: string): string {
  // Cut in two steps: a hostile text of megabytes must not be searched whole, and no secret may survive as a stump at the cut.
  const head = text.length > 4 * MAX_TEXT_LENGTH ? text.slice(0, 4 * MAX_TEXT_LENGTH) : text;
  let clean = head;
  if (hasAny(head.toLowerCase(), SUSPICIOUS_PARTS)) {
    for (const [pattern, replacement] of SECRETS_IN_TEXT) clean = clean.replace(pattern, replacement);
  }
  return clean.length > MAX_TEXT_LENGTH || head.length < text.length
    ? `${clean.slice(0, MAX_TEXT_LENGTH)}… (${text.length} characters)`
    : clean;
}

function hasAny(text: string, parts: readonly string[]): boolean {
  for (const part of parts) if (text.includes(part)) return true;
  return false;
}
