import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import ipaddr from "ipaddr.js";
import { testSeed } from "../../../test/support/seed.ts";
import {
  AddressError,
  equalAddresses,
  fromAddressBytes,
  isLinkLocal,
  parseAddress,
  toAddressBytes,
  toAddressText,
  tryParseAddress,
} from "./address.ts";

const seed = testSeed();

const anyBytes = fc.oneof(fc.uint8Array({ minLength: 4, maxLength: 4 }), fc.uint8Array({ minLength: 16, maxLength: 16 }), sparseBytes());

/** Sixteen bytes, most of them zero: where the abbreviation of IPv6 has its corner cases. */
function sparseBytes(): fc.Arbitrary<Uint8Array> {
  return fc.array(fc.constantFrom(0, 0, 0, 1, 0xff), { minLength: 16, maxLength: 16 }).map((bytes) => Uint8Array.from(bytes));
}

describe("parseAddress()", () => {
  test.each([
    ["10.65.0.7", "10.65.0.7"],
    ["255.255.255.255", "255.255.255.255"],
    ["0.0.0.0", "0.0.0.0"],
    ["FD00:0:0:65::", "fd00:0:0:65::"],
    ["2001:db8:0:0:1:0:0:1", "2001:db8::1:0:0:1"],
    ["1:0:2:3:4:5:6:7", "1:0:2:3:4:5:6:7"],
    ["::", "::"],
    ["::1", "::1"],
    ["::ffff:a00:1", "::ffff:a00:1"],
    ["0001:002::003", "1:2::3"],
    ["1:2:3:4:5:6:7::", "1:2:3:4:5:6:7:0"],
  ])("reads %p as %p", (text, canonical) => {
    expect(toAddressText(parseAddress(text))).toBe(canonical);
  });

  test.each([
    "",
    "10.65.0",
    "10.65.0.0.1",
    "10.65.0.256",
    "10.65.0.07",
    "00.0.0.0",
    "10.65..1",
    ".1.2.3.4",
    "1.2.3.4.",
    " 10.65.0.1",
    "10.65.0.1 ",
    "0x7f.0.0.1",
    "1.2.3.+4",
    "٣.1.1.1",
    "10.65.0.1/32",
    ":",
    ":::",
    "1::2::3",
    "1:2:3:4:5:6:7",
    "1:2:3:4:5:6:7:8:9",
    "1:2:3:4:5:6:7::8",
    "12345::",
    "g::",
    "fe80::1%eth0",
    "::ffff:10.0.0.1",
    "[::1]",
    "::1\n",
  ])("refuses %p", (text) => {
    expect(tryParseAddress(text)).toBeUndefined();
    expect(() => parseAddress(text)).toThrow(AddressError);
  });

  test("refuses megabytes at once, and its message stays short", () => {
    expect(() => parseAddress("1:".repeat(1_000_000))).toThrow(/^parse address: .{1,120}$/);
  });

  test("agrees with ipaddr.js on every address, and so does the canonical text", () => {
    fc.assert(
      fc.property(anyBytes, (bytes) => {
        const oracle = ipaddr.fromByteArray([...bytes]);
        const ours = fromAddressBytes(bytes);
        expect(toAddressBytes(ours)).toEqual(bytes);
        expect(parseAddress(toAddressText(ours))).toEqual(ours);
        expect(parseAddress(oracle.toNormalizedString())).toEqual(ours);
        expect(toAddressText(ours)).toBe(oracle instanceof ipaddr.IPv6 ? oracle.toRFC5952String() : oracle.toString());
      }),
      { seed, numRuns: 3_000 },
    );
  });

  test("accepts arbitrary text only where ipaddr.js does", () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom(..."0123456789abcf:.") }), (text) => {
        const ours = tryParseAddress(text);
        if (ours !== undefined) expect([...toAddressBytes(ours)]).toEqual(ipaddr.parse(text).toByteArray());
        else if (!/(^|\.)0[0-9]/.test(text) && !(text.includes(":") && text.includes("."))) expect(isFullAddress(text)).toBe(false);
      }),
      { seed, numRuns: 3_000 },
    );
  });
});

/** ipaddr.js also reads `10.1` and a bare number as IPv4; we do not. */
function isFullAddress(text: string): boolean {
  return ipaddr.IPv6.isValid(text) || ipaddr.IPv4.isValidFourPartDecimal(text);
}

test("isLinkLocal() agrees with ipaddr.js at the borders", () => {
  for (const text of [
    "169.253.255.255",
    "169.254.0.0",
    "169.254.255.255",
    "169.255.0.0",
    "fe7f:ffff::",
    "fe80::",
    "febf:ffff::",
    "fec0::",
  ]) {
    expect([text, isLinkLocal(parseAddress(text))]).toEqual([text, ipaddr.parse(text).range() === "linkLocal"]);
  }
});

test.each([
  ["10.0.0.1", "10.0.0.1", true],
  ["10.0.0.1", "10.0.0.2", false],
  ["0.0.0.1", "::1", false],
  ["fd00::1", "fd00:0::1", true],
  ["fd00::1", "fd00::2", false],
])("%s and %s are equal: %p", (a, b, isEqual) => expect(equalAddresses(parseAddress(a), parseAddress(b))).toBe(isEqual));
