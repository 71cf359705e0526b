/** Until when a certificate counts. */

/** As an `X509Certificate` shows it. */
export interface Validity {
  readonly validFrom: string;
  readonly validTo: string;
}

/**
 * Why a certificate does not count at a moment, and what helps.
 *
 * @param now milliseconds since 1970
 * @returns undefined when it counts
 */
export function whyNotValid({ validFrom, validTo }: Validity, now: number): string | undefined {
  const [from, to] = [Date.parse(validFrom), Date.parse(validTo)];
  if (now > to) return `it expired at ${new Date(to).toISOString()}: renew it`;
  if (now < from) return `it is not valid before ${new Date(from).toISOString()}: set this machine's clock, or the server's`;
  return undefined;
}
