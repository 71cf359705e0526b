import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { deriveMac, fromMacBytes, MacAddressError, parseMac, toMacBytes, tryParseMac } from "./mac-address.ts";
import { testSeed } from "../../test/support/seed.ts";

const seed = testSeed();

describe("parseMac()", () => {
  test.each([
    ["EE:ee:EE:ee:00:01", "ee:ee:ee:ee:00:01"],
    ["02-00-00-00-00-0A", "02:00:00:00:00:0a"],
  ])("reads %p as %p", (text, canonical) => expect(parseMac(text) as string).toBe(canonical));

  test.each([
    "",
    "ee:ee:ee:ee:ee",
    "ee:ee:ee:ee:ee:ee:ee",
    "ee:ee-ee:ee:ee:ee",
    "eeee.eeee.eeee",
    "g0:00:00:00:00:00",
    " 02:00:00:00:00:01",
    "02:00:00:00:00:01\n",
  ])("refuses %p", (text) => expect(() => parseMac(text)).toThrow(MacAddressError));

  test("refuses what no interface can have: multicast, broadcast and all zeros", () => {
    for (const text of ["01:00:5e:00:00:01", "ff:ff:ff:ff:ff:ff", "00:00:00:00:00:00"]) expect(tryParseMac(text)).toBeUndefined();
  });
});

describe("deriveMac()", () => {
  test("gives a locally administered unicast address, always the same for the same seed", () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        const mac = deriveMac(text);
        const first = toMacBytes(mac)[0] ?? 0;
        expect(first & 0b11).toBe(0b10);
        expect(parseMac(mac)).toBe(mac);
        expect(deriveMac(text)).toBe(mac);
        expect(fromMacBytes(toMacBytes(mac))).toBe(mac);
      }),
      { seed },
    );
  });

  test("gives different interfaces of one container different addresses", () => {
    const macs = new Set(Array.from({ length: 1_000 }, (_, i) => deriveMac(`0123456789abcdef/eth${i}`)));
    expect(macs.size).toBe(1_000);
  });
});
