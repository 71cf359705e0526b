import { expect, test } from "bun:test";
import { toDelegateConfig } from "./config.ts";

const network = (ipam: unknown): Record<string, unknown> => ({ cniVersion: "1.0.0", name: "net", type: "netplug", ipam });

test("a delegate other than host-local gets the config as it came", () => {
  const config = network({ type: "static", gateway: "10.0.0.1", subnet: "usePodCidr", routes: [{ dst: "0.0.0.0/0", gw: "10.0.0.1" }] });
  expect(toDelegateConfig("ADD", "static", config)).toBe(config);
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

test.each(["ADD", "CHECK"] as const)("a pod-CIDR word fails %s with code 107, whatever its case and place", (verb) => {
  const refused = (ipam: unknown): unknown => {
    try {
      return toDelegateConfig(verb, "host-local", network(ipam));
    } catch (thrown) {
      return thrown;
    }
  };
  expect(refused({ subnet: "USEPODCIDR" })).toMatchObject({
    code: 107,
    message:
      'resolve "ipam.subnet": got "USEPODCIDR", which needs the Kubernetes datastore to know the node\'s pod CIDR; write the CIDR itself',
  });
  expect(refused({ ranges: [[{ subnet: "10.0.0.0/24" }], [{ subnet: "usePodCidrIPv6" }]] })).toMatchObject({
    code: 107,
    message: expect.stringContaining('"ipam.ranges[1][0].subnet"'),
  });
});

test.each(["DEL", "GC", "STATUS"] as const)("%s puts any subnet in the place of a pod-CIDR word", (verb) => {
  const ipam = { subnet: "usepodcidr", ranges: [[{ subnet: "usePodCidr" }], [{ subnet: "UsePodCidrIPV6", rangeStart: "usePodCidr" }]] };
  expect(toDelegateConfig(verb, "host-local", network(ipam))).toEqual(
    network({ subnet: "0.0.0.0/0", ranges: [[{ subnet: "0.0.0.0/0" }], [{ subnet: "::/0", rangeStart: "usePodCidr" }]] }),
  );
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
