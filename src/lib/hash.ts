/** Hashes for names; never for secrets. */

/** Forty lower-case hexadecimal digits. */
export function sha1Hex(text: string): string {
  return new Bun.CryptoHasher("sha1").update(text).digest("hex");
}
