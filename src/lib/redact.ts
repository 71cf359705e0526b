/** Keeps secrets out of everything that is logged: by the field's name, and by what a text looks like. */

/** What stands where a secret stood. */
export const REDACTED = "[redacted]";

/** Longest text that a log line carries; a whole config or a stack of causes is cut here. */
const MAX_TEXT_LENGTH = 2000;

/** A field whose name says that its value is a secret, or a document that may hold one. */
const SECRET_NAME =
  /passw|passphrase|secret|token|credential|authorization|bearer|private_?key|key_?data|cookie|kubeconfig|^(raw|stdin|config|conf|netconf|networkconfig|environment|env)$/i;

/** A name that looks like a secret's and holds only the place where one is kept. */
const PLACE_NAME = /_?(file|path|dir)$/i;

/** A cheap look at a text before the expensive ones: almost no message has any of this. */
const SUSPICIOUS = /:\/\/[^\s]{0,1000}@|eyJ|BEGIN|bearer|basic|passw|token|secret|credential|key-data|"cniVersion"/i;

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

/** Whether a value under this name must never be written down. */
export function isSecretName(name: string): boolean {
  return SECRET_NAME.test(name) && !(PLACE_NAME.test(name) && !/kubeconfig/i.test(name));
}

/** A text as it may be written down: what looks like a secret replaced, and no longer than a log line bears. */
export function redactText(text: string): string {
  // Cut in two steps: a hostile text of megabytes must not be searched whole, and no secret may survive as a stump at the cut.
  const head = text.length > 4 * MAX_TEXT_LENGTH ? text.slice(0, 4 * MAX_TEXT_LENGTH) : text;
  let clean = head;
  if (SUSPICIOUS.test(head)) {
    for (const [pattern, replacement] of SECRETS_IN_TEXT) clean = clean.replace(pattern, replacement);
  }
  return clean.length > MAX_TEXT_LENGTH || head.length < text.length
    ? `${clean.slice(0, MAX_TEXT_LENGTH)}… (${text.length} characters)`
    : clean;
}
