/**
 * Texts and numbers that mean something, in OpenAPI and CEL. Our schemas check them with code, which no generator can read: a schema with
 * such code can become part of a CRD only if it is listed here.
 */

import type * as v from "valibot";
import { PROTOCOL_NAMES } from "../rule.ts";
import { cidr, narrowNet, net, portMatch, protocol, spellingsOf } from "../schema/fields.ts";
import type { OpenApiSchema } from "./custom-resource-definition.ts";

/** The longest is `ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff/128`. */
const CIDR_LENGTH = 43;

/** Hexadecimal groups or decimal octets: IPv4 embedded in IPv6 is refused, as by our own parser. */
const CIDR_PATTERN = "^([0-9A-Fa-f:]+|[0-9.]+)(/[0-9]{1,3})?$";

const OCTET = "(25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])";
const IPV4 = `${OCTET}(\\.${OCTET}){3}`;

/** Up to eight groups, with at most one `::` for those that are missing. */
const GROUP = "[0-9A-Fa-f]{1,4}";
const IPV6 = [
  `(${GROUP}:){7}${GROUP}`,
  `(${GROUP}:){1,7}:`,
  ...[6, 5, 4, 3, 2, 1].map((before) => `(${GROUP}:){1,${before}}(:${GROUP}){1,${7 - before}}`),
  `:(:${GROUP}){1,7}`,
  "::",
].join("|");

/** An address, or a CIDR whose length is at least 0 or 1. A regular expression costs nothing of the budget that rules have. */
function netPattern(least: 0 | 1): string {
  const units = least === 0 ? "[0-9]" : "[1-9]";
  return `^(${IPV4}(/(3[0-2]|[12][0-9]|${units}))?|(${IPV6})(/(12[0-8]|1[01][0-9]|[1-9][0-9]|${units}))?)$`;
}

const UP_TO_65535 = "(0|[1-9][0-9]{0,3}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5])";
const UP_TO_255 = "([1-9][0-9]?|1[0-9]{2}|2[0-4][0-9]|25[0-5])";

/** Anything of these characters that does not read as a number: it has a letter, a `_`, or a `-` behind its first character. */
const PORT_NAME = "([A-Za-z0-9_.-]*[A-Za-z_][A-Za-z0-9_.-]*|[A-Za-z0-9_.-]+-[A-Za-z0-9_.-]*|-)";

const FORMS: readonly (readonly [schema: v.GenericSchema, form: OpenApiSchema])[] = [
  [
    cidr,
    {
      type: "string",
      maxLength: CIDR_LENGTH,
      pattern: CIDR_PATTERN,
      "x-kubernetes-validations": [
        {
          // `in` where `==` would do: before Kubernetes 1.32 the cost of comparing two CIDRs counts as unbounded
          rule: "isCIDR(self) ? cidr(self).masked() in [cidr(self)] : isIP(self)",
          message: "want a prefix without host bits such as 10.65.0.0/16 or fd00:65::/64, or a single address",
        },
      ],
    },
  ],
  [net, { type: "string", maxLength: CIDR_LENGTH, pattern: netPattern(0) }],
  [narrowNet, { type: "string", maxLength: CIDR_LENGTH, pattern: netPattern(1) }],
  [
    protocol,
    {
      "x-kubernetes-int-or-string": true,
      maxLength: 7,
      pattern: `^(${PROTOCOL_NAMES.flatMap(spellingsOf).join("|")}|${UP_TO_255})$`,
      minimum: 1,
      maximum: 255,
    },
  ],
  [
    portMatch,
    {
      "x-kubernetes-int-or-string": true,
      maxLength: 63,
      pattern: `^(${UP_TO_65535}(:${UP_TO_65535})?|${PORT_NAME})$`,
      minimum: 0,
      maximum: 65_535,
    },
  ],
];

/** How a field's text is said in OpenAPI; undefined for a schema that speaks for itself. */
export function formOf(schema: v.GenericSchema): OpenApiSchema | undefined {
  return FORMS.find(([known]) => known === schema)?.[1];
}
