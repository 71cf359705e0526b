/** Text to base64 and back: the JSON gateway writes all keys and values so. Natively: a regular expression costs more at the first use. */

/** Encodes text of any characters; keys, which are ASCII, take `btoa`. */
export function toBase64(text: string): string {
  return new TextEncoder().encode(text).toBase64();
}

/** Decodes what the gateway writes for a value. @throws SyntaxError when it is no base64 */
export function fromBase64(encoded: string): string {
  return new TextDecoder().decode(Uint8Array.fromBase64(encoded));
}
