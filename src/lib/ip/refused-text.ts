/** Why people are refused what looks like an address or a prefix. */

const WRITTEN_IPV4 = /^\d+(\.\d+){3}(\/\d+)?$/;
const LEADING_ZERO = /(^|[./])0\d/;

/** `::ffff:10.0.0.1` */
const IPV4_IN_IPV6 = /^[\da-f]*:[\da-f:]*:\d+(\.\d+){3}(\/\d+)?$/i;

/** `fe80::1%eth0` */
const ZONE = /^[\da-f]*:[\da-f.:]*:[\da-f.]*%/i;

/** What a message adds about text that was refused, where a form is in it that other programs take: a leading zero, as in `010.0.0.0/8`. Else nothing. */
export function describeRefused(text: string): string {
  if (WRITTEN_IPV4.test(text) && LEADING_ZERO.test(text)) return "; without leading zeros, which some programs read as octal";
  if (IPV4_IN_IPV6.test(text)) return "; IPv4 alone, or IPv6 in hexadecimal digits only";
  if (ZONE.test(text)) return "; without a zone, which means something on one host only";
  return "";
}
