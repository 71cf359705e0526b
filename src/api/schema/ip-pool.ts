/** The schema of IP pools, and the rules between their fields. */

import * as v from "valibot";
import { overlaps, parsePrefix, type Prefix, toPrefixText } from "../../lib/ip/prefix.ts";
import { BLOCK_SIZE_LIMITS, type CompleteIPPoolSpec, type IPPoolSpec, withPoolDefaults } from "../ip-pool.ts";
import { UNUSABLE_RANGES } from "../unusable-ranges.ts";
import { boolean, cidr, listOfAtMost, oneOf, selector, wholeNumber } from "./fields.ts";
import type { Problem } from "./problem.ts";

/** Each field by itself: which `blockSize` a family may have, {@link ipPoolProblems} says. */
export const ipPoolSpec = v.object({
  cidr,
  vxlanMode: v.exactOptional(oneOf("Never", "Always", "CrossSubnet")),
  ipipMode: v.exactOptional(oneOf("Never", "Always", "CrossSubnet")),
  natOutgoing: v.exactOptional(boolean),
  disabled: v.exactOptional(boolean),
  disableBGPExport: v.exactOptional(boolean),
  blockSize: v.exactOptional(wholeNumber(0, 128)),
  nodeSelector: v.exactOptional(selector()),
  namespaceSelector: v.exactOptional(selector()),
  podSelector: v.exactOptional(selector()),
  allowedUses: v.exactOptional(listOfAtMost(10, oneOf("Workload", "Tunnel", "LoadBalancer"))),
  assignmentMode: v.exactOptional(oneOf("Automatic", "Manual")),
});

const UNUSABLE = Object.entries(UNUSABLE_RANGES).flatMap(([name, ranges]) => ranges.map((range) => ({ name, range: parsePrefix(range) })));

/** What one field says against another. */
export function ipPoolProblems(spec: IPPoolSpec): readonly Problem[] {
  const pool = withPoolDefaults(spec);
  const prefix = parsePrefix(pool.cidr);
  const limits = BLOCK_SIZE_LIMITS[prefix.family];
  const problems: Problem[] = [];
  const add = (field: keyof IPPoolSpec, message: string): unknown => problems.push({ path: `spec.${field}`, message });

  const unusable = UNUSABLE.find(({ range }) => range.family === prefix.family && overlaps(range, prefix));
  if (unusable !== undefined) add("cidr", `got ${pool.cidr}, want one outside the ${unusable.name} range`);
  if (pool.blockSize < limits.min || pool.blockSize > limits.max) {
    add("blockSize", `got ${pool.blockSize}, want ${limits.min}..${limits.max} for IPv${prefix.family}, or 0 for ${limits.default}`);
  } else if (prefix.length > pool.blockSize && !pool.disabled) {
    add("blockSize", toMisfitText(pool.blockSize, prefix));
  }
  if (prefix.family === 6 && pool.ipipMode !== "Never") add("ipipMode", `got "${pool.ipipMode}", want "Never": IPIP carries IPv4 only`);
  if (pool.vxlanMode !== "Never" && pool.ipipMode !== "Never") {
    add("vxlanMode", `got "${pool.vxlanMode}" together with ipipMode "${pool.ipipMode}", want "Never" for one of them`);
  }
  addUseProblems(pool, add);
  return problems;
}

/** Either of the two fields may be the one that is wrong. */
function toMisfitText(blockSize: number, prefix: Prefix): string {
  const limits = BLOCK_SIZE_LIMITS[prefix.family];
  const got = `${blockSize}${blockSize === limits.default ? " (the default)" : ""} with cidr ${toPrefixText(prefix)}`;
  const fitting = prefix.length === limits.max ? `${limits.max}` : `${prefix.length}..${limits.max}`;
  return `got ${got}, want a blockSize of ${fitting}, or a cidr with a prefix length of ${blockSize} or less: a block cannot be larger than its pool`;
}

function addUseProblems(pool: CompleteIPPoolSpec, add: (field: keyof IPPoolSpec, message: string) => unknown): void {
  if (pool.namespaceSelector !== "" && pool.allowedUses.includes("Tunnel")) {
    add("namespaceSelector", `got one on a pool with allowedUses "Tunnel", want allowedUses ["Workload"]: tunnels have no namespace`);
  }
  const podless = pool.allowedUses.find((use) => use !== "Workload");
  if ((pool.podSelector ?? "") !== "" && podless !== undefined) {
    add("podSelector", `got one on a pool with allowedUses "${podless}", want allowedUses ["Workload"]: only workloads are pods`);
  }
  if (!pool.allowedUses.includes("LoadBalancer")) return;
  if (pool.allowedUses.length > 1) add("allowedUses", `got "LoadBalancer" together with another use, want it alone`);
  if (pool.vxlanMode !== "Never") add("vxlanMode", `got "${pool.vxlanMode}" on a pool for load balancers, want "Never"`);
  if (pool.ipipMode !== "Never") add("ipipMode", `got "${pool.ipipMode}" on a pool for load balancers, want "Never"`);
  if (pool.disableBGPExport) add("disableBGPExport", "got true on a pool for load balancers, want false");
  if (pool.nodeSelector !== "all()")
    add("nodeSelector", `got ${JSON.stringify(pool.nodeSelector)} on a pool for load balancers, want "all()"`);
}
