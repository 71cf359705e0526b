import { expect, test } from "bun:test";
import fc from "fast-check";
import { testSeed } from "../../../test/support/seed.ts";
import { addressAt, containsAddress, parsePrefix, type Prefix, prefixOf, sizeOf } from "./prefix.ts";
import { prefixSetOf } from "./prefix-set.ts";

const seed = testSeed();

/** Prefixes inside 10.0.0.0/24 and fd00::/120, small enough to ask about every address. */
const smallPrefix: fc.Arbitrary<Prefix> = fc
  .tuple(fc.constantFrom(parsePrefix("10.0.0.0/24"), parsePrefix("fd00::/120")), fc.nat(255), fc.nat(8))
  .map(([space, ordinal, extra]) => prefixOf(addressAt(space, ordinal), space.length + extra));

test("has(), covers() and countIn() agree with asking every address one by one", () => {
  fc.assert(
    fc.property(fc.array(smallPrefix, { maxLength: 8 }), smallPrefix, (prefixes, probe) => {
      const set = prefixSetOf(prefixes);
      const addresses = Array.from({ length: Number(sizeOf(probe)) }, (_, i) => addressAt(probe, i));
      const inside = addresses.filter((address) => prefixes.some((prefix) => containsAddress(prefix, address)));
      expect(addresses.filter((address) => set.has(address))).toEqual(inside);
      expect(set.countIn(probe)).toBe(BigInt(inside.length));
      expect(set.covers(probe)).toBe(inside.length === addresses.length);
    }),
    { seed, numRuns: 500 },
  );
});

test("two neighbouring prefixes cover the prefix that is both of them", () => {
  const set = prefixSetOf([parsePrefix("10.0.0.128/25"), parsePrefix("10.0.0.0/25")]);
  expect(set.covers(parsePrefix("10.0.0.0/24"))).toBe(true);
  expect(set.covers(parsePrefix("10.0.0.0/23"))).toBe(false);
});

test("the empty set has nothing, and the whole space has everything of its family", () => {
  expect(prefixSetOf([]).covers(parsePrefix("::1"))).toBe(false);
  const all = prefixSetOf([parsePrefix("::/0")]);
  expect(all.covers(parsePrefix("::/0"))).toBe(true);
  expect(all.countIn(parsePrefix("::/0"))).toBe(2n ** 128n);
  expect(all.covers(parsePrefix("0.0.0.0/32"))).toBe(false);
});
