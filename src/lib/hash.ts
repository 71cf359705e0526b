/** The hash by which long texts get short names. */

/** Forty lower-case hexadecimal digits, for names; never of a secret. */
export function sha1Hex(text: string): string {
  return new Bun.CryptoHasher("sha1").update(text).digest("hex");
}
