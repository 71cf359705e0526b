/** Text to base64 and back: the JSON gateway writes all keys and values so. */

/** For text of any characters. */
export function toBase64(text: string): string {
  return isAscii(text) ? btoa(text) : new TextEncoder().encode(text).toBase64();
}

export function fromBase64(encoded: string): string {
  const bytes = atob(encoded);
  return isAscii(bytes) ? bytes : new TextDecoder().decode(Uint8Array.from(bytes, (byte) => byte.charCodeAt(0)));
}

function isAscii(text: string): boolean {
  // eslint-disable-next-line no-control-regex
  return /^[\x00-\x7f]*$/.test(text);
}
