import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { addressAt, parsePrefix, toPrefixText } from "../lib/ip/prefix.ts";
import { toAddressText } from "../lib/ip/address.ts";
import { testSeed } from "../../test/support/seed.ts";
import { CorruptBlock, decodeBlock, encodeBlock } from "./ipam-block-codec.ts";
import type { Allocation, AllocationOwner, Block } from "./ipam-block.ts";

const seed = testSeed();

const CIDR = parsePrefix("10.65.0.64/26");
const NODE = "ip-10-0-12-34.eu-central-1.compute.internal";
const REF = { cidr: CIDR, node: NODE };
const LIMIT_BYTES = 8_192;

/** Text of a shape that a generator would choose, and text that an attacker would. */
const hostile = fc.oneof(
  fc.constantFrom(
    "",
    " ",
    "-",
    ".",
    ". ",
    "a b",
    '"',
    "\\",
    "\n",
    "\u0000",
    "\u202e",
    "\ud800",
    "__proto__",
    "constructor",
    "😀",
    "0:1,2",
    "k8s--x",
  ),
  fc.string({ unit: "binary", maxLength: 20 }),
);
const hex64 = fc.stringMatching(/^[0-9a-f]{64}$/);
const podName = fc.oneof(fc.stringMatching(/^(web|db|api-server)-[a-z0-9]{9}-[a-z0-9]{5}$/), hostile);
const nodeName = fc.oneof(fc.constant(NODE), fc.constantFrom("node-1", "node-2"), hostile);

const anyOwner: fc.Arbitrary<AllocationOwner> = fc
  .record(
    {
      network: fc.oneof(fc.constant("k8s-pod-network"), hostile),
      containerID: fc.oneof(hex64, hostile),
      ifName: fc.oneof(fc.constantFrom("eth0", "net1"), hostile),
      node: nodeName,
      pod: podName,
      namespace: fc.oneof(fc.constantFrom("default", "kube-system"), hostile),
      podUID: fc.oneof(fc.uuid(), hostile),
      endpoint: hostile,
    },
    { requiredKeys: ["network", "containerID", "ifName", "node"] },
  )
  .chain((owner) => fc.constantFrom(owner, withEndpoint(owner, "k8s", owner.pod ?? "x"), withEndpoint(owner, "cni", owner.containerID)));

const anyBlock: fc.Arbitrary<Block> = fc
  .record({
    order: fc.shuffledSubarray(
      Array.from({ length: 64 }, (_, i) => i),
      { minLength: 64 },
    ),
    owners: fc.array(fc.tuple(anyOwner, fc.nat()), { maxLength: 64 }),
    released: fc.array(fc.nat(), { maxLength: 64 }),
    emptySince: fc.nat(),
    node: nodeName,
  })
  .map(({ order, owners, released, emptySince, node }) => {
    const allocations = owners.map(([owner, since], i): Allocation => ({ ordinal: order[i] ?? 0, owner, since }));
    const free = order.slice(owners.length);
    return {
      cidr: CIDR,
      node,
      allocations: allocations.sort((a, b) => a.ordinal - b.ordinal),
      free,
      releasedAt: new Map(released.slice(0, free.length).map((at, i) => [free[i] ?? 0, at])),
      emptySince: allocations.length === 0 ? emptySince : undefined,
    };
  });

describe("encodeBlock() and decodeBlock()", () => {
  test("round-trip every block", () => {
    fc.assert(
      fc.property(anyBlock, (block) => {
        expect(decodeBlock(encodeBlock(block), block)).toEqual(block);
      }),
      { seed, numRuns: 500 },
    );
  });

  test("round-trip a block without any allocation", () => {
    const block: Block = { ...fullBlock((i) => `web-${i}`), allocations: [], free: range(64), emptySince: 1_760_000_000 };
    const text = encodeBlock(block);
    expect(JSON.parse(text)).toMatchObject({ free: "0-63", emptySince: 1_760_000_000 });
    expect(decodeBlock(text, REF)).toEqual(block);
  });

  test("read past a field that a later version may have, and lose it", () => {
    const block = fullBlock((i) => randomName(i, 20));
    const text = encodeBlock(block);
    const later = JSON.stringify({ ...(JSON.parse(text) as object), later: 1 });
    expect(decodeBlock(later, REF)).toEqual(block);
    expect(encodeBlock(decodeBlock(later, REF))).toBe(text);
  });

  test("keep the order of reuse", () => {
    const block = fullBlock((i) => `web-${i}`);
    const some: Block = { ...block, allocations: block.allocations.slice(1, 5), free: [...range(64).slice(5), 0] };
    expect(JSON.parse(encodeBlock(some))).toMatchObject({ free: "5-63,0" });
    expect(decodeBlock(encodeBlock(some), REF).free).toEqual(some.free);
  });
});

describe("the record of a full block of 64 addresses", () => {
  test.each<[string, (i: number) => string, (i: number) => string]>([
    ["one Deployment, names of 40 characters", deploymentName("a-web-frontend-for-shop", 1), () => "default"],
    ["20 Deployments in 8 namespaces, names of 40 characters", deploymentName("a-web-frontend-for-shop", 20), (i) => `team-${i % 8}`],
    ["64 Deployments in one namespace, names of 40 characters", deploymentName("a-web-frontend-for-shop", 64), () => "production"],
    [
      "20 Deployments in 8 namespaces, names of 63 characters",
      deploymentName("a-web-frontend-for-the-shop-in-the-quietest-re", 20),
      (i) => `team-${i % 8}`,
    ],
    ["64 names of 40 characters with nothing in common", (i) => randomName(i, 40), () => "default"],
    ["64 names of 40 characters with nothing in common, in 8 namespaces", (i) => randomName(i, 40), (i) => `tenant-of-some-size-${i % 8}`],
  ])("is at most 8 KB: %s", (_, nameOf, namespaceOf) => {
    const text = encodeBlock(fullBlock(nameOf, namespaceOf));
    expect(Buffer.byteLength(text)).toBeLessThanOrEqual(LIMIT_BYTES);
    expect(decodeBlock(text, REF).allocations).toHaveLength(64);
  });

  test("reaches 8 KB with names of 43 characters that have nothing in common", () => {
    const sizeAt = (length: number): number => Buffer.byteLength(encodeBlock(fullBlock((i) => randomName(i, length))));
    expect(sizeAt(43)).toBeLessThanOrEqual(LIMIT_BYTES);
    expect(sizeAt(46)).toBeGreaterThan(LIMIT_BYTES);
  });

  test("grows evenly beyond: 64 different names of 63 characters stay below 10 KB", () => {
    expect(Buffer.byteLength(encodeBlock(fullBlock((i) => randomName(i, 63))))).toBeLessThan(10_000);
  });
});

describe("decodeBlock() refuses", () => {
  const good: Record<string, unknown> = JSON.parse(encodeBlock({ ...fullBlock((i) => `web-${i}`), releasedAt: new Map() }));
  const rows = good.allocations as readonly string[];
  test.each<[string, string, string]>([
    ["what is no JSON", "{", "no JSON"],
    ["what is no object", "[]", "no JSON object"],
    ["another CIDR", JSON.stringify({ ...good, cidr: "10.65.0.0/26" }), 'got "10.65.0.0/26" as its CIDR'],
    ["another node", JSON.stringify({ ...good, node: "node-9" }), 'got "node-9" as its node'],
    ["a free address beyond the end", JSON.stringify({ ...good, free: "64" }), "each ordinal once, below 64"],
    ["a free address that is no whole number", JSON.stringify({ ...good, allocations: rows.slice(1), free: "1.5" }), "each ordinal once"],
    ["a range of them", JSON.stringify({ ...good, allocations: rows.slice(2), free: "0.5-1.5" }), "each ordinal once"],
    ["a range that ends before it begins", JSON.stringify({ ...good, free: "5-3" }), "each ordinal once"],
    ["an address that is free twice", JSON.stringify({ ...good, free: "3,3" }), "each ordinal once"],
    ["an address that is free and allocated", JSON.stringify({ ...good, free: "3" }), "64 allocations and 1 free addresses are not its 64"],
    ["a missing allocation", JSON.stringify({ ...good, allocations: rows.slice(1) }), "63 allocations and 0 free"],
    ["an owner of no group", JSON.stringify({ ...good, groups: [] }), "cannot read the owner of address 0"],
    ["a damaged row", JSON.stringify({ ...good, allocations: [...rows.slice(1), "x"] }), "cannot read the owner of address 63"],
    ["words that are no texts", JSON.stringify({ ...good, words: [1] }), '"words"'],
    ["a group with a number", JSON.stringify({ ...good, groups: [[1, "eth0", "node-1", "pod"]] }), '"groups"'],
    ["a group whose endpoints have an unknown form", JSON.stringify({ ...good, groups: [["a", "eth0", "node-1", "vm"]] }), '"groups"'],
    ["a group that is too short", JSON.stringify({ ...good, groups: [["a", "eth0", "pod"]] }), '"groups"'],
    ["a release of an allocated address", JSON.stringify({ ...good, released: "3:0" }), '"3:0"'],
    ["an empty time although something is allocated", JSON.stringify({ ...good, emptySince: 1 }), '"emptySince" with 64 allocations'],
    ["times without a base", JSON.stringify({ ...good, base: -1 }), "base of its times"],
  ])("%s", (_, text, fault) => {
    const act = (): unknown => decodeBlock(text, REF);
    expect(act).toThrow(CorruptBlock);
    expect(act).toThrow(fault);
    expect(act).toThrow(`read block "${toPrefixText(CIDR)}" of node "${NODE}"`);
  });

  test("any damaged text with that one error, never another", () => {
    const text = encodeBlock(fullBlock((i) => randomName(i, 20)));
    fc.assert(
      fc.property(fc.nat(text.length), fc.nat(8), fc.string({ maxLength: 4 }), (at, cut, inserted) => {
        try {
          decodeBlock(text.slice(0, at) + inserted + text.slice(at + cut), REF);
        } catch (thrown) {
          expect(thrown).toBeInstanceOf(CorruptBlock);
        }
      }),
      { seed, numRuns: 1_000 },
    );
  });
});

test("a block's addresses are counted from its base", () => {
  expect(toAddressText(addressAt(CIDR, 5))).toBe("10.65.0.69");
});

function fullBlock(nameOf: (i: number) => string, namespaceOf: (i: number) => string = () => "default"): Block {
  const allocations = range(64).map((ordinal): Allocation => {
    const owner = {
      network: "k8s-pod-network",
      containerID: digits(ordinal, 64),
      ifName: "eth0",
      node: NODE,
      pod: nameOf(ordinal),
      namespace: namespaceOf(ordinal),
      podUID: digits(ordinal + 1_000, 32).replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5"),
    };
    return { ordinal, owner: withEndpoint(owner, "k8s", owner.pod), since: 1_760_000_000 + ordinal * 40_000 };
  });
  return { cidr: CIDR, node: NODE, allocations, free: [], releasedAt: new Map(), emptySince: undefined };
}

function withEndpoint(owner: AllocationOwner, orchestrator: string, workload: string): AllocationOwner {
  const endpoint = [owner.node, orchestrator, workload, owner.ifName].map((part) => part.replaceAll("-", "--")).join("-");
  return { ...owner, endpoint };
}

/** `<base>-<ReplicaSet>-<pod>`: as Kubernetes builds them, from `count` Deployments. */
function deploymentName(base: string, count: number): (i: number) => string {
  return (i) => {
    const deployment = i % count;
    const name = `${base.slice(0, base.length - 3)}${String(deployment).padStart(3, "x")}`;
    return `${name}-${digits(deployment + 5_000, 10)}-${digits(i + 9_000, 5)}`;
  };
}

function randomName(i: number, length: number): string {
  return digits(i + 70_000, length);
}

/** Hexadecimal digits that do not repeat for another number. */
function digits(seedNumber: number, length: number): string {
  let text = "";
  for (let i = 0; text.length < length; i++) text += new Bun.CryptoHasher("sha256").update(`${seedNumber}/${i}`).digest("hex");
  return text.slice(0, length);
}

function range(count: number): number[] {
  return Array.from({ length: count }, (_, i) => i);
}
