import { describe, expect, test } from "bun:test";
import { toDelegateConfig } from "./config.ts";
import { mayUsePodCidr } from "../pod/facts.ts";
import { podCidrFamilyOf } from "./pod-cidr-keywords.ts";

const network = (ipam: unknown): Record<string, unknown> => ({ cniVersion: "1.0.0", name: "net", type: "netplug", ipam });

test("a delegate other than host-local gets the config as it came", () => {
  const config = network({ type: "static", gateway: "10.0.0.1", subnet: "usePodCidr", routes: [{ dst: "0.0.0.0/0", gw: "10.0.0.1" }] });
  expect(toDelegateConfig("ADD", "static", config)).toBe(config);
});

test("static is asked for a CHECK without its gateways, which our result does not have", () => {
  const addresses = [{ address: "10.0.0.5/24", gateway: "10.0.0.1" }, { address: "fd00::5/64" }, "no object"];
  const config = network({ type: "static", addresses, dns: {} });
  const checked = network({ type: "static", addresses: [{ address: "10.0.0.5/24" }, { address: "fd00::5/64" }, "no object"], dns: {} });
  expect(toDelegateConfig("CHECK", "static", config)).toEqual(checked);
  for (const verb of ["ADD", "DEL", "STATUS", "GC"] as const) expect(toDelegateConfig(verb, "static", config)).toBe(config);
  for (const odd of [network({ type: "static", addresses: 5 }), network("static")])
    expect(toDelegateConfig("CHECK", "static", odd)).toBe(odd);
});

test("host-local sees no gateway in any range, wherever a range may stand, and no next hop in a route", () => {
  const config = {
    ...network({
      type: "host-local",
      subnet: "10.1.0.0/24",
      gateway: "10.1.0.254",
      ranges: [[{ subnet: "10.2.0.0/24", gateway: "10.2.0.9", rangeStart: "10.2.0.7" }], [{ subnet: "fd00::/64", gateway: "nonsense" }]],
      routes: [{ dst: "10.9.0.0/16", gw: "nonsense" }, "no object"],
      dataDir: "/somewhere",
    }),
    runtimeConfig: { ipRanges: [[{ subnet: "10.3.0.0/24", gateway: "10.3.0.1" }]], mac: "02:00:00:00:00:01" },
  };
  const before = JSON.stringify(config);
  expect(toDelegateConfig("ADD", "host-local", config)).toEqual({
    ...network({
      type: "host-local",
      subnet: "10.1.0.0/24",
      ranges: [[{ subnet: "10.2.0.0/24", rangeStart: "10.2.0.7" }], [{ subnet: "fd00::/64" }]],
      routes: [{ dst: "10.9.0.0/16" }, "no object"],
      dataDir: "/somewhere",
    }),
    runtimeConfig: { ipRanges: [[{ subnet: "10.3.0.0/24" }]], mac: "02:00:00:00:00:01" },
  });
  expect(JSON.stringify(config)).toBe(before);
});

describe("pod-CIDR keywords", () => {
  test.each(["DEL", "CHECK", "GC", "STATUS"] as const)(
    "become any subnet for %s, whatever their case, and nothing else stands beside it",
    (verb) => {
      const stripped = (ipam: Record<string, unknown>): unknown => toDelegateConfig(verb, "host-local", network(ipam))["ipam"];
      const any4 = [{ subnet: "0.0.0.0/0" }];
      expect(stripped({ subnet: "usepodcidr", dataDir: "/d" })).toEqual({ ranges: [any4], dataDir: "/d" });
      expect(stripped({ subnet: "usePodCidr", rangeStart: "10.1.0.1", rangeEnd: "usePodCidr", gateway: "x" })).toEqual({ ranges: [any4] });
      const ranges = [[{ subnet: "usePodCidr" }, { subnet: "10.0.0.0/24" }], [{ subnet: "UsePodCidrIPV6" }], [{ subnet: "USEPODCIDR" }]];
      expect(stripped({ subnet: "10.0.0.0/8", ranges })).toEqual({ ranges: [any4, [{ subnet: "::/0" }]] });
      expect(stripped({ subnet: "10.1.0.0/24" })).toEqual({ subnet: "10.1.0.0/24" });
    },
  );

  test("leave no range of the runtime that could overlap the subnet", () => {
    const config = { ...network({ subnet: "usePodCidr" }), runtimeConfig: { ipRanges: [[{ subnet: "10.3.0.0/24" }]], mac: "m" } };
    expect(toDelegateConfig("CHECK", "host-local", config)).toMatchObject({ runtimeConfig: { mac: "m" } });
    for (const verb of ["CHECK", "DEL"] as const) {
      expect(toDelegateConfig(verb, "host-local", config)).not.toHaveProperty("runtimeConfig.ipRanges");
    }
  });

  test("are looked for in the config of host-local only, in any case", () => {
    expect(mayUsePodCidr("host-local", network({ ranges: [[{ subnet: "USEPODCIDRipv6" }]] }))).toBe(true);
    expect(mayUsePodCidr("host-local", network({ subnet: "usePodCidrs" }))).toBe(false);
    expect(mayUsePodCidr("host-local", {})).toBe(false);
    expect(mayUsePodCidr("static", network({ subnet: "usePodCidr" }))).toBe(false);
    expect([podCidrFamilyOf("usePODcidr"), podCidrFamilyOf("usePodCidrIPv6"), podCidrFamilyOf("constructor"), podCidrFamilyOf(4)]).toEqual([
      4,
      6,
      undefined,
      undefined,
    ]);
  });
});

test.each(["DEL", "GC"] as const)("%s gets nothing in which a fault could keep host-local from removing", (verb) => {
  const stripped = (ipam: Record<string, unknown>): unknown =>
    toDelegateConfig(verb, "host-local", { ...network(ipam), args: 5, runtimeConfig: { ips: 5, ipRanges: 5 } });
  expect(stripped({ subnet: "10.1.0.0/24", dataDir: "/d", routes: 5 })).toEqual(network({ subnet: "10.1.0.0/24", dataDir: "/d" }));
  const any = network({ dataDir: "/d", ranges: [[{ subnet: "0.0.0.0/0" }]] });
  for (const bad of [{ ranges: 5 }, { ranges: [{}] }, { subnet: 5 }, { subnet: "10.1.0.0/24", rangeEnd: 5 }]) {
    expect(stripped({ dataDir: "/d", ...bad })).toEqual(any);
  }
});

test("what has not the shape of ranges is left for host-local to complain about", () => {
  for (const ipam of [
    undefined,
    null,
    "text",
    [],
    { ranges: "text" },
    { ranges: ["text", [null, 1]] },
    { subnet: 7 },
    { subnet: "constructor" },
  ]) {
    expect(toDelegateConfig("ADD", "host-local", network(ipam))).toEqual(network(ipam));
  }
});
