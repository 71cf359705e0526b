/** The CRD of IP pools. */

import { BLOCK_SIZE_LIMITS, type IPPoolSpec } from "../../ip-pool.ts";
import { UNUSABLE_RANGES } from "../../unusable-ranges.ts";
import { AGE, specColumn } from "../columns.ts";
import type { CelRule, OpenApiSchema } from "../custom-resource-definition.ts";
import type { KindDefinition } from "../definition.ts";

const [V4, V6] = [BLOCK_SIZE_LIMITS[4], BLOCK_SIZE_LIMITS[6]];

/** CEL: whether a pool is an IPv6 one. */
const isV6 = (pool: string): string => `${pool}.cidr.contains(':')`;

/** CEL: the size of a pool's blocks, its default applied. */
const blockSize = (pool: string): string =>
  `(has(${pool}.blockSize) && ${pool}.blockSize != 0 ? ${pool}.blockSize : (${isV6(pool)} ? ${V6.default} : ${V4.default}))`;

/**
 * CEL: a rule about a pool's CIDR, which is bound to `name` in full: a single address may stand for its /32 or /128. What is no CIDR
 * another rule refuses.
 */
const withCidr = (pool: string, name: string, rule: string): string =>
  `[${pool}.cidr + (${pool}.cidr.contains('/') ? '' : ${isV6(pool)} ? '/128' : '/32')].all(${name}, !isCIDR(${name}) || ${rule})`;

const isForLoadBalancers = (pool: string): string => `(has(${pool}.allowedUses) && 'LoadBalancer' in ${pool}.allowedUses)`;

/**
 * CEL: of two ranges that overlap one holds the other's first address. `containsCIDR` misses most of them in Kubernetes 1.31 and 1.32.0.
 */
const OVERLAPS_UNUSABLE = Object.values(UNUSABLE_RANGES)
  .flat()
  .flatMap((range) => [`cidr('${range}').containsIP(cidr(range).ip())`, `cidr(range).containsIP(cidr('${range}').ip())`]);

/** @see ipPoolProblems in schema/ip-pool.ts: the same, for objects that do not pass through netplugctl */
const FIELDS_AGAINST_EACH_OTHER: readonly CelRule[] = [
  {
    rule: withCidr("self", "range", `!(${OVERLAPS_UNUSABLE.join(" || ")})`),
    message: `want a CIDR outside the ranges ${Object.keys(UNUSABLE_RANGES).join(", ")}`,
    fieldPath: ".cidr",
  },
  {
    rule: `!has(self.blockSize) || self.blockSize == 0 || (${isV6("self")} ? self.blockSize >= ${V6.min} && self.blockSize <= ${V6.max} : self.blockSize >= ${V4.min} && self.blockSize <= ${V4.max})`,
    message: `want ${V4.min}..${V4.max} for IPv4 and ${V6.min}..${V6.max} for IPv6, or 0 for the default`,
    fieldPath: ".blockSize",
  },
  {
    rule: `self.disabled || ${withCidr("self", "range", `cidr(range).prefixLength() <= ${blockSize("self")}`)}`,
    message:
      `want a blockSize (absent or 0: ${V4.default} for IPv4, ${V6.default} for IPv6) of at least the prefix length of cidr, ` +
      "or a cidr with a prefix length of blockSize or less: a block cannot be larger than its pool",
    fieldPath: ".blockSize",
  },
  { rule: `self.ipipMode == 'Never' || !${isV6("self")}`, message: "IPIP carries IPv4 only, want Never", fieldPath: ".ipipMode" },
  {
    rule: "self.vxlanMode == 'Never' || self.ipipMode == 'Never'",
    message: "got vxlanMode together with ipipMode, want Never for one of them",
    fieldPath: ".vxlanMode",
  },
  {
    rule: "self.namespaceSelector == '' || !has(self.allowedUses) || !('Tunnel' in self.allowedUses)",
    message: "tunnels have no namespace: want allowedUses [Workload] with a namespaceSelector",
    fieldPath: ".namespaceSelector",
  },
  {
    rule: "!has(self.podSelector) || self.podSelector == '' || !has(self.allowedUses) || self.allowedUses.all(use, use == 'Workload')",
    message: "only workloads are pods: want allowedUses [Workload] with a podSelector",
    fieldPath: ".podSelector",
  },
  {
    rule: `!${isForLoadBalancers("self")} || size(self.allowedUses) == 1`,
    message: "got LoadBalancer together with another use, want it alone",
    fieldPath: ".allowedUses",
  },
  {
    rule: `!${isForLoadBalancers("self")} || (self.vxlanMode == 'Never' && self.ipipMode == 'Never' && !self.disableBGPExport && self.nodeSelector in ['', 'all()'])`,
    message: "a pool for load balancers wants vxlanMode and ipipMode Never, disableBGPExport false and nodeSelector all()",
    fieldPath: ".allowedUses",
  },
];

/** A field that cannot change, appear or vanish; another spelling of the same is no change. */
const AGAINST_WHAT_IT_WAS: readonly CelRule[] = [
  {
    rule: withCidr("self", "now", withCidr("oldSelf", "was", "cidr(now) in [cidr(was)]")),
    message: "cidr cannot be changed: make another pool, move the workloads, delete this one",
    fieldPath: ".cidr",
  },
  {
    rule: `${blockSize("self")} == ${blockSize("oldSelf")}`,
    message: `blockSize cannot be changed, added or removed: absent or 0 it counts as ${V4.default} for IPv4 and ${V6.default} for IPv6`,
    fieldPath: ".blockSize",
  },
  {
    rule: `!${isForLoadBalancers("oldSelf")} || ${isForLoadBalancers("self")}`,
    message: "a pool for load balancers cannot get another use",
    fieldPath: ".allowedUses",
  },
];

/** @see Kubernetes API conventions, "Typical status properties" */
const STATUS: OpenApiSchema = {
  description: "What the controllers found out about the pool.",
  type: "object",
  properties: {
    conditions: {
      description: "Each says one thing about the pool; Allocatable says whether new addresses come from it.",
      type: "array",
      maxItems: 16,
      "x-kubernetes-list-type": "map",
      "x-kubernetes-list-map-keys": ["type"],
      items: {
        type: "object",
        required: ["type", "status", "lastTransitionTime", "reason"],
        properties: {
          type: { description: "What the condition is about, such as Allocatable.", type: "string", maxLength: 316 },
          status: { description: "Whether it holds.", type: "string", enum: ["True", "False", "Unknown"] },
          reason: {
            description: "Why, in one word for programs: OK, PoolDisabled, CIDROverlap, Terminating.",
            type: "string",
            maxLength: 1_024,
          },
          message: { description: "Why, in a sentence for people.", type: "string", maxLength: 32_768 },
          lastTransitionTime: { description: "When the status last became another.", type: "string", format: "date-time" },
          observedGeneration: {
            description: "The generation of the pool that it was found out for.",
            type: "integer",
            format: "int64",
            minimum: 0,
          },
        },
      },
    },
  },
};

/** Its rules are those of `ipPoolProblems`, that `cidr` and `blockSize` keep their values, and that a pool for load balancers stays one. */
export const IP_POOL_DEFINITION: KindDefinition<IPPoolSpec> = {
  text: "A range from which pods and tunnels get their addresses.",
  specText: "What the pool holds and who may use it.",
  fields: {
    cidr: "The range, without host bits, such as 10.65.0.0/16 or fd00:65::/64; not loopback, link-local or multicast. It cannot be changed.",
    vxlanMode: "When traffic between nodes is wrapped in VXLAN. Not together with ipipMode.",
    ipipMode: "When traffic between nodes is wrapped in IPIP. IPv4 only, and not together with vxlanMode.",
    natOutgoing: "Whether traffic from the pool to addresses outside all pools leaves with the node's address.",
    disabled: "Whether the pool gives no new addresses. Running workloads keep theirs.",
    disableBGPExport: "Whether routes to the pool's blocks are kept from BGP peers.",
    blockSize: `Prefix length of the blocks that nodes claim: ${V4.min}..${V4.max} for IPv4, ${V6.min}..${V6.max} for IPv6. Absent or 0 means ${V4.default} for IPv4 and ${V6.default} for IPv6, so a smaller pool needs one of its own. It cannot be changed, added or removed.`,
    nodeSelector: "The nodes that use the pool.",
    namespaceSelector: "The namespaces that use the pool; empty means any.",
    podSelector: "The pods that use the pool, by their own labels; absent or empty means any.",
    allowedUses:
      "What the addresses are for. Absent or empty means Workload and Tunnel, with a namespaceSelector or podSelector Workload alone. LoadBalancer stands alone.",
    assignmentMode: "Automatic, or Manual for a pool that gives addresses only to those who name it.",
  },
  samples: [
    { cidr: "10.65.0.0/16" },
    { cidr: "fd00:65::/64" },
    { cidr: "10.65.0.0/16", namespaceSelector: "all()" },
    { cidr: "10.65.0.0/16", podSelector: "all()" },
  ],
  // In the order in which they are told: what cannot be changed need not fit.
  rules: { spec: [...AGAINST_WHAT_IT_WAS, ...FIELDS_AGAINST_EACH_OTHER] },
  columns: [
    specColumn("CIDR", "cidr", "string", "The range of addresses."),
    specColumn("Selector", "nodeSelector", "string", "The nodes that use it."),
    specColumn("Namespaces", "namespaceSelector", "string", "The namespaces that use it.", "wide"),
    specColumn("Pods", "podSelector", "string", "The pods that use it, where not any.", "wide"),
    specColumn("NAT", "natOutgoing", "boolean", "Whether outgoing traffic gets the node's address.", "wide"),
    specColumn("IPIP", "ipipMode", "string", "When traffic between nodes is wrapped in IPIP.", "wide"),
    specColumn("VXLAN", "vxlanMode", "string", "When traffic between nodes is wrapped in VXLAN.", "wide"),
    specColumn("Block size", "blockSize", "integer", "Prefix length of its blocks, where it is not the default.", "wide"),
    specColumn("Uses", "allowedUses", "string", "What the addresses are for, where it is not the default.", "wide"),
    specColumn("Assignment", "assignmentMode", "string", "Whether it must be named.", "wide"),
    specColumn("Disabled", "disabled", "boolean", "Whether it gives no new addresses."),
    AGE,
  ],
  status: STATUS,
};
