/** Why people are refused an IPv4 address that looks like one. */

const WRITTEN_IPV4 = /^\d+(\.\d+){3}(\/\d+)?$/;
const LEADING_ZERO = /(^|[./])0\d/;

/** What a message adds about text that was refused, when there is a leading zero in it, as in `010.0.0.0/8`; else nothing. */
export function describeLeadingZeros(text: string): string {
  return WRITTEN_IPV4.test(text) && LEADING_ZERO.test(text) ? "; without leading zeros, which some programs read as octal" : "";
}
