/** The building blocks of schemas: texts of a certain form, with errors that say what was wanted. */

import * as v from "valibot";
import { parseAddress, toAddressText } from "../../lib/ip/address.ts";
import { tryParseCidr } from "../../lib/ip/cidr.ts";
import { describeRefused } from "../../lib/ip/refused-text.ts";
import { parsePrefix, prefixOf, toPrefixText } from "../../lib/ip/prefix.ts";
import { toChoice } from "../../lib/choice.ts";
import { parseMac } from "../../lib/mac-address.ts";
import { messageOf } from "../../lib/errors.ts";
import { PROTOCOL_NAMES, type PortMatch, type Protocol } from "../rule.ts";

/** Text that `canonical` reads and writes in its one spelling; what it throws becomes the problem. */
function textOf(canonical: (text: string) => string) {
  return v.pipe(
    v.string("want a text"),
    v.rawTransform(({ dataset, addIssue, NEVER }) => {
      try {
        return canonical(dataset.value);
      } catch (error) {
        addIssue({ message: `${messageOf(error)}${describeRefused(dataset.value)}` });
        return NEVER;
      }
    }),
  );
}

/** A prefix without host bits; a bare address is a host prefix. */
export const cidr = textOf((text) => {
  const prefix = parsePrefix(text);
  // Nothing is ever sent to such an address as IPv6, and no API server takes one.
  if (prefix.family === 6 && prefix.base >> 32n === 0xffffn) throw new SyntaxError("got IPv4 mapped into IPv6, want it as IPv4");
  return toPrefixText(prefix);
});

/** A prefix that traffic is compared with: host bits mean nothing and are cleared; a bare address is a host prefix. */
export const net = textOf(toNetText);

/** A {@link net} that something lies outside of. */
export const narrowNet = textOf((text) => {
  const canonical = toNetText(text);
  if (canonical.endsWith("/0")) throw new RangeError(`got "${canonical}", want less than everything: the rule could never match`);
  return canonical;
});

function toNetText(text: string): string {
  const written = tryParseCidr(text);
  return toPrefixText(written === undefined ? parsePrefix(text) : prefixOf(written.address, written.length));
}

/** An address without a prefix length; IPv6 in the form of RFC 5952. */
export const address = textOf((text) => toAddressText(parseAddress(text)));

/** An address with the prefix length of its subnet: host bits stay. */
export const addressWithLength = textOf((text) => {
  const [host = "", length, ...rest] = text.split("/");
  const parsed = parseAddress(host);
  if (length === undefined) return toAddressText(parsed);
  const max = parsed.family === 4 ? 32 : 128;
  if (rest.length > 0 || !/^(0|[1-9][0-9]{0,2})$/.test(length) || Number(length) > max) {
    throw new SyntaxError(`got length ${JSON.stringify(length)}, want 0..${max}`);
  }
  return `${toAddressText(parsed)}/${length}`;
});

/** Unicast, six octets joined by `:` or `-`; stored in lower case with `:`. */
export const macAddress = textOf((text) => parseMac(text));

/** A whole number of a range. */
export function wholeNumber(min: number, max: number) {
  const wanted = `want a whole number ${min}..${max}`;
  return v.pipe(v.number(wanted), v.integer(wanted), v.minValue(min, wanted), v.maxValue(max, wanted));
}

/** The text `"true"`, which quotes in YAML make, is refused. */
export const boolean = v.boolean("want true or false");

/** Any text, also an empty one: for what has no form that we know. */
export const text = v.string("want a text");

/** One of a few texts. */
export function oneOf<const V extends readonly string[]>(...values: V) {
  return v.picklist(values, `want ${toChoice(values.map((value) => JSON.stringify(value)))}`);
}

/** A list of any length. */
export function listOf<S extends v.GenericSchema>(item: S) {
  return v.array(item, "want a list");
}

/** A list of `max` entries at most. */
export function listOfAtMost<S extends v.GenericSchema>(max: number, item: S) {
  return v.pipe(v.array(item, "want a list"), v.maxLength(max, `want at most ${max} entries`));
}

/** @param wanted completes the sentence "want …" */
export function matching(pattern: RegExp, wanted: string) {
  return v.pipe(v.string(`want ${wanted}`), v.regex(pattern, `want ${wanted}`));
}

/** At most 15 bytes as in the kernel (`IFNAMSIZ`), but of fewer characters than it takes. */
export const interfaceName = matching(/^[A-Za-z0-9_.-]{1,15}$/, "an interface name of 1..15 letters, digits, `_`, `.` or `-`");

/** What CNI allows as the name of a network, and so may become the name of a node, profile or endpoint. */
export const looseName = v.pipe(
  matching(/^[A-Za-z0-9][A-Za-z0-9_.-]*$/, "letters, digits, `_`, `.` or `-`, a letter or digit first"),
  v.maxLength(512, "want at most 512 characters"),
);

/** @see RFC 1123 section 2.1 */
export const dnsSubdomain = v.pipe(
  matching(/^[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*$/, "a DNS name in lower case: letters, digits, `-` and `.`"),
  v.maxLength(253, "want at most 253 characters"),
);

/** A tier's name: without a dot, because a policy's name may begin with `<tier>.`. @see RFC 1123 section 2.1 */
export const dnsLabel = v.pipe(
  matching(/^[a-z0-9]([a-z0-9-]*[a-z0-9])?$/, "a DNS label in lower case: letters, digits and `-`"),
  v.maxLength(63, "want at most 63 characters"),
);

const labelKey = v.pipe(
  v.string("want a text"),
  v.regex(
    /^([a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?\/)?[A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?$/,
    "want a key: `name` or `dns.prefix/name`, the name of at most 63 letters, digits, `_`, `.` or `-`",
  ),
);

const labelValue = matching(
  /^([A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?)?$/,
  "a label value: at most 63 letters, digits, `_`, `.` or `-`, a letter or digit first and last",
);

/** By Kubernetes' rules for keys and values, on every datastore. */
export const labels = v.record(labelKey, labelValue, "want an object of texts");

/** Keys as in {@link labels}, with any text as a value. */
export const annotations = v.record(labelKey, text, "want an object of texts");

/** An object of a few texts: what it costs to look at all its keys must have an end. */
export function atMost<S extends typeof labels | typeof annotations>(max: number, map: S) {
  return v.pipe(map, v.maxEntries(max, `want at most ${max} entries`));
}

/** How a protocol's name may be written: as it is, in capitals, in small letters. An API server cannot ignore case at a bearable cost. */
export function spellingsOf(name: string): readonly string[] {
  return [...new Set([name, name.toUpperCase(), name.toLowerCase()])];
}

/** Number, or name. */
export const protocol = v.pipe(
  v.union([v.string(), v.number()], "want a name or a number"),
  v.rawTransform(({ dataset, addIssue, NEVER }): Protocol => {
    const written = String(dataset.value);
    const name = PROTOCOL_NAMES.find((known) => spellingsOf(known).includes(written));
    if (name !== undefined) return name;
    const number = toWholeNumber(written, 1, 255);
    if (number !== undefined) return number;
    addIssue({ message: `want ${PROTOCOL_NAMES.join(", ")} or a number 1..255` });
    return NEVER;
  }),
);

/** Number, range `first:last`, or name. */
export const portMatch = v.pipe(
  v.union([v.string(), v.number()], "want a number, a range or a name"),
  v.rawTransform(({ dataset, addIssue, NEVER }): PortMatch => {
    const port = toPortMatch(String(dataset.value));
    if (port !== undefined) return port;
    addIssue({ message: "want a number 0..65535, a range `first:last`, or a name of at most 63 letters, digits, `_`, `.` and `-`" });
    return NEVER;
  }),
);

function toPortMatch(written: string): PortMatch | undefined {
  if (/^-?[0-9.]+$/.test(written)) return toWholeNumber(written, 0, 65_535);
  if (!written.includes(":")) return /^[A-Za-z0-9_.-]{1,63}$/.test(written) ? written : undefined;
  const [first, last, ...rest] = written.split(":").map((end) => toWholeNumber(end, 0, 65_535));
  if (first === undefined || last === undefined || rest.length > 0 || first > last) return undefined;
  return first === last ? first : `${first}:${last}`;
}

function toWholeNumber(written: string, min: number, max: number): number | undefined {
  if (!/^(0|[1-9][0-9]{0,9})$/.test(written)) return undefined;
  const number = Number(written);
  return number >= min && number <= max ? number : undefined;
}

/** Where a selector is used: only a rule's namespace selector may be `global()`. */
export type SelectorPlace = "plain" | "namespace-of-rule";

/** The text of a selector. The language is known further up, so whoever validates hands its parser in. */
export function selector(place: SelectorPlace = "plain") {
  return v.pipe(v.string("want a selector"), v.maxLength(1_024, "want at most 1024 characters"), v.metadata({ selector: place }));
}
