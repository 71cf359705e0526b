import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { Fd } from "../../src/linux/fd.ts";
import { HOST_MAC } from "../../src/endpoint/pod-link.ts";
import { addLink, addUsableLink, inspect } from "./support/add.ts";
import { type Place, NamespacedNode } from "./support/node.ts";
import { podLink } from "./support/pod-link.ts";

const openBefore = Fd.openCount();
afterAll(() => expect(Fd.openCount()).toBe(openBefore));

const FAMILIES = [
  ["IPv4", ["10.65.0.7"], ["10.65.0.8"]],
  ["IPv6", ["fd00:65::7"], ["fd00:65::8"]],
  ["both", ["10.65.0.7", "fd00:65::7"], ["10.65.0.8", "fd00:65::8"]],
] as const;

describe.each(FAMILIES)("two pods with %s", (_, addresses, otherAddresses) => {
  let node: NamespacedNode;
  let pod: Place;
  let other: Place;
  const link = podLink("ctr-a", { addresses, mtu: 1440, queues: 2 });
  const otherLink = podLink("ctr-b", { addresses: otherAddresses });
  const hasV4 = addresses.some((address) => !address.includes(":"));
  const hasV6 = addresses.some((address) => address.includes(":"));

  beforeAll(async () => {
    node = new NamespacedNode();
    pod = node.addPlace("a");
    other = node.addPlace("b");
    await addUsableLink(node, pod, link);
    await addUsableLink(node, other, otherLink);
  });
  afterAll(() => node[Symbol.dispose]());

  test("reach each other at once, though the host has no default route", () => {
    for (const address of otherAddresses) expect(node.pings(pod, address)).toBe(true);
    for (const address of addresses) expect(node.pings(other, address)).toBe(true);
  });

  test("have a veth pair with the wanted names, MACs, MTU, queues and owner, which sends", () => {
    const [host] = node.ipJson(node.host, `link show ${link.hostName}`);
    const [inside] = node.ipJson(pod, "link show eth0");
    expect(host).toMatchObject({
      ifalias: link.alias,
      address: HOST_MAC,
      mtu: 1440,
      num_tx_queues: 2,
      num_rx_queues: 2,
      operstate: "UP",
      link_index: inside?.["ifindex"],
    });
    expect(inside).toMatchObject({
      address: link.podMac,
      mtu: 1440,
      num_tx_queues: 2,
      num_rx_queues: 2,
      operstate: "UP",
      link_index: host?.["ifindex"],
    });
    expect(host?.["linkinfo"]).toMatchObject({ info_kind: "veth" });
  });

  test("have their addresses, usable at once", () => {
    const [shown] = node.ipJson(pod, "addr show eth0 scope global");
    const infos = ((shown?.["addr_info"] ?? []) as Record<string, unknown>[]).filter((info) => "local" in info);
    expect(infos.map((info) => `${info["local"]}/${info["prefixlen"]}`).toSorted()).toEqual(
      addresses.map((address) => `${address}/${address.includes(":") ? 128 : 32}`).toSorted(),
    );
    expect(infos.some((info) => info["tentative"] === true)).toBe(false);
    expect(node.ipJson(pod, "link show lo")[0]?.["flags"]).toContain("UP");
  });

  test("have default routes by our next hop, under our protocol, with permanent neighbours", () => {
    const v4 = node.ipJson(pod, "-4 route show protocol 110");
    const v6 = node.ipJson(pod, "-6 route show protocol 110");
    const neighbours = node.ipJson(pod, "neigh show nud permanent dev eth0").map((one) => `${one["dst"]} ${one["lladdr"]}`);
    if (hasV4) {
      expect(v4).toContainEqual(expect.objectContaining({ dst: "default", gateway: "169.254.1.1", dev: "eth0" }));
      expect(v4).toContainEqual(expect.objectContaining({ dst: "169.254.1.1", scope: "link", dev: "eth0" }));
      expect(neighbours).toContain(`169.254.1.1 ${HOST_MAC}`);
    }
    if (hasV6) {
      expect(v6).toContainEqual(expect.objectContaining({ dst: "default", gateway: "fe80::ecee:eeff:feee:eeee", dev: "eth0" }));
      expect(neighbours).toContain(`fe80::ecee:eeff:feee:eeee ${HOST_MAC}`);
    }
    expect([v4.length, v6.length, neighbours.length]).toEqual([hasV4 ? 2 : 0, hasV6 ? 1 : 0, Number(hasV4) + Number(hasV6)]);
  });

  test("have one route per address on the host, under our protocol", () => {
    const routes = [...node.ipJson(node.host, "-4 route show protocol 110"), ...node.ipJson(node.host, "-6 route show protocol 110")];
    expect(routes.map((route) => `${route["dst"]} ${route["dev"]}`).toSorted()).toEqual(
      [
        ...addresses.map((address) => `${address} ${link.hostName}`),
        ...otherAddresses.map((address) => `${address} ${otherLink.hostName}`),
      ].toSorted(),
    );
  });

  test("have the host side's settings of their families", () => {
    const name = link.hostName;
    const v4 = {
      [`ipv4/conf/${name}/route_localnet`]: "1",
      [`ipv4/neigh/${name}/proxy_delay`]: "0",
      [`ipv4/conf/${name}/proxy_arp`]: "1",
      [`ipv4/conf/${name}/forwarding`]: "1",
    };
    const v6 = {
      [`ipv6/conf/${name}/accept_dad`]: "0",
      [`ipv6/conf/${name}/disable_ipv6`]: "0",
      [`ipv6/conf/${name}/proxy_ndp`]: "1",
      [`ipv6/conf/${name}/forwarding`]: "1",
    };
    const wanted = { ...(hasV4 ? v4 : {}), ...(hasV6 ? v6 : {}), [`ipv6/conf/${name}/accept_ra`]: "0" };
    for (const [path, value] of Object.entries(wanted)) expect([path, node.sysctl(node.host, path)]).toEqual([path, value]);
    // What the other family alone needs is left as the kernel makes it.
    if (!hasV4) expect(node.sysctl(node.host, `ipv4/conf/${name}/proxy_arp`)).toBe("0");
    if (!hasV6) expect(node.sysctl(node.host, `ipv6/conf/${name}/proxy_ndp`)).toBe("0");
  });

  test("show no fault", () => {
    expect(inspect(node, pod, link)).toEqual([]);
    expect(inspect(node, other, otherLink)).toEqual([]);
  });
});

describe("createLink() and programLink()", () => {
  test.each([
    [true, "1"],
    [false, "0"],
  ])("with allowIpForwarding %p makes the pod's forwarding %p", (allowIpForwarding, value) => {
    using node = new NamespacedNode();
    const pod = node.addPlace("a");
    node.setSysctl(pod, "ipv4/ip_forward", allowIpForwarding ? "0" : "1");
    node.setSysctl(pod, "ipv6/conf/all/forwarding", allowIpForwarding ? "0" : "1");
    addLink(node, pod, podLink("ctr", { addresses: ["10.65.0.7", "fd00:65::7"], allowIpForwarding }));
    expect(node.sysctl(pod, "ipv4/ip_forward")).toBe(value);
    expect(node.sysctl(pod, "ipv6/conf/all/forwarding")).toBe(value);
  });

  test("brings IPv6 to a pod and a host that have it switched off for new interfaces", async () => {
    using node = new NamespacedNode();
    const pod = node.addPlace("a");
    for (const which of ["all", "default"]) node.setSysctl(pod, `ipv6/conf/${which}/disable_ipv6`, "1");
    node.setSysctl(node.host, "ipv6/conf/default/disable_ipv6", "1");
    // Without automatic link-local addresses, as some distributions have it.
    node.setSysctl(node.host, "ipv6/conf/default/addr_gen_mode", "1");
    const link = podLink("ctr", { addresses: ["fd00:65::7"] });
    await addUsableLink(node, pod, link);
    expect(inspect(node, pod, link)).toEqual([]);
    expect(node.pings(node.host, "fd00:65::7")).toBe(true);
    expect(node.pings(pod, "fe80::ecee:eeff:feee:eeee%eth0")).toBe(true);
  });

  test("installs the listed routes only, each once, and the next hop's own route not twice", () => {
    using node = new NamespacedNode();
    const pod = node.addPlace("a");
    const link = podLink("ctr", {
      addresses: ["10.65.0.7", "fd00:65::7"],
      routes: ["10.0.0.0/8", "10.0.0.0/8", "169.254.1.1/32", "fd00::/8"],
    });
    addLink(node, pod, link);
    expect(
      node
        .ipJson(pod, "-4 route show")
        .map((route) => route["dst"])
        .toSorted(),
    ).toEqual(["10.0.0.0/8", "169.254.1.1"]);
    expect(node.ipJson(pod, "-6 route show protocol 110").map((route) => route["dst"])).toEqual(["fd00::/8"]);
    expect(inspect(node, pod, link)).toEqual([]);
  });

  test("installs more routes than one batch holds", () => {
    using node = new NamespacedNode();
    const pod = node.addPlace("a");
    const routes = Array.from({ length: 600 }, (_, i) => `10.${100 + Math.floor(i / 256)}.${i % 256}.0/24`);
    addLink(node, pod, podLink("ctr", { routes }));
    expect(node.ipJson(pod, "-4 route show via 169.254.1.1").length).toBe(600);
  });

  test("takes several addresses of a family", async () => {
    using node = new NamespacedNode();
    const pod = node.addPlace("a");
    const link = podLink("ctr", { addresses: ["10.65.0.7", "10.65.0.9", "fd00:65::7", "fd00:65::9"] });
    await addUsableLink(node, pod, link);
    for (const address of ["10.65.0.7", "10.65.0.9", "fd00:65::7", "fd00:65::9"]) expect(node.pings(node.host, address)).toBe(true);
  });

  test("gives a pod a second interface", async () => {
    using node = new NamespacedNode();
    const pod = node.addPlace("a");
    const first = podLink("ctr");
    const second = podLink("ctr-net1", {
      podName: "net1",
      addresses: ["10.65.0.8"],
      routes: ["10.99.0.0/16"],
      podMac: "02:11:22:33:44:66",
    });
    await addUsableLink(node, pod, first);
    await addUsableLink(node, pod, second);
    expect(node.links(pod)).toEqual(["eth0", "net1"]);
    expect(node.pings(node.host, "10.65.0.7")).toBe(true);
    expect(inspect(node, pod, first)).toEqual([]);
    expect(inspect(node, pod, second)).toEqual([]);
    expect(node.ipJson(pod, "route get 10.99.0.1")[0]).toMatchObject({ dev: "net1" });
  });

  test("leaves the first interface's default routes the first choice when a second one has them too", async () => {
    using node = new NamespacedNode();
    const pod = node.addPlace("a");
    const first = podLink("ctr", { addresses: ["10.65.0.7", "fd00:65::7"] });
    const second = podLink("ctr-net1", { podName: "net1", addresses: ["10.65.0.8", "fd00:65::8"], podMac: "02:11:22:33:44:66" });
    await addUsableLink(node, pod, first);
    await addUsableLink(node, pod, second);
    expect(node.ipJson(pod, "route get 198.51.100.1")[0]).toMatchObject({ dev: "eth0" });
    expect(node.ipJson(pod, "-6 route get 2001:db8:1::1")[0]).toMatchObject({ dev: "eth0" });
    expect([inspect(node, pod, first), inspect(node, pod, second)]).toEqual([[], []]);
    node.ip(pod, "link del eth0");
    expect(node.pings(pod, "192.0.2.1")).toBe(true);
    expect(node.pings(pod, "2001:db8::1")).toBe(true);
  });
});
