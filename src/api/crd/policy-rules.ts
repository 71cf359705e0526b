/** What a rule of a profile or policy says beyond its schema. */

import type { EntityRule, IcmpMatch, Rule } from "../rule.ts";
import { spellingsOf } from "../schema/fields.ts";
import type { Direction } from "../schema/rule.ts";
import type { CelRule } from "./custom-resource-definition.ts";
import type { CelRules, FieldTexts } from "./definition.ts";

const ICMP_TEXTS: FieldTexts<IcmpMatch> = { type: "The ICMP type.", code: "The ICMP code; needs a type." };

const ENTITY_TEXTS: FieldTexts<EntityRule> = {
  nets: "Its address lies in one of these CIDRs.",
  notNets: "Its address lies in none of these CIDRs.",
  selector: "It is an endpoint or network set whose labels this selector matches.",
  notSelector: "It is none whose labels this selector matches.",
  namespaceSelector: "It is in a namespace whose labels this selector matches; global() means in none.",
  serviceAccounts: [
    "It runs under one of these service accounts.",
    { names: "Names of service accounts.", selector: "Matches the labels of service accounts." },
  ],
  services: [
    "It is a backend of this service, on its ports. Stands alone: at the destination of an egress rule or the source of an ingress rule.",
    { name: "Name of the service.", namespace: "Namespace of the service." },
  ],
  ports: "Its port is one of these: a number, a range such as 8000:8080, or the name of a port that endpoints declare.",
  notPorts: "Its port is none of these.",
};

/** What `kubectl explain` says of each entry in a list of rules. */
export const RULE_TEXTS: FieldTexts<Rule> = {
  action: "What happens to what matches. Log goes on with the next rule; Pass leaves the tier.",
  ipVersion: "Only packets of this version of IP.",
  protocol: "TCP, UDP, SCTP, UDPLite, ICMP, ICMPv6, or a number 1..255.",
  notProtocol: "Not this protocol.",
  icmp: ["ICMP messages of this type and code; needs protocol ICMP or ICMPv6.", ICMP_TEXTS],
  notICMP: ["Not ICMP messages of this type and code; needs protocol ICMP or ICMPv6.", ICMP_TEXTS],
  source: ["Where packets come from. All fields must hold.", ENTITY_TEXTS],
  destination: ["Where packets go to. All fields must hold.", ENTITY_TEXTS],
  http: [
    "Requests that match; with action Allow and protocol TCP only.",
    {
      methods: "HTTP methods in capitals.",
      paths: ["Paths, each exact or by its beginning.", { exact: "The whole path.", prefix: "How the path begins." }],
    },
  ],
  metadata: ["Notes.", { annotations: "Notes by key; they change nothing." }],
};

/**
 * CEL: whether a rule's protocol is one of these, written by name or number. A text that may also be a number has no bound in the eyes
 * of API servers before 1.34, so no function may read it: `in` and `charAt` do not.
 */
function isProtocol(...protocols: readonly (string | number)[]): string {
  const texts = protocols.flatMap((protocol) => (typeof protocol === "string" ? spellingsOf(protocol) : [String(protocol)]));
  const numbers = protocols.filter((protocol) => typeof protocol === "number");
  const isNumber = numbers.length === 0 ? "" : ` || self.protocol in [${numbers.join(", ")}]`;
  return `(has(self.protocol) && (self.protocol in [${texts.map((text) => `'${text}'`).join(", ")}]${isNumber}))`;
}

const SIDES = ["source", "destination"] as const;

/** Lists of CIDRs in a rule. */
const NET_LISTS = SIDES.flatMap((side) => (["nets", "notNets"] as const).map((field) => ({ side, field })));

/** CEL: the family of each part of a rule, as far as the part has one. */
const FAMILIES = `[${[
  "has(self.ipVersion) ? self.ipVersion : 0",
  ...NET_LISTS.map(({ side, field }) => {
    const list = `self.${side}.${field}`;
    return `has(self.${side}) && has(${list}) && size(${list}) > 0 ? (${list}[0].contains(':') ? 6 : 4) : 0`;
  }),
].join(", ")}]`;

/** CEL: whether a port is a name, and neither a number nor a range: within its first characters there is one that is no digit or colon. */
const IS_PORT_NAME = `type(port) == string && (${[0, 1, 2, 3, 4, 5]
  .map((index) => `size(port) > ${index} && (port.charAt(${index}) < '0' || port.charAt(${index}) > ':')`)
  .join(" || ")})`;

/** @see rulesProblems in schema/rule.ts: the same, for objects that do not pass through netplugctl */
const RULES: readonly CelRule[] = [
  ...(["icmp", "notICMP"] as const).map((field) => ({
    rule: `!has(self.${field}) || ${isProtocol("ICMP", "ICMPv6")}`,
    message: "want protocol ICMP or ICMPv6 with it",
    fieldPath: `.${field}`,
  })),
  {
    rule: `!has(self.ipVersion) || !${isProtocol("ICMP", "ICMPv6")} || (self.ipVersion == 4) == ${isProtocol("ICMP")}`,
    message: "want 4 with protocol ICMP, 6 with ICMPv6",
    fieldPath: ".ipVersion",
  },
  { rule: `!(4 in ${FAMILIES} && 6 in ${FAMILIES})`, message: "want ipVersion and all nets of one family" },
  ...SIDES.flatMap((side) => (["ports", "notPorts"] as const).map((field) => portsRule(side, field))),
  { rule: "!has(self.http) || self.action == 'Allow'", message: "want action Allow with it", fieldPath: ".http" },
  { rule: `!has(self.http) || !has(self.protocol) || ${isProtocol("TCP", 6)}`, message: "want protocol TCP with it", fieldPath: ".http" },
];

function portsRule(side: (typeof SIDES)[number], field: "ports" | "notPorts"): CelRule {
  const list = `self.${side}.${field}`;
  return {
    rule: `!has(self.${side}) || !has(${list}) || size(${list}) == 0 || ${isProtocol("TCP", "UDP", "SCTP", "UDPLite", 6, 17, 132, 136)} || (!has(self.protocol) && ${list}.all(port, ${IS_PORT_NAME}))`,
    message: "ports want protocol TCP, UDP, SCTP or UDPLite; names alone also go without a protocol",
    fieldPath: `.${side}.${field}`,
  };
}

const OTHERS = ["nets", "notNets", "selector", "notSelector", "namespaceSelector", "serviceAccounts", "ports", "notPorts"] as const;

function entityRules(side: (typeof SIDES)[number], direction: Direction): readonly CelRule[] {
  const allowed = direction === "egress" ? "destination" : "source";
  if (side !== allowed) {
    return [{ rule: "!has(self.services)", message: `want services in the ${allowed} of an ${direction} rule`, fieldPath: ".services" }];
  }
  const alone = OTHERS.map((field) => `!has(self.${field})`).join(" && ");
  return [{ rule: `!has(self.services) || (${alone})`, message: "want services alone", fieldPath: ".services" }];
}

/**
 * CEL: whether a CIDR is IPv4: within its first four characters there is a dot, as in no IPv6 one. To search the whole text would cost
 * more than the budget has for 1024 rules with 256 CIDRs in each of their lists.
 */
const isV4 = (net: string): string => `(size(${net}) > 3 && (${[1, 2, 3].map((index) => `${net}.charAt(${index}) == '.'`).join(" || ")}))`;

/** All rules on the rules of one direction. */
export function policyRuleChecks(direction: Direction): CelRules {
  const rule = `spec.${direction}[]`;
  const oneFamily: CelRule = {
    rule: `size(self) == 0 || (${isV4("self[0]")} ? self.all(net, ${isV4("net")}) : !self.exists(net, ${isV4("net")}))`,
    message: "want CIDRs of one family",
  };
  const needsType: CelRule = { rule: "!has(self.code) || has(self.type)", message: "want a type with the code", fieldPath: ".code" };
  return {
    [rule]: RULES,
    [`${rule}.icmp`]: [needsType],
    [`${rule}.notICMP`]: [needsType],
    ...Object.fromEntries(SIDES.map((side) => [`${rule}.${side}`, entityRules(side, direction)])),
    ...Object.fromEntries(NET_LISTS.map(({ side, field }) => [`${rule}.${side}.${field}`, [oneFamily]])),
    [`${rule}.http.paths[]`]: [{ rule: "has(self.exact) != has(self.prefix)", message: "want exactly one of exact and prefix" }],
  };
}
