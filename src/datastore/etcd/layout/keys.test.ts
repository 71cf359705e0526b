import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { testSeed } from "../../../../test/support/seed.ts";
import { BLOCK_SIZE_LIMITS } from "../../../api/ip-pool.ts";
import { KINDS } from "../../../api/registry.ts";
import type { Kind } from "../../../api/resource.ts";
import { fromAddressBytes } from "../../../lib/ip/address.ts";
import { comparePrefixes, containsPrefix, parsePrefix, prefixOf } from "../../../lib/ip/prefix.ts";
import type { ResourceRef } from "../../datastore.ts";
import {
  blockKey,
  blockRange,
  borrowedKey,
  borrowedRange,
  cidrOfIndexKey,
  enclosingBlocks,
  indexKey,
  indexRange,
  parseBlockKey,
  parseResourceKey,
  resourceKey,
  resourceRange,
} from "./keys.ts";

const seed = testSeed();

const anyName = fc.oneof(fc.string({ minLength: 1, unit: "grapheme" }), fc.constantFrom("blocks", "..", "%62locks", "a/b", "\u0000"));
const anyBlock = fc
  .oneof(fc.uint8Array({ minLength: 4, maxLength: 4 }), fc.uint8Array({ minLength: 16, maxLength: 16 }))
  .map(fromAddressBytes)
  .chain((address) => fc.integer(BLOCK_SIZE_LIMITS[address.family]).map((length) => prefixOf(address, length)));
const anyRef = fc
  .record({ kind: fc.constantFrom(...(Object.keys(KINDS) as Kind[])), namespace: anyName, name: anyName })
  .map(({ kind, namespace, name }): ResourceRef => (KINDS[kind].namespaced ? { kind, namespace, name } : { kind, name }));

describe("the key of a resource", () => {
  test("is read back, lies in the range of its kind and namespace only, and is no block's", () => {
    const property = fc.property(anyRef, anyRef, (ref, other) => {
      const key = resourceKey(ref);
      expect(parseResourceKey(key)).toEqual(ref);
      expect(key).toMatch(/^[\x21-\x7e]+$/);
      expect(key).not.toContain("/blocks/");
      const { key: start, end } = resourceRange(other.kind, other.namespace);
      expect(start <= key && key < end).toBe(ref.kind === other.kind && ref.namespace === other.namespace);
    });
    fc.assert(property, { seed });
  });
});

test.each([
  "/netplug/v3/ippools",
  "/netplug/v3/ippools/",
  "/netplug/v3/ippools/a/b",
  "/netplug/v3/workloadendpoints/a",
  "/netplug/v3/workloadendpoints//a",
  "/netplug/v3/workloadendpoints/a/",
  "/netplug/v3/workloadendpoints/a/b/c",
  "/netplug/v3/strangers/a",
  "/netplug/v4/ippools/a",
  "",
])("%p is no key of a resource", (key) => {
  expect(parseResourceKey(key)).toBeUndefined();
});

test("resourceKey() refuses an empty name", () => {
  expect(() => resourceKey({ kind: "IPPool", name: "" })).toThrow("got an empty name or namespace");
});

describe("the key of a block", () => {
  test("is written as people read addresses, at full width", () => {
    const [v4, v6] = [parsePrefix("10.65.0.64/26"), parsePrefix("fd00:65::40/122")];
    expect(blockKey({ cidr: v4, node: "n1" })).toBe("/netplug/ipam/blocks/n1/010.065.000.064-26");
    expect(indexKey("claims", v4)).toBe("/netplug/ipam/claims/4/010.065.000.064-26");
    expect(borrowedKey("n1", v6)).toBe("/netplug/ipam/borrowed/n1/fd00:0065:0000:0000:0000:0000:0000:0040-122");
  });

  test("lies in the range of its node only", () => {
    const property = fc.property(anyBlock, anyName, anyName, fc.constantFrom("", "0", "/", "-"), (cidr, node, other, end) => {
      for (const name of [other, `${node}${end}`]) {
        for (const [key, range] of [
          [blockKey({ cidr, node: name }), blockRange(node)],
          [borrowedKey(name, cidr), borrowedRange(node)],
        ] as const)
          expect(range.key <= key && key < range.end).toBe(name === node);
      }
    });
    fc.assert(property, { seed });
  });

  test("is read back, and is the only kind of key that contains the word", () => {
    const property = fc.property(anyBlock, anyName, (cidr, node) => {
      const key = blockKey({ cidr, node });
      expect(parseBlockKey(key)).toEqual({ cidr, node });
      expect(key.split("/blocks/")).toHaveLength(2);
      expect(parseResourceKey(key)).toBeUndefined();
    });
    fc.assert(property, { seed });
  });

  test.each([
    "/netplug/ipam/blocks/n1/10.65.0.0-26",
    "/netplug/ipam/blocks/n1/010.065.000.000-33",
    "/netplug/ipam/blocks/n1/010.065.000.000--1",
    "/netplug/ipam/blocks/n1/010.065.000.000-26.5",
    "/netplug/ipam/blocks/n1/010.065.000.001-24",
    "/netplug/ipam/blocks/n1/010.065.000.1.5-26",
    "/netplug/ipam/blocks/n1/010.065.000.256-26",
    "/netplug/ipam/blocks/n1/fd00:0000:0000:0000:0000:0000:0000:0001-122",
    "/netplug/ipam/blocks/n1/010.065.000.000",
    "/netplug/ipam/blocks/n1/",
    "/netplug/ipam/blocks//010.065.000.000-26",
    "/netplug/ipam/claims/4/010.065.000.000-26",
    "/netplug/ipam/blocks/010.065.000.000-26",
    "/netplug/ipam/blocks/n1/x/010.065.000.000-26",
    "/netplug/v3/ippools/a",
    "",
  ])("is not %p", (key) => {
    expect(parseBlockKey(key)).toBeUndefined();
  });
});

describe("an index", () => {
  test("is in address order, so that a range of keys is what lies inside a prefix from an address on", () => {
    const property = fc.property(anyBlock, anyBlock, fc.nat({ max: 12 }), anyBlock, (a, b, wider, from) => {
      const [keyOfA, keyOfB] = [indexKey("claims", a), indexKey("claims", b)];
      expect(cidrOfIndexKey(keyOfA)).toEqual(a);
      const byKey = keyOfA < keyOfB ? -1 : keyOfA > keyOfB ? 1 : 0;
      if (a.family === b.family) expect(Math.sign(comparePrefixes(a, b))).toBe(byKey);
      const within = prefixOf({ family: b.family, value: b.base }, b.length - wider);
      const start = from.family === a.family ? from.base : undefined;
      const { key, end } = indexRange("claims", within, start);
      const isInside = a.family === within.family && containsPrefix(within, a) && (start === undefined || a.base >= start);
      expect(key <= keyOfA && keyOfA < end).toBe(isInside);
    });
    fc.assert(property, { seed });
  });
});

test.each(["010.065.000.000-26.5", "010.065.000.000--1", "010.065.000.001-24", "010.065.000.1.5-26"])(
  "a key of an index that ends with %p names no CIDR",
  (end) => {
    expect(cidrOfIndexKey(`/netplug/ipam/claims/4/${end}`)).toBeUndefined();
  },
);

describe("enclosingBlocks()", () => {
  test("names every block that a prefix can lie in, longest first", () => {
    const lengths = enclosingBlocks(parsePrefix("10.65.0.76/30")).map(({ length }) => length);
    expect(lengths).toEqual([29, 28, 27, 26, 25, 24, 23, 22, 21, 20]);
    const property = fc.property(anyBlock, (cidr) => {
      for (const enclosing of enclosingBlocks(cidr)) expect(containsPrefix(enclosing, cidr) && enclosing.length < cidr.length).toBe(true);
    });
    fc.assert(property, { seed });
  });
});
