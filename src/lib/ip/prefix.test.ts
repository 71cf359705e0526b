import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import ipaddr from "ipaddr.js";
import { testSeed } from "../../../test/support/seed.ts";
import { fromAddressBytes, parseAddress, toAddressText } from "./address.ts";
import {
  addressAt,
  comparePrefixes,
  containsAddress,
  containsPrefix,
  equalPrefixes,
  lastAddressOf,
  ordinalOf,
  overlaps,
  parsePrefix,
  PrefixError,
  prefixOf,
  sizeOf,
  subnetAt,
  subnetCount,
  toHostPrefix,
  toPrefixText,
  tryParsePrefix,
} from "./prefix.ts";

const seed = testSeed();

const anyAddress = fc
  .oneof(fc.uint8Array({ minLength: 4, maxLength: 4 }), fc.uint8Array({ minLength: 16, maxLength: 16 }))
  .map(fromAddressBytes);

const anyPrefix = anyAddress.chain((address) =>
  fc.integer({ min: 0, max: address.family === 4 ? 32 : 128 }).map((length) => prefixOf(address, length)),
);

describe("parsePrefix()", () => {
  test.each([
    ["10.65.0.7", "10.65.0.7/32"],
    ["FD00:0:0:65::/64", "fd00:0:0:65::/64"],
    ["2001:db8:0:0:1:0:0:1/128", "2001:db8::1:0:0:1/128"],
    ["::/0", "::/0"],
    ["0.0.0.0/0", "0.0.0.0/0"],
  ])("reads %p as %p", (text, canonical) => {
    expect(toPrefixText(parsePrefix(text))).toBe(canonical);
  });

  test.each([
    "",
    "/",
    "10.65.0/16",
    "10.65.0.0/33",
    "10.65.0.0/016",
    "10.65.0.00/16",
    "10.65.0.0/+8",
    "10.65.0.0/",
    "10.65.0.0/8/8",
    "::/129",
    "fe80::1%eth0/64",
    "a/b/c",
  ])("refuses %p", (text) => expect(() => parsePrefix(text)).toThrow(PrefixError));

  test("names the prefix that was meant when host bits are set", () => {
    expect(() => parsePrefix("10.65.3.9/16")).toThrow('host bits are set, want "10.65.0.0/16"');
    expect(tryParsePrefix("10.65.3.9/16")).toBeUndefined();
  });

  test("agrees with ipaddr.js on every prefix: base, last address, text", () => {
    fc.assert(
      fc.property(anyAddress, fc.nat(128), (address, anyLength) => {
        const length = address.family === 4 ? anyLength % 33 : anyLength;
        const cidr = `${toAddressText(address)}/${length}`;
        const oracle = address.family === 4 ? ipaddr.IPv4 : ipaddr.IPv6;
        const ours = parsePrefix(`${oracle.networkAddressFromCIDR(cidr).toString()}/${length}`);
        expect(ours).toEqual(prefixOf(address, length));
        expect(toAddressText(lastAddressOf(ours))).toBe(toAddressText(parseAddress(oracle.broadcastAddressFromCIDR(cidr).toString())));
        expect(parsePrefix(toPrefixText(ours))).toEqual(ours);
        expect(lastAddressOf(ours).value - ours.base + 1n).toBe(sizeOf(ours));
      }),
      { seed, numRuns: 2_000 },
    );
  });
});

describe("containment", () => {
  test("is false across families", () => {
    expect(containsPrefix(parsePrefix("0.0.0.0/0"), parsePrefix("::/0"))).toBe(false);
    expect(containsAddress(parsePrefix("::/0"), parseAddress("10.0.0.1"))).toBe(false);
    expect(overlaps(parsePrefix("0.0.0.0/0"), parsePrefix("::/0"))).toBe(false);
  });

  test("holds for a prefix and its own host prefixes only", () => {
    const block = parsePrefix("10.65.0.64/26");
    expect(containsPrefix(block, parsePrefix("10.65.0.127"))).toBe(true);
    expect(containsPrefix(block, parsePrefix("10.65.0.128"))).toBe(false);
    expect(containsPrefix(block, parsePrefix("10.65.0.0/24"))).toBe(false);
    expect(overlaps(block, parsePrefix("10.65.0.0/24"))).toBe(true);
  });

  test("agrees with ipaddr.js for any address and prefix of one family", () => {
    fc.assert(
      fc.property(anyPrefix, anyAddress, (prefix, address) => {
        fc.pre(prefix.family === address.family);
        const oracle = ipaddr.parse(toAddressText(address)).match(ipaddr.parseCIDR(toPrefixText(prefix)));
        expect(containsAddress(prefix, address)).toBe(oracle);
        expect(containsPrefix(prefix, toHostPrefix(address))).toBe(oracle);
      }),
      { seed, numRuns: 1_000 },
    );
  });
});

describe("positions", () => {
  test("an address is at the position that gave it, and none is outside", () => {
    fc.assert(
      fc.property(anyPrefix, fc.nat(), (prefix, number) => {
        const ordinal = Number(BigInt(number) % sizeOf(prefix));
        expect(ordinalOf(prefix, addressAt(prefix, ordinal))).toBe(ordinal);
        expect(() => addressAt(prefix, Number(sizeOf(prefix)))).toThrow(RangeError);
        expect(() => addressAt(prefix, -1)).toThrow(RangeError);
      }),
      { seed },
    );
    expect(ordinalOf(parsePrefix("10.0.0.0/26"), parseAddress("10.0.0.64"))).toBeUndefined();
  });

  test("subnets follow each other without gap, and the last ends where the prefix ends", () => {
    const pool = parsePrefix("fd00:65::/64");
    expect(subnetCount(pool, 122)).toBe(2n ** 58n);
    expect(toPrefixText(subnetAt(pool, 122, 1))).toBe("fd00:65::40/122");
    expect(lastAddressOf(subnetAt(pool, 122, 2n ** 58n - 1n))).toEqual(lastAddressOf(pool));
    expect(() => subnetAt(pool, 122, 2n ** 58n)).toThrow(RangeError);
    expect(subnetCount(pool, 63)).toBe(0n);
  });
});

test("comparePrefixes() sorts by family, base, then the wider first", () => {
  const sorted = ["::/0", "10.0.0.0/26", "10.0.0.0/8", "9.0.0.0/8"].map(parsePrefix).sort(comparePrefixes);
  expect(sorted.map(toPrefixText)).toEqual(["9.0.0.0/8", "10.0.0.0/8", "10.0.0.0/26", "::/0"]);
});

test.each([
  ["10.0.0.0/8", "10.0.0.0/8", true],
  ["10.0.0.0/8", "10.0.0.0/9", false],
  ["10.0.0.0/9", "10.128.0.0/9", false],
  ["0.0.0.0/0", "::/0", false],
])("%s and %s are equal: %p", (a, b, isEqual) => expect(equalPrefixes(parsePrefix(a), parsePrefix(b))).toBe(isEqual));
