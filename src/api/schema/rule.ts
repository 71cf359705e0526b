/** The schema of a rule, and the rules between its fields. */

import * as v from "valibot";
import type { Family } from "../../lib/ip/address.ts";
import { parsePrefix } from "../../lib/ip/prefix.ts";
import type { EntityRule, Rule } from "../rule.ts";
import {
  annotations,
  atMost,
  listOfAtMost,
  matching,
  narrowNet,
  net,
  oneOf,
  portMatch,
  protocol,
  selector,
  text,
  wholeNumber,
} from "./fields.ts";
import { type PathStep, type Problem, toPathText } from "./problem.ts";

/** Most rules in one direction. */
export const MAX_RULES = 1_024;

const MAX_NETS = 256;
const MAX_PORTS = 50;
const MAX_HTTP_ENTRIES = 20;
const MAX_ANNOTATIONS = 64;

const icmp = v.object({ type: v.exactOptional(wholeNumber(0, 254)), code: v.exactOptional(wholeNumber(0, 255)) });

const httpPath = v.pipe(v.string("want a path"), v.maxLength(1_024, "want at most 1024 characters"));

const entityRule = v.object({
  nets: v.exactOptional(listOfAtMost(MAX_NETS, net)),
  notNets: v.exactOptional(listOfAtMost(MAX_NETS, narrowNet)),
  selector: v.exactOptional(selector()),
  notSelector: v.exactOptional(selector()),
  namespaceSelector: v.exactOptional(selector("namespace-of-rule")),
  serviceAccounts: v.exactOptional(v.object({ names: v.exactOptional(v.array(text)), selector: v.exactOptional(selector()) })),
  services: v.exactOptional(v.object({ name: text, namespace: v.exactOptional(text) })),
  ports: v.exactOptional(listOfAtMost(MAX_PORTS, portMatch)),
  notPorts: v.exactOptional(listOfAtMost(MAX_PORTS, portMatch)),
});

/** Each field by itself; {@link rulesProblems} looks at several together. */
export const ruleSchema = v.object({
  action: oneOf("Allow", "Deny", "Log", "Pass"),
  ipVersion: v.exactOptional(v.picklist([4, 6], "want 4 or 6")),
  protocol: v.exactOptional(protocol),
  notProtocol: v.exactOptional(protocol),
  icmp: v.exactOptional(icmp),
  notICMP: v.exactOptional(icmp),
  source: v.exactOptional(entityRule),
  destination: v.exactOptional(entityRule),
  http: v.exactOptional(
    v.object({
      methods: v.exactOptional(listOfAtMost(MAX_HTTP_ENTRIES, matching(/^[A-Z]+$/, "an HTTP method in capitals"))),
      paths: v.exactOptional(
        listOfAtMost(MAX_HTTP_ENTRIES, v.object({ exact: v.exactOptional(httpPath), prefix: v.exactOptional(httpPath) })),
      ),
    }),
  ),
  metadata: v.exactOptional(v.object({ annotations: v.exactOptional(atMost(MAX_ANNOTATIONS, annotations)) })),
});

/** To the endpoint, or from it; also the name of the field of a spec that lists such rules. */
export type Direction = "ingress" | "egress";

/** What the fields of each rule of one direction say against each other. */
export function rulesProblems(rules: readonly Rule[], direction: Direction): readonly Problem[] {
  return rules.flatMap((rule, index) => {
    const problems: Problem[] = [];
    const report = (steps: readonly PathStep[], message: string): void => {
      problems.push({ path: toPathText(["spec", direction, index, ...steps]), message });
    };
    checkProtocol(rule, report);
    checkFamilies(rule, report);
    checkEntity(rule, "source", direction, report);
    checkEntity(rule, "destination", direction, report);
    checkHttp(rule, report);
    return problems;
  });
}

type Report = (steps: readonly PathStep[], message: string) => void;

function checkProtocol(rule: Rule, report: Report): void {
  for (const field of ["icmp", "notICMP"] as const) {
    const match = rule[field];
    if (match?.code !== undefined && match.type === undefined) report([field, "code"], "got one without a type, want both");
    if (match !== undefined && rule.protocol !== "ICMP" && rule.protocol !== "ICMPv6") {
      report([field], `got one with protocol ${JSON.stringify(rule.protocol ?? "")}, want protocol "ICMP" or "ICMPv6"`);
    }
  }
  const family = rule.protocol === "ICMP" ? 4 : rule.protocol === "ICMPv6" ? 6 : undefined;
  if (family !== undefined && rule.ipVersion !== undefined && rule.ipVersion !== family) {
    report(["ipVersion"], `got ${rule.ipVersion}, want ${family} for protocol "${String(rule.protocol)}"`);
  }
}

/** One rule is of one family. */
function checkFamilies(rule: Rule, report: Report): void {
  let seen: Family | undefined = rule.ipVersion;
  for (const side of ["source", "destination"] as const) {
    for (const field of ["nets", "notNets"] as const) {
      for (const [index, text] of (rule[side]?.[field] ?? []).entries()) {
        const { family } = parsePrefix(text);
        seen ??= family;
        if (family !== seen) report([side, field, index], `got "${text}", want IPv${seen} as in the rest of the rule`);
      }
    }
  }
}

const PORT_PROTOCOLS: ReadonlySet<unknown> = new Set(["TCP", "UDP", "SCTP", "UDPLite", 6, 17, 132, 136]);

function checkEntity(rule: Rule, side: "source" | "destination", direction: Direction, report: Report): void {
  const entity = rule[side];
  if (entity === undefined) return;
  for (const field of ["ports", "notPorts"] as const) {
    const ports = entity[field] ?? [];
    const onlyNames = ports.every((port) => typeof port === "string" && !port.includes(":"));
    if (ports.length === 0 || PORT_PROTOCOLS.has(rule.protocol) || (onlyNames && rule.protocol === undefined)) continue;
    report(
      [side, field],
      `got ports with ${rule.protocol === undefined ? "no protocol" : `protocol "${rule.protocol}"`}, want TCP, UDP, SCTP or UDPLite`,
    );
  }
  if (entity.services !== undefined) checkServices(entity, side, direction, report);
}

function checkServices(entity: EntityRule, side: "source" | "destination", direction: Direction, report: Report): void {
  const allowed = direction === "egress" ? "destination" : "source";
  if (side !== allowed) report([side, "services"], `got services in the ${side} of an ${direction} rule, want them in its ${allowed}`);
  const others = (
    ["nets", "notNets", "selector", "notSelector", "namespaceSelector", "serviceAccounts", "ports", "notPorts"] as const
  ).filter((field) => entity[field] !== undefined);
  if (others.length > 0) report([side, "services"], `got services together with ${others.join(", ")}, want services alone`);
}

function checkHttp(rule: Rule, report: Report): void {
  if (rule.http === undefined) return;
  if (rule.action !== "Allow") report(["http"], `got one with action "${rule.action}", want action "Allow"`);
  if (rule.protocol !== undefined && rule.protocol !== "TCP" && rule.protocol !== 6)
    report(["http"], `got one with protocol "${rule.protocol}", want "TCP"`);
  for (const [index, path] of (rule.http.paths ?? []).entries()) {
    if ((path.exact === undefined) === (path.prefix === undefined)) report(["http", "paths", index], "want exactly one of exact, prefix");
  }
}
