/** Hashes of texts. */

/** Forty lower-case hexadecimal digits, for names; never of a secret. */
export function sha1Hex(text: string): string {
  return new Bun.CryptoHasher("sha1").update(text).digest("hex");
}

/** HMAC-SHA256: 64 lower-case hexadecimal digits. */
export function hmacHex(key: string, text: string): string {
  return new Bun.CryptoHasher("sha256", key).update(text).digest("hex");
}
