import { expect, test } from "bun:test";
import fc from "fast-check";
import ipaddr from "ipaddr.js";
import { testSeed } from "../../../../test/support/seed.ts";
import { comparePrefixes, containsPrefix, parsePrefix, type Prefix, toPrefixText } from "../../../lib/ip/prefix.ts";
import { cellsOf, parseBlockName, toBlockName, toCell } from "./block-name.ts";

const seed = testSeed();

const block: fc.Arbitrary<Prefix> = fc.oneof(
  fc.record({ value: fc.bigInt({ min: 0n, max: 2n ** 32n - 1n }), length: fc.integer({ min: 20, max: 32 }) }).map(({ value, length }) => {
    const bits = BigInt(32 - length);
    return { family: 4 as const, base: (value >> bits) << bits, length };
  }),
  fc
    .record({ value: fc.bigInt({ min: 0n, max: 2n ** 128n - 1n }), length: fc.integer({ min: 116, max: 128 }) })
    .map(({ value, length }) => {
      const bits = BigInt(128 - length);
      return { family: 6 as const, base: (value >> bits) << bits, length };
    }),
);

test("a name is written as people read addresses, at full width", () => {
  expect(toBlockName(parsePrefix("10.65.0.64/26"))).toBe("010-065-000-064-26");
  expect(toBlockName(parsePrefix("fd00:65::40/122"))).toBe("fd00-0065-0000-0000-0000-0000-0000-0040-122");
});

test("a name is one that Kubernetes takes, is read back, and sorts as its block does among those of its family", () => {
  fc.assert(
    fc.property(block, block, (a, b) => {
      const [nameA, nameB] = [toBlockName(a), toBlockName(b)];
      expect(nameA).toMatch(/^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/);
      expect(nameA.length).toBeLessThanOrEqual(63);
      expect(parseBlockName(nameA)).toEqual(a);
      if (a.family === b.family) expect(Math.sign(comparePrefixes(a, b))).toBe(nameA < nameB ? -1 : nameA > nameB ? 1 : 0);
    }),
    { seed },
  );
});

test.each([
  "",
  "x",
  "10-65-0-64-26",
  "010-065-000-064",
  "010-065-000-064-33",
  "010-065-000-065-26",
  "256-000-000-000-26",
  "abc-065-000-064-26",
  "010-065-000-000-19",
  "fd00-0065-0000-0000-0000-0000-0000-0000-115",
  "010-065-000-064-26-1",
  "fd00-0065-122",
])("%j is no name of a block", (name) => {
  expect(parseBlockName(name)).toBeUndefined();
});

test("the cells of a prefix are those that its blocks lie in", () => {
  expect(cellsOf(parsePrefix("10.65.0.0/18"), 4)).toEqual(["010-065-000-000", "010-065-016-000", "010-065-032-000", "010-065-048-000"]);
  expect(cellsOf(parsePrefix("10.65.0.0/18"), 3)).toBeUndefined();
  expect(cellsOf(parsePrefix("fd00::/48"), 64)).toBeUndefined();
  fc.assert(
    fc.property(block, fc.integer({ min: 0, max: 6 }), (inner, bits) => {
      const length = inner.length - bits;
      const outer = ipaddr.parseCIDR(`${toPrefixText(inner).split("/")[0]}/${length}`);
      const network = (inner.family === 4 ? ipaddr.IPv4 : ipaddr.IPv6).networkAddressFromCIDR(`${outer[0].toString()}/${length}`);
      const around = parsePrefix(`${network.toString()}/${length}`);
      expect(containsPrefix(around, inner)).toBe(true);
      expect(cellsOf(around, 64)).toContain(toCell(inner));
    }),
    { seed },
  );
});
