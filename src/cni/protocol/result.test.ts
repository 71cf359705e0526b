import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { testSeed } from "../../../test/support/seed.ts";
import type { NetplugError } from "../../lib/errors.ts";
import { fromAddressBytes, toAddressText } from "../../lib/ip/address.ts";
import { parseResult, ResultError } from "./parse-result.ts";
import { toResultDocument } from "./print-result.ts";
import { addressesOf, type CniResult, EMPTY_RESULT, mergeWithPrevious, type ResultIp, toResultIp } from "./result.ts";
import { type CniVersion, isAtLeast, SUPPORTED_VERSIONS } from "./versions.ts";

const seed = testSeed();

const OURS: CniResult = {
  interfaces: [
    { name: "npg82111e10a96", mac: "ee:ee:ee:ee:ee:ee", mtu: 1450 },
    { name: "eth0", mac: "02:00:00:00:00:01", mtu: 1450, sandbox: "/var/run/netns/pod" },
  ],
  ips: [
    { address: "10.65.0.7/32", interface: 1 },
    { address: "fd00:65::7/128", interface: 1 },
  ],
  routes: [
    { dst: "0.0.0.0/0", gw: "169.254.1.1" },
    { dst: "::/0", gw: "fe80::ecee:eeff:feee:eeee", mtu: 1400 },
  ],
  dns: undefined,
};

describe("toResultDocument()", () => {
  test("1.1.0 has everything", () => {
    expect(JSON.parse(JSON.stringify(toResultDocument(OURS, "1.1.0")))).toEqual({
      cniVersion: "1.1.0",
      interfaces: [
        { name: "npg82111e10a96", mac: "ee:ee:ee:ee:ee:ee", mtu: 1450 },
        { name: "eth0", mac: "02:00:00:00:00:01", mtu: 1450, sandbox: "/var/run/netns/pod" },
      ],
      ips: [
        { address: "10.65.0.7/32", interface: 1 },
        { address: "fd00:65::7/128", interface: 1 },
      ],
      routes: [
        { dst: "0.0.0.0/0", gw: "169.254.1.1" },
        { dst: "::/0", gw: "fe80::ecee:eeff:feee:eeee", mtu: 1400 },
      ],
    });
  });

  test("1.0.0 has neither MTU nor the version of an address", () => {
    const document = toResultDocument(OURS, "1.0.0");
    expect(JSON.stringify(document)).not.toMatch(/"mtu"|"version"|"dns"/);
    expect(document["ips"]).toEqual(OURS.ips);
  });

  test.each(["0.3.0", "0.3.1", "0.4.0"] as const)("%s tells the version of each address, and prints dns always", (version) => {
    const document = toResultDocument(OURS, version);
    expect(document["ips"]).toEqual([
      { version: "4", address: "10.65.0.7/32", interface: 1 },
      { version: "6", address: "fd00:65::7/128", interface: 1 },
    ]);
    expect(document["dns"]).toEqual({});
  });

  test.each(["0.1.0", "0.2.0"] as const)("%s has the first address of each family with its routes, and no interfaces", (version) => {
    const second: CniResult = { ...OURS, ips: [...OURS.ips, { address: "10.65.0.8/32" }] };
    expect(toResultDocument(second, version)).toEqual({
      cniVersion: version,
      ip4: { ip: "10.65.0.7/32", routes: [{ dst: "0.0.0.0/0", gw: "169.254.1.1" }] },
      ip6: { ip: "fd00:65::7/128", routes: [{ dst: "::/0", gw: "fe80::ecee:eeff:feee:eeee" }] },
      dns: {},
    });
  });

  test("0.2.0 cannot tell a result without address", () => {
    let thrown: unknown;
    try {
      toResultDocument(EMPTY_RESULT, "0.2.0");
    } catch (error) {
      thrown = error;
    }
    expect((thrown as NetplugError).code).toBe(1);
  });

  test("a result of address management has no interfaces", () => {
    const ipam: CniResult = {
      ...EMPTY_RESULT,
      ips: [toResultIp({ address: { family: 4, value: 0x0a410007n }, length: 26 }, undefined, "169.254.1.1")],
    };
    expect(toResultDocument(ipam, "1.0.0")).toEqual({ cniVersion: "1.0.0", ips: [{ address: "10.65.0.7/26", gateway: "169.254.1.1" }] });
  });
});

describe("parseResult()", () => {
  test("reads what host-local prints in 0.2.0", () => {
    const document = { cniVersion: "0.2.0", ip4: { ip: "10.1.2.3/24", gateway: "10.1.2.1", routes: [{ dst: "0.0.0.0/0" }] }, dns: {} };
    expect(parseResult(document, "1.0.0")).toEqual({
      interfaces: [],
      ips: [{ address: "10.1.2.3/24", gateway: "10.1.2.1" }],
      routes: [{ dst: "0.0.0.0/0" }],
      dns: {},
    });
  });

  test("reads a result without cniVersion in the version of the config", () => {
    expect(parseResult({ ips: [{ version: "4", address: "10.1.2.3/24" }] }, "0.3.1").ips).toEqual([{ address: "10.1.2.3/24" }]);
    expect(parseResult({ ip4: { ip: "10.1.2.3/24" } }, "0.1.0").ips).toEqual([{ address: "10.1.2.3/24" }]);
  });

  test("keeps fields that it does not know, and takes null and empty lists for absent", () => {
    const document = { interfaces: null, ips: [{ address: "10.1.2.3/24", gateway: "", vendor: { id: 7 } }], routes: null, dns: null };
    expect(parseResult(document, "1.0.0")).toStrictEqual({
      interfaces: [],
      ips: [{ address: "10.1.2.3/24", vendor: { id: 7 } }],
      routes: [],
      dns: undefined,
    });
  });

  test.each([
    [[], "got an empty list, want an object"],
    ["x", 'got "x", want an object'],
    [{ cniVersion: "9.0.0" }, 'cniVersion: got "9.0.0"'],
    [{ ips: {} }, "ips: got an object, want a list"],
    [{ ips: ["x"] }, 'ips[0]: got "x", want an object'],
    [{ ips: [{}] }, "ips[0].address: got nothing, want address/length"],
    [{ ips: [{ address: "10.0.0.1" }] }, 'ips[0].address: got "10.0.0.1", want address/length'],
    [{ ips: [{ address: "10.0.0.1/8", gateway: "x" }] }, 'ips[0].gateway: got "x", want an address'],
    [{ ips: [{ address: "10.0.0.1/8", interface: -1 }] }, "ips[0].interface: got -1"],
    [{ interfaces: [{ name: "" }] }, 'interfaces[0].name: got ""'],
    [{ interfaces: [{ name: "a", mtu: 1.5 }] }, "interfaces[0].mtu: got 1.5, want a whole number"],
    [{ interfaces: [{ name: "a", sandbox: 5 }] }, "interfaces[0].sandbox: got 5, want a text"],
    [{ routes: [{ dst: "x" }] }, 'routes[0].dst: got "x", want address/length'],
    [{ dns: [] }, "dns: got an empty list, want an object"],
    [{ cniVersion: "0.2.0", ip4: 5 }, "ip4: got 5, want an object"],
    [{ cniVersion: "0.2.0", ip4: {} }, "ip4.ip: got nothing, want address/length"],
    [{ cniVersion: "0.2.0", ip6: { ip: "::1/128", routes: [5] } }, "ip6.routes[0]: got 5, want an object"],
  ])("refuses %p", (document, message) => {
    expect(() => parseResult(document, "1.0.0")).toThrow(ResultError);
    expect(() => parseResult(document, "1.0.0")).toThrow(message);
  });
});

describe("mergeWithPrevious()", () => {
  test("puts what came before after ours, shifts its indexes and keeps its dns", () => {
    const previous = parseResult(
      {
        cniVersion: "0.4.0",
        interfaces: [{ name: "lo", sandbox: "/x", vendor: 1 }],
        ips: [
          { version: "4", address: "127.0.0.1/8", interface: 0 },
          { version: "6", address: "::1/128" },
        ],
        routes: [{ dst: "192.0.2.0/24" }],
        dns: { nameservers: ["192.0.2.53"] },
      },
      "0.4.0",
    );
    const merged = mergeWithPrevious(OURS, previous);
    expect(merged.interfaces.map(({ name }) => name)).toEqual(["npg82111e10a96", "eth0", "lo"]);
    expect(merged.interfaces[2]).toEqual({ name: "lo", sandbox: "/x", vendor: 1 });
    expect(merged.ips.slice(2)).toEqual([{ address: "127.0.0.1/8", interface: 2 }, { address: "::1/128" }]);
    expect(merged.routes.at(-1)).toEqual({ dst: "192.0.2.0/24" });
    expect(merged.dns).toEqual({ nameservers: ["192.0.2.53"] });
  });

  test("changes nothing when there is none", () => expect(mergeWithPrevious(OURS, undefined)).toBe(OURS));
});

const anyAddress = fc
  .oneof(fc.uint8Array({ minLength: 4, maxLength: 4 }), fc.uint8Array({ minLength: 16, maxLength: 16 }))
  .map(fromAddressBytes);
const anyCidr = fc.tuple(anyAddress, fc.nat(128)).map(([address, n]) => `${toAddressText(address)}/${address.family === 4 ? n % 33 : n}`);
const anyIp: fc.Arbitrary<ResultIp> = fc.record(
  { address: anyCidr, gateway: anyAddress.map(toAddressText), interface: fc.nat(3), vendor: fc.constantFrom(1, "x") },
  { requiredKeys: ["address"] },
);
const anyResult: fc.Arbitrary<CniResult> = fc.record({
  interfaces: fc.array(
    fc.record(
      {
        name: fc.stringMatching(/^[a-z]{1,5}$/),
        mac: fc.constant("02:00:00:00:00:01"),
        mtu: fc.nat(9000),
        sandbox: fc.constant("/x"),
        pciID: fc.constant("0000:00:1f.6"),
      },
      { requiredKeys: ["name"] },
    ),
    { maxLength: 3 },
  ),
  ips: fc.array(anyIp, { minLength: 1, maxLength: 4 }),
  routes: fc.array(
    fc.record(
      { dst: anyCidr, gw: anyAddress.map(toAddressText), mtu: fc.nat(9000), table: fc.nat(300), scope: fc.nat(255) },
      { requiredKeys: ["dst"] },
    ),
    { maxLength: 4 },
  ),
  dns: fc.option(fc.record({ nameservers: fc.array(anyAddress.map(toAddressText)) }), { nil: undefined }),
});

/** What a result keeps when it goes through an older version and comes back. */
function project(result: CniResult, version: CniVersion): CniResult {
  const strip = <T extends object>(entry: T, fields: readonly string[]): T =>
    Object.fromEntries(Object.entries(entry).filter(([field]) => !fields.includes(field))) as T;
  if (version === "1.1.0") return result;
  const interfaces = result.interfaces.map((entry) => strip(entry, ["mtu", "socketPath", "pciID"]));
  const routes = result.routes.map((route) => strip(route, ["mtu", "advmss", "priority", "table", "scope"]));
  if (isAtLeast(version, "0.3.0")) return { ...result, interfaces, routes };
  const firsts = [".", ":"].flatMap((mark) => result.ips.filter(({ address }) => address.includes(mark)).slice(0, 1));
  const kept = [".", ":"].flatMap((mark) =>
    firsts.some(({ address }) => address.includes(mark)) ? routes.filter(({ dst }) => dst.includes(mark)) : [],
  );
  return { interfaces: [], ips: firsts.map((ip) => strip(ip, ["interface"])), routes: kept, dns: result.dns };
}

test("every version keeps what it has a place for", () => {
  fc.assert(
    fc.property(anyResult, fc.constantFrom(...SUPPORTED_VERSIONS), (result, version) => {
      const printed: unknown = JSON.parse(JSON.stringify(toResultDocument(result, version)));
      const expected = project(result, version);
      const back = parseResult(printed, "1.1.0");
      expect({ ...back, dns: back.dns ?? {} }).toEqual({ ...expected, dns: expected.dns ?? {} });
      expect(JSON.stringify(toResultDocument(back, version))).toBe(JSON.stringify(printed));
    }),
    { seed, numRuns: 2_000 },
  );
});

test("addressesOf() gives each address of a parsed result", () => {
  fc.assert(
    fc.property(anyResult, (result) => {
      const addresses = addressesOf(parseResult(toResultDocument(result, "1.1.0"), "1.1.0"));
      expect(addresses.map(toAddressText)).toEqual(result.ips.map(({ address }) => address.replace(/\/.*$/, "")));
    }),
    { seed },
  );
});
