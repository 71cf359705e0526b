/** The API server and our own validation say the same of the same object. */

import { describe, expect } from "bun:test";
import fc from "fast-check";
import type { Kind } from "../../src/api/resource.ts";
import { onApiServer } from "../support/servers/on-api-server.ts";
import { testSeed } from "../support/seed.ts";
import { startWithCrds } from "./definitions.ts";
import { itsVerdict, objectOf, ourVerdict, type Writable } from "./verdicts.ts";

const seed = testSeed();
const [test, server] = onApiServer(() => startWithCrds());

/** Both take it, and it means the same to us afterwards; or both refuse it. */
async function agree(object: Writable): Promise<"taken" | "refused"> {
  const [ours, its] = [ourVerdict(object), await itsVerdict(server, object)];
  if ("problems" in ours || "problems" in its) {
    if ("problems" in ours && "problems" in its) return "refused";
    throw new Error(`${JSON.stringify(object)}\n  ours: ${JSON.stringify(ours)}\n  its: ${JSON.stringify(its)}`);
  }
  expect(ourVerdict({ ...object, spec: its.spec })).toEqual(ours);
  return "taken";
}

const rule = (fields: object): unknown => ({ ingress: [{ action: "Allow", ...fields }] });
const egress = (fields: object): unknown => ({ egress: [{ action: "Allow", ...fields }] });
const many = <T>(count: number, item: T): T[] => Array.from({ length: count }, () => item);

type Row = readonly [kind: Kind, spec: unknown, name?: string];

const TAKEN: readonly Row[] = [
  ["IPPool", { cidr: "10.65.0.0/16" }],
  ["IPPool", { cidr: "FD00:0065::/64", blockSize: 122, nodeSelector: 'zone == "a"' }],
  ["IPPool", { cidr: "10.65.0.7", blockSize: 32 }],
  ["IPPool", { cidr: "2001:db8:1111:2222:3333:4444:5555:6666/128", blockSize: 128 }],
  ["IPPool", { cidr: "10.65.0.0/16", blockSize: 0, allowedUses: [], nodeSelector: "" }],
  ["IPPool", { cidr: "10.65.0.0/28", disabled: true }],
  ["IPPool", { cidr: "10.65.0.0/28", blockSize: 28 }],
  ["IPPool", { cidr: "10.65.0.0/16", natOutgoing: null, blockSize: null }],
  ["IPPool", { cidr: "10.65.0.0/16", namespaceSelector: "has(a)" }],
  ["IPPool", { cidr: "10.65.0.0/16", namespaceSelector: "has(a)", allowedUses: ["Workload"] }],
  ["IPPool", { cidr: "10.65.0.0/16", podSelector: "has(a)" }],
  ["IPPool", { cidr: "10.65.0.0/16", podSelector: "has(a)", allowedUses: [] }],
  ["IPPool", { cidr: "10.65.0.0/16", podSelector: "has(a)", allowedUses: ["Workload"], namespaceSelector: "has(b)" }],
  ["IPPool", { cidr: "10.65.0.0/16", podSelector: "", allowedUses: ["Workload", "Tunnel"] }],
  ["IPPool", { cidr: "10.65.0.0/16", podSelector: null, allowedUses: ["LoadBalancer"] }],
  ["IPPool", { cidr: "10.65.0.0/16", podSelector: `all()${" ".repeat(1_019)}` }],
  ["IPPool", { cidr: "10.65.0.0/16", allowedUses: ["LoadBalancer"] }],
  ["IPPool", { cidr: "10.65.0.0/16", vxlanMode: "CrossSubnet", assignmentMode: "Manual", disableBGPExport: true }],
  ["IPReservation", {}],
  ["IPReservation", { reservedCIDRs: ["10.0.0.1", "10.0.0.0/30", "fd00::/128", "::/0", "0.0.0.0/0"] }],
  ["IPReservation", { reservedCIDRs: many(10_000, "10.0.0.1") }],
  ["IPAMConfiguration", {}],
  ["IPAMConfiguration", null],
  ["IPAMConfiguration", { strictAffinity: true, autoAllocateBlocks: false, maxBlocksPerHost: 1_000_000, ipCooldownSeconds: 1_200 }],
  [
    "ClusterInformation",
    { clusterGUID: "0123456789abcdef0123456789abcdef", datastoreReady: true, netplugVersion: "v3.31.0", clusterType: "k8s" },
  ],
  ["Tier", { order: 5.5 }],
  ["Tier", { order: -1, defaultAction: "Pass" }],
  ["Tier", { order: 1_000_000, defaultAction: "Deny" }, "default"],
  ["Tier", { order: 1_000_000 }, "default"],
  ["Tier", { order: 1_000, defaultAction: "Pass" }, "kube-admin"],
  ["Tier", {}, "a".repeat(63)],
  ["Profile", {}, "kns.default"],
  ["Profile", { labelsToApply: { "pcns.netplug.io/name": "default", a: "" } }],
  ["Profile", rule({ protocol: "tcp", destination: { ports: [80, "443", "8000:8080", "http", 0, 65_535] } })],
  ["Profile", rule({ protocol: 17, source: { notPorts: [1] } })],
  ["Profile", rule({ protocol: "132", source: { ports: ["1:1"] } })],
  ["Profile", rule({ source: { ports: ["http", "a-b", "_", "-", "9p", "8080-tcp"] } })],
  ["Profile", rule({ source: { namespaceSelector: "global()", serviceAccounts: { names: ["a"], selector: "has(b)" } } })],
  ["Profile", rule({ source: { services: { name: "web", namespace: "prod" } } })],
  ["Profile", egress({ destination: { services: { name: "web" } } })],
  ["Profile", rule({ source: { nets: ["10.65.3.9/16", "10.0.0.1"], notNets: ["10.0.0.0/30"] }, ipVersion: 4 })],
  ["Profile", rule({ source: { nets: ["::/0", "::ffff:a00:1", "2001:db8::5/32"] }, destination: { notNets: ["::"] } })],
  ["Profile", rule({ source: { nets: many(256, "2001:db8:1111:2222:3333:4444:5555:6666/128") } })],
  ["Profile", rule({ icmp: { type: 254, code: 255 }, protocol: "ICMP", ipVersion: 4 })],
  ["Profile", rule({ notICMP: { type: 1 }, protocol: "icmpv6" })],
  ["Profile", rule({ http: { methods: ["GET"], paths: [{ exact: "/a" }, { prefix: "/b" }] } })],
  ["Profile", rule({ http: {}, protocol: 6 })],
  ["Profile", rule({ metadata: { annotations: { "netplug.io/name": "a rule\nof two lines" } } })],
  ["Profile", { ingress: many(1_024, { action: "Deny" }) }],
];

const REFUSED: readonly Row[] = [
  ["IPPool", {}],
  ["IPPool", null],
  ["IPPool", { cidr: "" }],
  ["IPPool", { cidr: null }],
  ["IPPool", { cidr: 10 }],
  ["IPPool", { cidr: "10.65.3.9/16" }],
  ["IPPool", { cidr: "fd00:65::1/64" }],
  ["IPPool", { cidr: "10.65.0.0/33" }],
  ["IPPool", { cidr: "10.65.0.0/+8" }],
  ["IPPool", { cidr: "10.65.0.0/08" }],
  ["IPPool", { cidr: "010.65.0.0/16" }],
  ["IPPool", { cidr: " 10.65.0.0/16" }],
  ["IPPool", { cidr: "::ffff:10.65.0.0/112" }],
  ["IPPool", { cidr: "::ffff:a41:0/112" }],
  ["IPPool", { cidr: "64:ff9b::10.0.0.0/120" }],
  ["IPPool", { cidr: "fe80::1%eth0" }],
  ["IPPool", { cidr: "169.254.7.0/24" }],
  ["IPPool", { cidr: "0.7.0.0/16" }],
  ["IPPool", { cidr: "126.0.0.0/7" }],
  ["IPPool", { cidr: "127.1.0.0/16" }],
  ["IPPool", { cidr: "::/112", blockSize: 122 }],
  ["IPPool", { cidr: "239.1.0.0/16" }],
  ["IPPool", { cidr: "ff05::/64" }],
  ["IPPool", { cidr: "0.0.0.0/0" }],
  ["IPPool", { cidr: "fe80::/64" }],
  ["IPPool", { cidr: "10.65.0.0/16", blockSize: 19 }],
  ["IPPool", { cidr: "10.65.0.0/16", blockSize: 122 }],
  ["IPPool", { cidr: "fd00::/64", blockSize: 26 }],
  ["IPPool", { cidr: "10.65.0.0/16", blockSize: 26.5 }],
  ["IPPool", { cidr: "10.65.0.0/16", blockSize: "26" }],
  ["IPPool", { cidr: "10.65.0.0/28" }],
  ["IPPool", { cidr: "10.65.0.0/28", blockSize: 27 }],
  ["IPPool", { cidr: "10.65.0.1" }],
  ["IPPool", { cidr: "fd00::/64", ipipMode: "Always" }],
  ["IPPool", { cidr: "10.65.0.0/16", ipipMode: "Always", vxlanMode: "Always" }],
  ["IPPool", { cidr: "10.65.0.0/16", vxlanMode: "always" }],
  ["IPPool", { cidr: "10.65.0.0/16", natOutgoing: "true" }],
  ["IPPool", { cidr: "10.65.0.0/16", natOutgoin: true }],
  ["IPPool", { cidr: "10.65.0.0/16", nodeSelector: "a".repeat(1_025) }],
  ["IPPool", { cidr: "10.65.0.0/16", namespaceSelector: "has(a)", allowedUses: ["Workload", "Tunnel"] }],
  ["IPPool", { cidr: "10.65.0.0/16", podSelector: "has(a)", allowedUses: ["Workload", "Tunnel"] }],
  ["IPPool", { cidr: "10.65.0.0/16", podSelector: "has(a)", allowedUses: ["Tunnel"] }],
  ["IPPool", { cidr: "10.65.0.0/16", podSelector: "has(a)", allowedUses: ["LoadBalancer"] }],
  ["IPPool", { cidr: "10.65.0.0/16", podSelector: "a".repeat(1_025) }],
  ["IPPool", { cidr: "10.65.0.0/16", podSelector: 7 }],
  ["IPPool", { cidr: "10.65.0.0/16", allowedUses: ["LoadBalancer", "Tunnel"] }],
  ["IPPool", { cidr: "10.65.0.0/16", allowedUses: ["LoadBalancer"], ipipMode: "Always" }],
  ["IPPool", { cidr: "10.65.0.0/16", allowedUses: ["LoadBalancer"], nodeSelector: "has(a)" }],
  ["IPPool", { cidr: "10.65.0.0/16", allowedUses: ["LoadBalancer"], disableBGPExport: true }],
  ["IPPool", { cidr: "10.65.0.0/16", allowedUses: [null] }],
  ["IPPool", { cidr: "10.65.0.0/16", allowedUses: many(11, "Workload") }],
  ["IPPool", { cidr: "10.65.0.0/16" }, "Blue"],
  ["IPReservation", { reservedCIDRs: ["10.0.0.1/30"] }],
  ["IPReservation", { reservedCIDRs: "10.0.0.1" }],
  ["IPReservation", { reservedCIDRs: many(10_001, "10.0.0.1") }],
  ["IPAMConfiguration", { autoAllocateBlocks: false }],
  ["IPAMConfiguration", { maxBlocksPerHost: -1 }],
  ["IPAMConfiguration", { ipCooldownSeconds: 1_201 }],
  ["IPAMConfiguration", {}, "other"],
  ["ClusterInformation", { clusterGUID: "x" }],
  ["ClusterInformation", {}, "other"],
  ["Tier", { order: 5 }, "default"],
  ["Tier", {}, "default"],
  ["Tier", { order: 1_000 }, "kube-admin"],
  ["Tier", {}, "a.b"],
  ["Tier", {}, "a".repeat(64)],
  ["Tier", { order: "5" }],
  ["Tier", { defaultAction: "Allow" }],
  ["Profile", { labelsToApply: { "-": "a" } }],
  ["Profile", { labelsToApply: { a: "b c" } }],
  ["Profile", { labelsToApply: Object.fromEntries(many(1_001, "a").map((key, index) => [`${key}${index}`, ""])) }],
  ["Profile", { ingress: [{}] }],
  ["Profile", { ingress: many(1_025, { action: "Deny" }) }],
  ["Profile", rule({ action: "allow" })],
  ["Profile", rule({ ipVersion: 5 })],
  ["Profile", rule({ protocol: "XTP" })],
  ["Profile", rule({ protocol: "Tcp" })],
  ["Profile", rule({ protocol: 0 })],
  ["Profile", rule({ protocol: 256 })],
  ["Profile", rule({ protocol: "06" })],
  ["Profile", rule({ protocol: 6.5 })],
  ["Profile", rule({ icmp: { code: 1 }, protocol: "ICMP" })],
  ["Profile", rule({ icmp: { type: 255 }, protocol: "ICMP" })],
  ["Profile", rule({ icmp: { type: 1 } })],
  ["Profile", rule({ notICMP: { type: 1 }, protocol: "TCP" })],
  ["Profile", rule({ protocol: "ICMPv6", ipVersion: 4 })],
  ["Profile", rule({ protocol: "icmp", ipVersion: 6 })],
  ["Profile", rule({ source: { nets: ["10.0.0.0/8", "fd00::/8"] } })],
  ["Profile", rule({ source: { nets: ["10.0.0.0/8"] }, destination: { notNets: ["fd00::/8"] } })],
  ["Profile", rule({ source: { notNets: ["fd00::/8"] }, ipVersion: 4 })],
  ["Profile", rule({ source: { notNets: ["0.0.0.0/0"] } })],
  ["Profile", rule({ source: { notNets: ["10.0.0.1/0"] } })],
  ["Profile", rule({ source: { notNets: ["::/0"] } })],
  ["Profile", rule({ source: { nets: ["10.0.0.0/33"] } })],
  ["Profile", rule({ source: { nets: [""] } })],
  ["Profile", rule({ source: { nets: many(257, "10.0.0.1") } })],
  ["Profile", rule({ destination: { ports: [80] } })],
  ["Profile", rule({ destination: { ports: ["80"] } })],
  ["Profile", rule({ destination: { ports: ["http", "80:90"] } })],
  ["Profile", rule({ destination: { ports: ["http"] }, protocol: "ICMP" })],
  ["Profile", rule({ destination: { ports: ["1:65536"] }, protocol: "TCP" })],
  ["Profile", rule({ destination: { ports: [65_536] }, protocol: "TCP" })],
  ["Profile", rule({ destination: { ports: [-1] }, protocol: "TCP" })],
  ["Profile", rule({ destination: { ports: ["-1"] }, protocol: "TCP" })],
  ["Profile", rule({ destination: { ports: ["1.5"] }, protocol: "TCP" })],
  ["Profile", rule({ destination: { ports: ["a".repeat(64)] }, protocol: "TCP" })],
  ["Profile", rule({ destination: { ports: many(51, 1) }, protocol: "TCP" })],
  ["Profile", rule({ destination: { services: { name: "web" } } })],
  ["Profile", egress({ source: { services: { name: "web" } } })],
  ["Profile", rule({ source: { services: { name: "web" }, nets: [] } })],
  ["Profile", rule({ source: { services: {} } })],
  ["Profile", rule({ action: "Deny", http: { methods: ["GET"] } })],
  ["Profile", rule({ protocol: "UDP", http: { methods: ["GET"] } })],
  ["Profile", rule({ http: { methods: ["get"] } })],
  ["Profile", rule({ http: { paths: [{}] } })],
  ["Profile", rule({ http: { paths: [{ exact: "/", prefix: "/" }] } })],
  ["Profile", rule({ metadata: { annotations: { "-": "a" } } })],
];

describe("an object that both take:", () => {
  for (const [kind, spec, name] of TAKEN) {
    test(`${kind} ${shown(spec, name)} (needs cluster)`, async () => {
      expect(await agree(objectOf(kind, spec, name))).toBe("taken");
    });
  }
});

describe("an object that both refuse:", () => {
  for (const [kind, spec, name] of REFUSED) {
    test(`${kind} ${shown(spec, name)} (needs cluster)`, async () => {
      expect(await agree(objectOf(kind, spec, name))).toBe("refused");
    });
  }
});

function shown(spec: unknown, name = ""): string {
  const text = JSON.stringify(spec);
  return `${name} ${text.length > 150 ? `${text.slice(0, 150)}… (${text.length})` : text}`.trim();
}

/** Texts close to addresses and CIDRs, many of them right. */
const octet = fc.oneof(
  { weight: 9, arbitrary: fc.nat(255).map(String) },
  { weight: 1, arbitrary: fc.constantFrom("256", "00", "01", "", "a") },
);
const ipv4 = fc.array(octet, { minLength: 4, maxLength: 4 }).map((octets) => octets.join("."));
const group = fc.oneof(
  { weight: 9, arbitrary: fc.nat(0xffff).map((value) => value.toString(16)) },
  { weight: 3, arbitrary: fc.constant("0") },
  { weight: 1, arbitrary: fc.constantFrom("", "0000", "FFFF", "10000", "g", "1.2.3.4") },
);
const ipv6 = fc
  .tuple(fc.array(group, { maxLength: 8 }), fc.option(fc.array(group, { maxLength: 7 }), { nil: undefined }))
  .map(([head, tail]) => (tail === undefined ? head.join(":") : `${head.join(":")}::${tail.join(":")}`));
const length = fc.oneof(
  fc.constant(""),
  fc.nat(140).map((bits) => `/${bits}`),
  fc.constantFrom("/32", "/128", "/24", "/08", "/", "/x"),
);
const cidr = fc.tuple(fc.oneof(ipv4, ipv6), length).map(([address, bits]) => address + bits);
const soundCidr = fc.constantFrom("10.65.0.0/16", "10.65.0.0/28", "10.65.0.7", "fd00:65::/64", "fd00:65::/124", "fe80::/64", "0.0.0.0/0");

/** An object with some of these fields. */
function someOf(fields: Record<string, fc.Arbitrary<unknown>>, required: readonly string[] = []): fc.Arbitrary<object> {
  return fc.record(fields, { requiredKeys: [...required] });
}

const poolSpec = someOf(
  {
    cidr: fc.oneof({ weight: 4, arbitrary: soundCidr }, { weight: 1, arbitrary: cidr }),
    vxlanMode: fc.constantFrom("Never", "Always", "CrossSubnet", null),
    ipipMode: fc.constantFrom("Never", "Always", "Never"),
    disabled: fc.boolean(),
    disableBGPExport: fc.boolean(),
    blockSize: fc.constantFrom(0, 20, 26, 28, 32, 116, 122, 124, 128, 19, 129),
    nodeSelector: fc.constantFrom("", "all()", "has(a)"),
    namespaceSelector: fc.constantFrom("", "has(a)", null),
    podSelector: fc.constantFrom("", "has(a)", null),
    allowedUses: fc.subarray(["Workload", "Tunnel", "LoadBalancer"]),
    assignmentMode: fc.constantFrom("Automatic", "Manual", "manual"),
  },
  ["cidr"],
);

/** Absent most of the time, so that what is there is seldom wrong more than once. */
function seldom<T>(arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> {
  return fc.oneof({ weight: 4, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary });
}

const port = fc.oneof(
  fc.integer({ min: -1, max: 65_537 }),
  fc.integer({ min: -1, max: 65_537 }).map(String),
  // ranges that run backwards are the one thing that an API server cannot see
  fc.tuple(fc.nat(70_000), fc.nat(70_000)).map(([a, b]) => `${Math.min(a, b)}:${Math.max(a, b)}`),
  fc.stringMatching(/^[a-z0-9_.:-]{0,8}$/).filter((text) => !/^\d+:\d+$/.test(text)),
);
const soundNet = fc.constantFrom("10.0.0.0/8", "10.65.3.9/16", "10.0.0.1", "fd00::/8");
const entity = fc.record({
  nets: seldom(fc.array(fc.oneof({ weight: 9, arbitrary: soundNet }, { weight: 1, arbitrary: cidr }), { maxLength: 3 })),
  notNets: seldom(fc.array(fc.oneof({ weight: 9, arbitrary: soundNet }, { weight: 1, arbitrary: fc.constant("::/0") }), { maxLength: 2 })),
  ports: seldom(fc.array(fc.oneof(port, fc.constantFrom("http", "9p")), { maxLength: 2 })),
  notPorts: seldom(fc.array(fc.constantFrom<unknown>(80, "http", "80:90", "80"), { maxLength: 2 })),
  services: seldom(fc.constantFrom({ name: "web" }, { name: "web", namespace: "prod" })),
});
const anyRule = fc.record({
  action: fc.constantFrom("Allow", "Deny", "Log", "Pass"),
  ipVersion: seldom(fc.constantFrom(4, 6)),
  protocol: fc.oneof(
    fc.constantFrom<unknown>("TCP", "udp", undefined, 6),
    fc.constantFrom<unknown>("ICMP", "ICMPV6", "Udp", 17, "6", 1, 0),
  ),
  icmp: seldom(fc.constantFrom({ type: 8 }, { type: 8, code: 0 }, { code: 0 }, {})),
  source: seldom(entity),
  destination: seldom(entity),
  http: seldom(fc.constantFrom({ methods: ["GET"] }, { paths: [{ exact: "/" }] }, { paths: [{}] })),
});

/** Both verdicts must occur, or the arbitrary says nothing. */
async function agreeOnAll(kind: Kind, spec: fc.Arbitrary<unknown>, numRuns: number): Promise<void> {
  const count = { taken: 0, refused: 0 };
  const property = fc.asyncProperty(spec, async (value) => {
    count[await agree(objectOf(kind, value))]++;
  });
  await fc.assert(property, { seed, numRuns });
  expect(Math.min(count.taken, count.refused)).toBeGreaterThan(numRuns / 20);
}

describe("whatever is written,", () => {
  test("of pools both say the same (needs cluster)", async () => agreeOnAll("IPPool", poolSpec, 400));

  test("of CIDRs in reservations both say the same (needs cluster)", async () =>
    agreeOnAll("IPReservation", fc.record({ reservedCIDRs: fc.tuple(cidr) }), 400));

  test("of CIDRs in rules both say the same (needs cluster)", async () =>
    agreeOnAll(
      "Profile",
      cidr.map((text) => rule({ source: { nets: [text] } })),
      400,
    ));

  test("of ports in rules both say the same (needs cluster)", async () =>
    agreeOnAll(
      "Profile",
      fc.tuple(port, fc.constantFrom({}, { protocol: "TCP" })).map(([one, more]) => rule({ ...more, source: { ports: [one] } })),
      400,
    ));

  test("of rules both say the same (needs cluster)", async () =>
    agreeOnAll(
      "Profile",
      fc.record({ ingress: fc.array(anyRule, { minLength: 1, maxLength: 2 }), egress: fc.array(anyRule, { maxLength: 1 }) }),
      600,
    ));
});
