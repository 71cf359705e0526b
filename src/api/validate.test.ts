import { describe, expect, test } from "bun:test";
import { BUILT_IN_TIERS } from "./tier.ts";
import { ValidationError } from "./schema/problem.ts";
import { validateResource } from "./validate.ts";

/** Stands for the selector language, which lives above this folder. */
const checkSelector = (text: string): string | undefined => (text.includes("?") ? `bad selector ${text}` : undefined);

const validate = (input: unknown): ReturnType<typeof validateResource> => validateResource(input, { checkSelector });

function object(kind: string, spec: unknown, metadata: unknown = { name: "default" }): unknown {
  return { apiVersion: "netplug.io/v3", kind, metadata, spec };
}

/** Every problem as `path: message`. */
function problemsOf(input: unknown): string[] {
  try {
    validate(input);
  } catch (error) {
    if (error instanceof ValidationError) return error.problems.map(({ path, message }) => `${path}: ${message}`);
    throw error;
  }
  return [];
}

const pool = (spec: object): unknown => object("IPPool", spec, { name: "blue" });

test.each([
  [{ name: 123 }, "metadata.name: got 123, want a DNS name in lower case: letters, digits, `-` and `.`; put it in quotes"],
  [
    { name: "n1", labels: { rack: 2 } },
    "metadata.labels.rack: got 2, want a label value: at most 63 letters, digits, `_`, `.` or `-`, a letter or digit first and last; put it in quotes",
  ],
  [{ name: "n1", annotations: { owned: true } }, "metadata.annotations.owned: got true, want a text; put it in quotes"],
  [{ name: ["a"] }, "metadata.name: got a list, want a DNS name in lower case: letters, digits, `-` and `.`"],
  [{ name: "A" }, 'metadata.name: got "A", want a DNS name in lower case: letters, digits, `-` and `.`'],
])("that a text needs quotes is told where it is no text to YAML: %j", (metadata, message) => {
  expect(problemsOf(object("IPPool", { cidr: "10.65.0.0/16" }, metadata))).toEqual([message]);
});

test("of a number in the spec it is not told: quotes alone would not make it right", () => {
  expect(problemsOf(pool({ cidr: 10 }))).toEqual(["spec.cidr: got 10, want a text"]);
});

describe("a pool", () => {
  test("gets every default", () => {
    expect(validate(pool({ cidr: "10.65.0.0/16" })).spec).toEqual({
      cidr: "10.65.0.0/16",
      vxlanMode: "Never",
      ipipMode: "Never",
      natOutgoing: false,
      disabled: false,
      disableBGPExport: false,
      blockSize: 26,
      nodeSelector: "all()",
      namespaceSelector: "",
      allowedUses: ["Workload", "Tunnel"],
      assignmentMode: "Automatic",
    });
    expect(validate(pool({ cidr: "fd00::/64", blockSize: 0 })).spec).toMatchObject({ blockSize: 122 });
    expect(validate(pool({ cidr: "10.65.0.0/16", namespaceSelector: "has(a)" })).spec).toMatchObject({ allowedUses: ["Workload"] });
  });

  test("gets a podSelector only if it is given one, and is for workloads alone then", () => {
    const completed = (podSelector: string) => validate(pool({ cidr: "10.65.0.0/16", podSelector })).spec;
    expect(completed('app == "mail"')).toMatchObject({ podSelector: 'app == "mail"', allowedUses: ["Workload"] });
    expect(completed("")).toMatchObject({ podSelector: "", allowedUses: ["Workload", "Tunnel"] });
  });

  test("is written in canonical form", () => {
    expect(validate(pool({ cidr: "FD00:0:0:1::/64" })).spec).toMatchObject({ cidr: "fd00:0:0:1::/64" });
  });

  test.each([
    [{ cidr: "10.65.3.9/16" }, 'spec.cidr: parse prefix "10.65.3.9/16": host bits are set, want "10.65.0.0/16"'],
    [
      { cidr: "010.65.0.0/16" },
      'spec.cidr: parse prefix: got "010.65.0.0/16", want address/length; without leading zeros, which some programs read as octal',
    ],
    [
      { cidr: "::ffff:10.65.0.0/112" },
      'spec.cidr: parse prefix: got "::ffff:10.65.0.0/112", want address/length; IPv4 alone, or IPv6 in hexadecimal digits only',
    ],
    [{ cidr: "10.65.0.0/33" }, 'spec.cidr: parse prefix "10.65.0.0/33": got length "33", want 0..32'],
    [{ cidr: 10 }, "spec.cidr: got 10, want a text"],
    [{}, "spec.cidr: is missing"],
    [{ cidr: "10.0.0.0/16", natOutgoing: "yes" }, 'spec.natOutgoing: got "yes", want true or false'],
    [{ cidr: "10.0.0.0/16", blockSize: 19 }, "spec.blockSize: got 19, want 20..32 for IPv4, or 0 for 26"],
    [{ cidr: "fd00::/64", blockSize: 26 }, "spec.blockSize: got 26, want 116..128 for IPv6, or 0 for 122"],
    [{ cidr: "10.0.0.0/16", blockSize: 26.5 }, "spec.blockSize: got 26.5, want a whole number 0..128"],
    [
      { cidr: "10.0.0.0/28" },
      "spec.blockSize: got 26 (the default) with cidr 10.0.0.0/28, want a blockSize of 28..32, or a cidr with a prefix length of 26 or less",
    ],
    [
      { cidr: "fd00::1", blockSize: 120 },
      "got 120 with cidr fd00::1/128, want a blockSize of 128, or a cidr with a prefix length of 120 or less",
    ],
    [{ cidr: "::ffff:a41:0/112" }, "spec.cidr: got IPv4 mapped into IPv6, want it as IPv4"],
    [{ cidr: "169.254.7.0/24" }, "spec.cidr: got 169.254.7.0/24, want one outside the link-local range"],
    [{ cidr: "fe80::/64" }, "spec.cidr: got fe80::/64, want one outside the link-local range"],
    [{ cidr: "0.7.0.0/16" }, "spec.cidr: got 0.7.0.0/16, want one outside the unspecified range"],
    [{ cidr: "127.0.0.0/16" }, "spec.cidr: got 127.0.0.0/16, want one outside the loopback range"],
    [{ cidr: "126.0.0.0/7" }, "spec.cidr: got 126.0.0.0/7, want one outside the loopback range"],
    [{ cidr: "::/112" }, "spec.cidr: got ::/112, want one outside the loopback range"],
    [{ cidr: "239.1.0.0/16" }, "spec.cidr: got 239.1.0.0/16, want one outside the multicast range"],
    [{ cidr: "ff05::/64" }, "spec.cidr: got ff05::/64, want one outside the multicast range"],
    [{ cidr: "fd00::/64", ipipMode: "Always" }, 'spec.ipipMode: got "Always", want "Never": IPIP carries IPv4 only'],
    [
      { cidr: "10.0.0.0/16", ipipMode: "Always", vxlanMode: "CrossSubnet" },
      'spec.vxlanMode: got "CrossSubnet" together with ipipMode "Always", want "Never" for one of them',
    ],
    [{ cidr: "10.0.0.0/16", vxlanMode: "always" }, 'spec.vxlanMode: got "always", want "Never", "Always" or "CrossSubnet"'],
    [{ cidr: "10.0.0.0/16", nodeSelector: "a ? b" }, "spec.nodeSelector: bad selector a ? b"],
    [
      { cidr: "10.0.0.0/16", nodeSelector: "a".repeat(1025) },
      `spec.nodeSelector: got "${"a".repeat(200)}…" (1025 characters), want at most 1024 characters`,
    ],
    [
      { cidr: "10.0.0.0/16", namespaceSelector: "has(a)", allowedUses: ["Workload", "Tunnel"] },
      'spec.namespaceSelector: got one on a pool with allowedUses "Tunnel", want allowedUses ["Workload"]: tunnels have no namespace',
    ],
    [
      { cidr: "10.0.0.0/16", podSelector: "has(a)", allowedUses: ["Workload", "Tunnel"] },
      'spec.podSelector: got one on a pool with allowedUses "Tunnel", want allowedUses ["Workload"]: only workloads are pods',
    ],
    [
      { cidr: "10.0.0.0/16", podSelector: "all()", allowedUses: ["LoadBalancer"] },
      'spec.podSelector: got one on a pool with allowedUses "LoadBalancer", want allowedUses ["Workload"]: only workloads are pods',
    ],
    [{ cidr: "10.0.0.0/16", podSelector: "a ? b" }, "spec.podSelector: bad selector a ? b"],
    [{ cidr: "10.0.0.0/16", podSelector: 7 }, "spec.podSelector: got 7, want a selector"],
    [
      { cidr: "10.0.0.0/16", podSelector: "a".repeat(1025) },
      `spec.podSelector: got "${"a".repeat(200)}…" (1025 characters), want at most 1024 characters`,
    ],
    [
      { cidr: "10.0.0.0/16", allowedUses: ["LoadBalancer", "Tunnel"] },
      'spec.allowedUses: got "LoadBalancer" together with another use, want it alone',
    ],
  ])("%j is refused: %p", (spec, problem) => {
    expect(problemsOf(pool(spec))).toContainEqual(expect.stringContaining(problem));
  });

  test("that is disabled may be smaller than its blocks", () => {
    expect(problemsOf(pool({ cidr: "10.0.0.0/28", disabled: true }))).toEqual([]);
  });
});

describe("unknown fields", () => {
  test.each([
    [pool({ cidr: "10.0.0.0/16", natOutgoin: true }), "spec.natOutgoin", "natOutgoing"],
    [pool({ cidr: "10.0.0.0/16", nat_outgoing: true }), "spec.nat_outgoing", "natOutgoing"],
    [pool({ cidr: "10.0.0.0/16", encapsulation: "VXLAN" }), "spec.encapsulation", "natOutgoing"],
    [{ ...(pool({ cidr: "10.0.0.0/16" }) as object), Spec: {} }, "Spec", "spec"],
    [object("IPPool", { cidr: "10.0.0.0/16" }, { name: "a", label: {} }), "metadata.label", "labels"],
    [object("Profile", { egress: [{ action: "Allow", destination: { net: [] } }] }), "spec.egress[0].destination.net", "nets"],
  ])("%j: %p is named, and %p", (input, path, known) => {
    const [problem = ""] = problemsOf(input);
    expect(problem).toStartWith(`${path}: unknown field`);
    expect(problem).toContain(path === "spec.encapsulation" ? known : `the nearest known one is "${known}"`);
  });

  test.each([
    [{ ...(pool({ cidr: "10.0.0.0/16" }) as object), disabled: true }, "disabled", "spec"],
    [{ ...(pool({ cidr: "10.0.0.0/16" }) as object), labels: {} }, "labels", "metadata"],
  ])("%j: %p belongs in %p", (input, field, part) => {
    expect(problemsOf(input)).toEqual([`${field}: unknown field "${field}": it belongs in ${part}`]);
  });

  test("are all told, together with everything else", () => {
    const problems = problemsOf(
      object("IPPool", { cidr: "10.0.0.1/16", a: 1, b: 2, blockSize: "x" }, { name: "Blue", labels: { "-": "x y" } }),
    );
    expect(problems.map((problem) => problem.split(":")[0])).toEqual([
      "spec.a",
      "spec.b",
      "metadata.name",
      'metadata.labels["-"]',
      'metadata.labels["-"]',
      "spec.cidr",
      "spec.blockSize",
    ]);
  });

  test("cannot hide behind names that JavaScript treats specially", () => {
    const input = JSON.parse(
      '{"apiVersion":"netplug.io/v3","kind":"IPPool","metadata":{"name":"a","labels":{"constructor":"x"}},"spec":{"cidr":"10.0.0.0/16","__proto__":{}}}',
    );
    expect(problemsOf(input)).toEqual([
      'metadata.labels: got key "constructor", want another name',
      expect.stringContaining("spec.__proto__: unknown field"),
    ]);
  });
});

describe("the envelope", () => {
  test.each([
    [null, "got null, want an object with kind"],
    [[], "got an empty list, want an object with kind"],
    [{}, "kind: got nothing, want IPPool, IPReservation, "],
    [{ kind: "IpPool" }, ', Profile, Tier or WorkloadEndpoint; did you mean "IPPool"?'],
    [{ kind: "IPPol" }, 'WorkloadEndpoint; did you mean "IPPool"?'],
    [{ kind: "IPAMBlock" }, 'kind: got "IPAMBlock", which only the system writes'],
    [{ kind: "Tier", apiVersion: "v1", metadata: { name: "a" } }, 'apiVersion: got "v1", want "netplug.io/v3"'],
    [{ kind: "Tier", metadata: { name: "a" } }, "apiVersion: is missing"],
    [{ kind: "Tier", apiVersion: "netplug.io/v3" }, "metadata: is missing"],
    [object("IPPool", { cidr: "10.0.0.0/16" }, { name: "a", namespace: "b" }), 'metadata.namespace: got "b", want none'],
    [object("IPAMConfiguration", {}, { name: "other" }), 'metadata.name: got "other", want "default"'],
  ])("%j: %p", (input, problem) => {
    expect(problemsOf(input).join("\n")).toContain(problem);
  });

  test("treats a key without a value as absent and drops what an API server keeps", () => {
    const input = object("Tier", { order: null }, { name: "a", managedFields: [{}], generation: 3, labels: null, annotations: {} });
    expect(validate(input)).toEqual({
      apiVersion: "netplug.io/v3",
      kind: "Tier",
      metadata: { name: "a" },
      spec: { defaultAction: "Deny" },
    });
  });

  test("puts a namespaced object without a namespace into the one given", () => {
    const spec = { orchestrator: "cni", node: "n", containerID: "c", endpoint: "eth0" };
    expect(validate(object("WorkloadEndpoint", spec)).metadata.namespace).toBe("default");
    expect(validateResource(object("WorkloadEndpoint", spec), { checkSelector, namespace: "prod" }).metadata.namespace).toBe("prod");
  });

  test("refuses input that refers to itself", () => {
    const endless: { spec?: unknown; kind: string } = { kind: "IPPool" };
    endless.spec = endless;
    expect(problemsOf(endless)).toEqual([": got more than 64 levels, want fewer"]);
  });
});

describe("the other kinds", () => {
  const rule = (fields: object): unknown => object("Profile", { ingress: [{ action: "Allow", ...fields }] });

  test.each([
    [object("IPReservation", { reservedCIDRs: ["10.0.0.1", "10.0.0.0/30"] })],
    [object("IPAMConfiguration", { maxBlocksPerHost: 3 })],
    [object("ClusterInformation", { clusterGUID: "0123456789abcdef0123456789abcdef", datastoreReady: true })],
    [
      object("Node", {
        bgp: { asNumber: "64512.1", ipv4Address: "192.0.2.7/24" },
        addresses: [{ address: "192.0.2.7", type: "InternalIP" }],
      }),
    ],
    [object("Node", {}, { name: "Node_1.example" })],
    [rule({ protocol: "tcp", destination: { ports: [80, "443", "8000:8080", "http"] } })],
    [rule({ source: { namespaceSelector: "global()", ports: ["http"] } })],
    [rule({ source: { services: { name: "web" } } })],
    ...BUILT_IN_TIERS.map(({ name, spec }) => [object("Tier", spec, { name })]),
  ])("%j is right", (input) => {
    expect(problemsOf(input)).toEqual([]);
  });

  test("are written in canonical form", () => {
    expect(validate(object("IPReservation", { reservedCIDRs: ["10.0.0.1", "FD00::1"] })).spec).toEqual({
      reservedCIDRs: ["10.0.0.1/32", "fd00::1/128"],
    });
    expect(validate(rule({ source: { nets: ["10.65.3.9/16", "10.0.0.1"] } })).spec).toEqual({
      ingress: [{ action: "Allow", source: { nets: ["10.65.0.0/16", "10.0.0.1/32"] } }],
    });
    expect(validate(rule({ protocol: "tcp", destination: { ports: ["443", "80:80", "1:2"] } })).spec).toEqual({
      ingress: [{ action: "Allow", protocol: "TCP", destination: { ports: [443, 80, "1:2"] } }],
    });
  });

  test.each([
    [object("IPReservation", { reservedCIDRs: ["10.0.0.0/30", "x"] }), "spec.reservedCIDRs[1]: parse prefix"],
    [object("IPAMConfiguration", { autoAllocateBlocks: false }), "spec.autoAllocateBlocks: got false together with strictAffinity false"],
    [object("IPAMConfiguration", { ipCooldownSeconds: 1201 }), "spec.ipCooldownSeconds: got 1201, want a whole number 0..1200"],
    [object("Tier", { order: 5 }), 'spec.order: got 5, want 1000000: tier "default" is built in'],
    [object("Tier", {}, { name: "a.b" }), 'metadata.name: got "a.b", want a DNS label'],
    [object("Node", { bgp: { asNumber: "64512" } }), 'spec.bgp.asNumber: got "64512", want 1..4294967295 or a text `high.low`'],
    [object("Node", { bgp: { asNumber: true } }), "spec.bgp.asNumber: got true, want 1..4294967295 or a text `high.low`"],
    [object("WorkloadEndpoint", { orchestrator: "cni", node: "n", endpoint: "eth0" }), "spec.containerID: is missing"],
    [
      object("WorkloadEndpoint", { orchestrator: "cni", node: "n", containerID: "c", endpoint: "eth0", ipNetworks: ["10.0.0.0/24"] }),
      'spec.ipNetworks[0]: got "10.0.0.0/24", want a single address (/32)',
    ],
    [rule({ protocol: "Tcp" }), 'spec.ingress[0].protocol: got "Tcp", want TCP, UDP'],
    [rule({ source: { notNets: ["10.0.0.1/0"] } }), 'spec.ingress[0].source.notNets[0]: got "0.0.0.0/0", want less than everything'],
    [
      rule({ source: { nets: ["10.0.0.0/33"] } }),
      'spec.ingress[0].source.nets[0]: parse prefix "10.0.0.0/33": got length "33", want 0..32',
    ],
    [rule({ protocol: "XTP" }), 'spec.ingress[0].protocol: got "XTP", want TCP, UDP'],
    [rule({ icmp: { code: 1 }, protocol: "ICMP" }), "spec.ingress[0].icmp.code: got one without a type"],
    [rule({ protocol: "ICMPv6", ipVersion: 4 }), 'spec.ingress[0].ipVersion: got 4, want 6 for protocol "ICMPv6"'],
    [rule({ source: { nets: ["10.0.0.0/8", "fd00::/8"] } }), 'spec.ingress[0].source.nets[1]: got "fd00::/8", want IPv4'],
    [rule({ source: { notNets: ["0.0.0.0/0"] } }), "the rule could never match"],
    [rule({ destination: { ports: [80] } }), "spec.ingress[0].destination.ports: got ports with no protocol"],
    [rule({ destination: { ports: ["90:80"] }, protocol: "TCP" }), 'spec.ingress[0].destination.ports[0]: got "90:80", want a number'],
    [rule({ destination: { services: { name: "web" } } }), "want them in its source"],
    [rule({ source: { services: { name: "web" }, nets: [] } }), "want services alone"],
    [rule({ action: "Deny", http: { methods: ["GET"] } }), 'spec.ingress[0].http: got one with action "Deny", want action "Allow"'],
    [rule({ source: { selector: "a ? b" } }), "spec.ingress[0].source.selector: bad selector"],
  ])("%j is refused: %p", (input, problem) => {
    expect(problemsOf(input).join("\n")).toContain(problem);
  });
});
