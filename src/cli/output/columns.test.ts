import { expect, test } from "bun:test";
import { ALL_KINDS, type KindInfo, kindOf } from "../../api/registry.ts";
import { columnsOf } from "./columns.ts";

function shown(kind: string, spec: object, metadata: object, options: Partial<Parameters<typeof columnsOf>[1]>): string {
  const info = kindOf(kind) as KindInfo;
  const columns = columnsOf(info, { wide: false, withNamespace: false, withLabels: false, ...options });
  const object = { apiVersion: "netplug.io/v3", kind, metadata: { name: "x", ...metadata }, spec };
  return columns.map(({ heading, cell }) => `${heading}=${cell(object)}`).join(" ");
}

const RULE = { action: "Allow" };

test.each<[kind: string, spec: object, usual: string, more: string]>([
  [
    "IPPool",
    { cidr: "fd00::/64", nodeSelector: "has(a)", natOutgoing: true, vxlanMode: "Always", allowedUses: ["Tunnel"], disabled: true },
    "NAME=x CIDR=fd00::/64 SELECTOR=has(a)",
    " NAMESPACES= PODS= NAT=true IPIPMODE=Never VXLANMODE=Always BLOCKSIZE=122 USES=Tunnel ASSIGNMENT=Automatic DISABLED=true DISABLEBGPEXPORT=false",
  ],
  [
    "IPPool",
    {
      cidr: "10.65.0.0/16",
      namespaceSelector: "has(b)",
      podSelector: "has(c)",
      ipipMode: "CrossSubnet",
      blockSize: 28,
      assignmentMode: "Manual",
      disableBGPExport: true,
    },
    "NAME=x CIDR=10.65.0.0/16 SELECTOR=all()",
    " NAMESPACES=has(b) PODS=has(c) NAT=false IPIPMODE=CrossSubnet VXLANMODE=Never BLOCKSIZE=28 USES=Workload ASSIGNMENT=Manual DISABLED=false DISABLEBGPEXPORT=true",
  ],
  ["IPReservation", { reservedCIDRs: ["10.65.0.1", "10.66.0.0/24"] }, "NAME=x RESERVED=10.65.0.1,10.66.0.0/24", ""],
  [
    "IPAMConfiguration",
    { strictAffinity: true, autoAllocateBlocks: false, maxBlocksPerHost: 3, ipCooldownSeconds: 60 },
    "NAME=x STRICTAFFINITY=true AUTOALLOCATEBLOCKS=false MAXBLOCKSPERHOST=3 COOLDOWN=60s",
    "",
  ],
  [
    "ClusterInformation",
    { clusterGUID: "g", clusterType: "etcd", netplugVersion: "v1" },
    "NAME=x GUID=g TYPE=etcd VERSION=v1 READY=false",
    " FROZEN=false",
  ],
  [
    "ClusterInformation",
    { clusterGUID: "g", clusterType: "etcd", netplugVersion: "v1", datastoreReady: true, datastoreFrozen: true },
    "NAME=x GUID=g TYPE=etcd VERSION=v1 READY=true",
    " FROZEN=true",
  ],
  [
    "Node",
    { bgp: { asNumber: "64512", ipv4Address: "192.0.2.1/24", ipv6Address: "2001:db8::1" } },
    "NAME=x",
    " ASN=64512 IPV4=192.0.2.1/24 IPV6=2001:db8::1 LABELS=",
  ],
  ["Node", {}, "NAME=x", " ASN= IPV4= IPV6= LABELS="],
  ["Profile", { labelsToApply: { a: "1", b: "" }, ingress: [RULE], egress: [RULE, RULE] }, "NAME=x", " LABELS=a=1,b INGRESS=1 EGRESS=2"],
  ["Profile", {}, "NAME=x", " LABELS= INGRESS=0 EGRESS=0"],
  ["Tier", { order: 10, defaultAction: "Pass" }, "NAME=x ORDER=10 DEFAULTACTION=Pass", ""],
  ["Tier", {}, "NAME=x ORDER= DEFAULTACTION=Deny", ""],
  [
    "WorkloadEndpoint",
    {
      node: "n1",
      pod: "web-0",
      containerID: "0123456789abcdef",
      interfaceName: "npg1",
      ipNetworks: ["10.65.0.1/32", "fd00::1/128"],
      network: "pods",
      profiles: ["p", "q"],
      mac: "ee:00",
    },
    "WORKLOAD=web-0 NODE=n1 NETWORKS=10.65.0.1/32,fd00::1/128 INTERFACE=npg1",
    " NAME=x NETWORK=pods CONTAINERID=0123456789abcdef PROFILES=p,q MAC=ee:00",
  ],
  [
    "WorkloadEndpoint",
    { node: "n1", containerID: "0123456789abcdef".repeat(4) },
    "WORKLOAD=0123456789abc NODE=n1 NETWORKS= INTERFACE=",
    ` NAME=x NETWORK= CONTAINERID=${"0123456789abcdef".repeat(4)} PROFILES= MAC=`,
  ],
  [
    "WorkloadEndpoint",
    { node: "n1", containerID: "default-job-20261127001122" },
    "WORKLOAD=default-job-20261127001122 NODE=n1 NETWORKS= INTERFACE=",
    " NAME=x NETWORK= CONTAINERID=default-job-20261127001122 PROFILES= MAC=",
  ],
  [
    "IPAMBlock",
    { cidr: "10.65.0.0/30", node: "n1", allocations: [{}, {}], free: 2, released: [{}], emptySince: "2026-01-01T00:00:00Z" },
    "CIDR=10.65.0.0/30 NODE=n1 INUSE=2 FREE=2",
    " NAME=x RELEASED=1 EMPTYSINCE=2026-01-01T00:00:00Z",
  ],
])("a table of %s %j shows %p, and wide ones %p", (kind, spec, usual, more) => {
  expect(shown(kind, spec, {}, {})).toBe(usual);
  expect(shown(kind, spec, {}, { wide: true })).toBe(`${usual}${more}`);
});

test("every kind has columns", () => {
  for (const info of ALL_KINDS) expect(columnsOf(info, { wide: false, withNamespace: false, withLabels: false })).not.toEqual([]);
});

test("a namespace comes first where several are shown, labels come last, once", () => {
  const metadata = { namespace: "prod", labels: { a: "1", b: "" } };
  expect(shown("Tier", {}, metadata, { withLabels: true })).toBe("NAME=x ORDER= DEFAULTACTION=Deny LABELS=a=1,b");
  expect(shown("Node", {}, metadata, { withLabels: true })).toBe("NAME=x LABELS=a=1,b");
  expect(shown("Node", {}, metadata, { withLabels: true, wide: true })).toBe("NAME=x ASN= IPV4= IPV6= LABELS=a=1,b");
  expect(shown("WorkloadEndpoint", {}, metadata, { withNamespace: true, withLabels: true })).toBe(
    "NAMESPACE=prod WORKLOAD= NODE= NETWORKS= INTERFACE= LABELS=a=1,b",
  );
});
