/** A node that has routes to addresses which the datastore has free, as after the datastore was restored from a backup. */

import { afterEach, beforeEach, expect, test } from "bun:test";
import { join } from "node:path";
import { nodePlace, TestNetns } from "../support/node/netns.ts";
import type { CniJson } from "../support/programs/cni.ts";
import { share } from "../support/share.ts";
import type { Json } from "../support/programs/cni-call.ts";
import { TestNode } from "../support/node/test-node.ts";

const node = share(
  () => TestNode.start([]),
  (node) => node.createPool("two-blocks", { cidr: "10.65.0.0/29", blockSize: 30 }),
);
const ADDRESSES = Array.from({ length: 8 }, (_, i) => `10.65.0.${i}`);

let pods: AsyncDisposableStack;
let taken: string;
beforeEach(async () => {
  pods = new AsyncDisposableStack();
  taken = await attach();
});
afterEach(async () => {
  await pods.disposeAsync();
  expect(await node.addressesInUse()).toBe(0);
});

/** @returns the address */
async function attach(): Promise<string> {
  const pod = pods.use(new TestNetns());
  const containerID = node.newContainerID();
  pods.defer(() => node.del({ containerID, netns: pod.path }));
  const result = await node.add(pod, { containerID });
  return result.ips?.[0]?.address.replace("/32", "") ?? "";
}

const OTHER_TABLE = ["table", "100"] as const;

function addRoutes(addresses: readonly string[], ...where: readonly string[]): void {
  for (const address of addresses) addUntilEnd("route", `${address}/32`, "dev", "lo", ...where);
}

/** Until the test ends. */
function addUntilEnd(object: "address" | "route" | "rule", ...what: readonly string[]): void {
  nodePlace.must(["ip", object, "add", ...what]);
  pods.defer(() => void nodePlace.must(["ip", object, "del", ...what]));
}

test("a pod gets another address, of another block if the node's own has none, and the log says why", async () => {
  const isOfFirst = Number(taken.slice(-1)) < 4;
  const [own, other] = [ADDRESSES.slice(0, 4), ADDRESSES.slice(4)];
  addRoutes((isOfFirst ? own : other).filter((address) => address !== taken));
  expect(isOfFirst ? other : own).toContain(await attach());
  expect(await node.addressesInUse()).toBe(2);
  const warning = node.logLines().find(({ level }) => level === "WARNING");
  expect(warning).toMatchObject({
    msg: "the address is in use on this node, and allocated to nobody: take another one",
    reason: expect.stringMatching(/^add route "10\.65\.0\.\d\/32": EEXIST \(file exists\): interface "lo" has a route to it; /),
  });
});

test("a pod for which no other address is left fails with the route that is in the way", async () => {
  addRoutes(ADDRESSES.filter((address) => address !== taken));
  using pod = new TestNetns();
  const containerID = node.newContainerID();
  const reply = await node.call("ADD", { containerID, netns: pod.path });
  expect(reply.json).toMatchObject({
    code: 109,
    msg: expect.stringContaining('interface "lo" has a route to it; delete that interface, or the route, if nothing uses 10.65.0.'),
    // nobody has reserved any: who reads that looks for a reservation that there is not
    details: expect.stringMatching(/no address left: .* are reserved; addresses to which this node has a route count as reserved$/),
  });
  expect(await node.addressesInUse()).toBe(1);
  expect(pod.links().map(({ ifname }) => ifname)).toEqual(["lo"]);
  await node.del({ containerID, netns: pod.path });
});

test("a pod that asks for an address in use does not get another one", async () => {
  const asked = ADDRESSES.find((address) => address !== taken) ?? "";
  addRoutes([asked]);
  using pod = new TestNetns();
  const call = { containerID: node.newContainerID(), netns: pod.path, args: `IP=${asked}` };
  const reply = await node.call("ADD", call);
  expect(reply.json).toMatchObject({ code: 109, msg: expect.stringContaining(`if nothing uses ${asked} there`) });
  const logged = node.logLines().filter(({ containerID }) => containerID === call.containerID);
  expect(logged.map(({ level }) => level)).not.toContain("WARNING"); // none of another try
  expect(logged).not.toEqual([]);
  expect(await node.addressesInUse()).toBe(1);
  await node.del(call);
});

test("a route of another table takes no address from anybody", async () => {
  const isOfFirst = Number(taken.slice(-1)) < 4;
  const others = ADDRESSES.filter((address) => address !== taken);
  const free = others.find((address) => Number(address.slice(-1)) < 4 !== isOfFirst) ?? "";
  addRoutes(others.filter((address) => address !== free));
  addRoutes([free], ...OTHER_TABLE);
  expect(await attach()).toBe(free);
});

test("an address that a delegate gave is not replaced by another one", async () => {
  addRoutes(["10.66.0.2"]);
  using pod = new TestNetns();
  const ipam = { type: "host-local", subnet: "10.66.0.0/29", dataDir: join(node.folder, "host-local") };
  const call = { containerID: node.newContainerID(), netns: pod.path, config: node.config({ ipam }) };
  const reply = await node.call("ADD", call);
  expect(reply.json).toMatchObject({ code: 109, msg: expect.stringContaining("if nothing uses 10.66.0.2 there") });
  await node.del(call);
});

test("netplug-ipam gives no such address either, unless it is asked for", async () => {
  await node.createPool("fresh", { cidr: "10.67.0.0/29", blockSize: 30 });
  const config = node.config({ ipam: { ipv4_pools: ["fresh"] } });
  const add = async (args = ""): Promise<string> => {
    const call = { containerID: node.newContainerID(), plugin: "netplug-ipam", config, args };
    pods.defer(() => node.del(call));
    const { json } = await node.call("ADD", { ...call, netns: pods.use(new TestNetns()).path });
    return json?.ips?.[0]?.address.replace("/30", "") ?? "";
  };
  const first = await add();
  const blocks = [0, 4].map((start) => ADDRESSES.slice(start, start + 4).map((address) => address.replace("10.65", "10.67")));
  const own = blocks.find((addresses) => addresses.includes(first)) ?? [];
  const routed = own.filter((address) => address !== first);
  addRoutes(routed);
  expect(own).not.toContain(await add());
  expect(await node.addressesInUse()).toBe(3);
  expect(await add(`IP=${routed[0]}`)).toBe(routed[0] ?? "");
});

test("netplug-ipam gives one that has a route of another table alone, also where the node uses that", async () => {
  const only = "10.69.0.7";
  await node.createPool("single", { cidr: `${only}/32`, blockSize: 32 });
  addRoutes([only], ...OTHER_TABLE);
  addUntilEnd("rule", "to", `${only}/32`, "lookup", "100");
  const call = { containerID: node.newContainerID(), plugin: "netplug-ipam", config: node.config({ ipam: { ipv4_pools: ["single"] } }) };
  pods.defer(() => node.del(call));
  const { json } = await node.call("ADD", { ...call, netns: pods.use(new TestNetns()).path });
  expect(json?.ips?.map(({ address }) => address)).toEqual([`${only}/32`]);
});

test.each([
  ["IPv4", "10.76.0.7", 32, ["192.0.2.1", "192.0.2.2"], ["192.0.2.9/24"]],
  ["IPv6", "fd76::7", 128, ["2001:db8:76::1", "2001:db8:76::2"], ["2001:db8:76::9/64", "nodad"]],
] as const)(
  "netplug-ipam gives no %s address to which the node has a route by several gateways",
  async (family, only, length, hops, own) => {
    addBridge("npgtesthops", ...own);
    const pool = `hops-${length}`;
    await node.createPool(pool, { cidr: `${only}/${length}`, blockSize: length });
    nodePlace.must(["ip", "route", "add", `${only}/${length}`, ...hops.flatMap((hop) => ["nexthop", "via", hop, "dev", "npgtesthops"])]);
    const ipam = { assign_ipv4: `${family === "IPv4"}`, assign_ipv6: `${family === "IPv6"}`, ipv4_pools: [pool], ipv6_pools: [pool] };
    const call = { containerID: node.newContainerID(), plugin: "netplug-ipam", config: node.config({ ipam }) };
    pods.defer(() => node.del(call));
    const { json } = await node.call("ADD", { ...call, netns: pods.use(new TestNetns()).path });
    expect(json).toMatchObject({ code: 109, msg: expect.stringContaining('interface "npgtesthops" has a route to it') });
  },
);

test.each([
  ["IPv4", "blackhole", "10.78.0.7", 32, "another route to it exists"],
  ["IPv4", "unreachable", "10.78.0.8", 32, "another route to it exists"],
  ["IPv6", "prohibit", "fd78::7", 128, 'interface "lo" has a route to it'],
] as const)("netplug-ipam gives no %s address to which the node has a route of type %s", async (family, type, only, length, why) => {
  const pool = `nowhere-${type}`;
  await node.createPool(pool, { cidr: `${only}/${length}`, blockSize: length });
  addUntilEnd("route", type, `${only}/${length}`);
  const ipam = { assign_ipv4: `${family === "IPv4"}`, assign_ipv6: `${family === "IPv6"}`, ipv4_pools: [pool], ipv6_pools: [pool] };
  const call = { containerID: node.newContainerID(), plugin: "netplug-ipam", config: node.config({ ipam }) };
  pods.defer(() => node.del(call));
  const { json } = await node.call("ADD", { ...call, netns: pods.use(new TestNetns()).path });
  expect(json).toMatchObject({ code: 109, msg: expect.stringContaining(why) });
});

test("netplug-ipam gives one of many to which the node has a route that leads nowhere", async () => {
  await node.createPool("node-blocks", { cidr: "10.79.0.0/30", blockSize: 30 });
  addUntilEnd("route", "blackhole", "10.79.0.0/30");
  const call = {
    containerID: node.newContainerID(),
    plugin: "netplug-ipam",
    config: node.config({ ipam: { ipv4_pools: ["node-blocks"] } }),
  };
  pods.defer(() => node.del(call));
  const { json } = await node.call("ADD", { ...call, netns: pods.use(new TestNetns()).path });
  expect(json?.ips).toHaveLength(1);
});

const FAMILIES = [
  ["IPv4", "10.70.0.", 30],
  ["IPv6", "fd70::", 126],
] as const;

/** A pool of four addresses, of which the node has the first three itself until the test ends. */
async function poolWithNode(family: string, base: string, blockSize: number): Promise<{ readonly config: Json; readonly free: string }> {
  const pool = `with-node-${blockSize}`;
  const known = await node.ctl(["get", "ippools", "-o", "name"]);
  if (!known.includes(pool)) await node.createPool(pool, { cidr: `${base}0/${blockSize}`, blockSize });
  for (const last of [0, 1, 2]) addUntilEnd("address", `${base}${last}/${blockSize + 2}`, "dev", "lo");
  const ipam = { assign_ipv4: `${family === "IPv4"}`, assign_ipv6: `${family === "IPv6"}`, ipv4_pools: [pool], ipv6_pools: [pool] };
  return { config: node.config({ ipam }), free: `${base}3` };
}

for (const plugin of ["netplug", "netplug-ipam"]) {
  test.each(FAMILIES)(`${plugin} gives no %s address that the node has itself`, async (family, base, blockSize) => {
    const { config, free } = await poolWithNode(family, base, blockSize);
    const call = { containerID: node.newContainerID(), plugin, config };
    pods.defer(() => node.del(call));
    const { json } = await node.call("ADD", { ...call, netns: pods.use(new TestNetns()).path });
    expect(json?.ips?.map(({ address }) => address.replace(/\/\d+$/, ""))).toEqual([free]);
  });
}

test.each(["netplug", "netplug-ipam"].flatMap((plugin) => FAMILIES.map((family) => [plugin, ...family] as const)))(
  "with %s a pod that asks for an %s address of the node does not start, and leaves nothing",
  async (plugin, family, base, blockSize) => {
    const { config } = await poolWithNode(family, base, blockSize);
    using pod = new TestNetns();
    const call = { containerID: node.newContainerID(), plugin, netns: pod.path, config, args: `IP=${base}1` };
    const { json } = await node.call("ADD", call);
    const reason = `it is the node's own, of interface "lo", so no pod can have it; reserve it by an IPReservation`;
    expect(json).toMatchObject({
      code: 109,
      msg: `use address "${base}1/${blockSize + 2}": EEXIST (file exists): ${reason}; IP of CNI_ARGS names it`,
    });
    expect([await node.addressesInUse(), pod.links().map(({ ifname }) => ifname)]).toEqual([1, ["lo"]]);
    await node.del(call);
  },
);

test.each([
  ["leads elsewhere", "fd75::", ["fd75::/128", "dev", "npgteststale"], "npgteststale"],
  ["leads nowhere", "fd77::", ["blackhole", "fd77::/128"], "lo"],
] as const)("a pod gets no IPv6 address to which a better route %s", async (_where, base, route, user) => {
  nodePlace.must(["ip", "link", "add", "npgteststale", "type", "bridge"]);
  pods.defer(() => void nodePlace.must(["ip", "link", "del", "npgteststale"]));
  nodePlace.must(["ip", "link", "set", "npgteststale", "up"]);
  const pool = `better-route-${user}`;
  await node.createPool(pool, { cidr: `${base}/127`, blockSize: 127 });
  const config = node.config({ ipam: { assign_ipv4: "false", assign_ipv6: "true", ipv6_pools: [pool] } });
  addUntilEnd("route", ...route, "metric", "512");
  const add = async () => {
    const call = { containerID: node.newContainerID(), netns: pods.use(new TestNetns()).path, config };
    pods.defer(() => node.del(call));
    return (await node.call("ADD", call)).json;
  };
  expect((await add())?.ips?.map(({ address }) => address)).toEqual([`${base}1/128`]);
  expect(await add()).toMatchObject({ code: 109, msg: expect.stringContaining(`interface "${user}" has a route to it`) });
});

/** Of the node, with an address, until the test ends. */
function addBridge(name: string, ...address: readonly string[]): void {
  nodePlace.must(["ip", "link", "add", name, "type", "bridge"]);
  pods.defer(() => void nodePlace.must(["ip", "link", "del", name]));
  nodePlace.must(["ip", "link", "set", name, "up"]);
  nodePlace.must(["sysctl", "-qw", `net.ipv6.conf.${name}.forwarding=1`]);
  nodePlace.must(["ip", "address", "add", ...address, "dev", name]);
}

test.each([
  ["IPv4 broadcast", 4, "10.71.0.248/29", ["10.71.0.249/29", "broadcast", "10.71.0.255"], "10.71.0.255"],
  ["IPv6 anycast", 6, "fd71::/125", ["fd71::1/125", "nodad"], "fd71::"],
] as const)("no pod has an address that is the %s address of the node's network", async (_kind, family, cidr, address, asked) => {
  addBridge(`npgtest${family}`, ...address);
  await node.createPool(`own-network-${family}`, { cidr, blockSize: family === 4 ? 29 : 125 });
  const call = { containerID: node.newContainerID(), netns: pods.use(new TestNetns()).path, args: `IP=${asked}` };
  const { json } = await node.call("ADD", call);
  pods.defer(() => node.del(call));
  expect(json).toMatchObject({ code: 109, msg: expect.stringContaining(`it is the node's own, of interface`) });
});

/** A network that the node is in by a bridge, and two pods' addresses: the first is the gateway of a route, until the test ends. */
async function poolWithGateway(
  family: string,
  base: string,
  blockSize: number,
): Promise<{ readonly gateway: string; readonly config: Json }> {
  const link = "npgtestlan";
  const [gateway, own] = [`${base}2`, `${base}5`];
  addBridge(link, `${own}/${blockSize - 2}`, ...(family === "IPv6" ? ["nodad"] : []));
  const [other, to] = family === "IPv4" ? ["192.0.2.0/24", "198.51.100.0/24"] : ["2001:db8:50::/48", "2001:db8:51::/48"];
  nodePlace.must(["ip", "route", "add", other, "via", `${base}4`, "dev", link]);
  nodePlace.must(["ip", "route", "add", to, "via", gateway, "dev", link]);
  const pool = `own-lan-${blockSize}`;
  const known = await node.ctl(["get", "ippools", "-o", "name"]);
  if (!known.includes(pool)) await node.createPool(pool, { cidr: `${gateway}/${blockSize}`, blockSize });
  const ipam = { assign_ipv4: `${family === "IPv4"}`, assign_ipv6: `${family === "IPv6"}`, ipv4_pools: [pool], ipv6_pools: [pool] };
  return { config: node.config({ ipam }), gateway };
}

const LANS = ["netplug", "netplug-ipam"].flatMap((plugin) => [
  [plugin, "IPv4", "10.72.0.", 31, "198.51.100.0/24"] as const,
  [plugin, "IPv6", "fd72::", 127, "2001:db8:51::/48"] as const,
]);

test.each(LANS)(
  "%s gives no %s address that is a gateway of the node's, unless it is asked for",
  async (plugin, family, base, blockSize, to) => {
    const { config, gateway } = await poolWithGateway(family, base, blockSize);
    const add = async (args = ""): Promise<CniJson | undefined> => {
      const call = { containerID: node.newContainerID(), plugin, config, args };
      pods.defer(() => node.del(call));
      return (await node.call("ADD", { ...call, netns: pods.use(new TestNetns()).path })).json;
    };
    expect((await add())?.ips?.[0]?.address.replace(/\/\d+$/, "")).toBe(`${base}3`);
    const last = await add();
    expect(last).toMatchObject({
      code: 109,
      msg: expect.stringContaining(
        `it is the gateway of the node's route to "${to}", so no pod is given it; reserve it by an IPReservation`,
      ),
    });
    expect((await add(`IP=${gateway}`))?.ips?.[0]?.address.replace(/\/\d+$/, "")).toBe(gateway);
  },
);

test.each(
  ["netplug", "netplug-ipam"].flatMap((plugin) => [
    [
      plugin,
      "on the link by its own route",
      1,
      "10.73.1.9/32",
      ["10.73.0.0/16", "via", "10.73.1.2", "dev", "npgtestlan1", "onlink"],
    ] as const,
    [
      plugin,
      "of an interface that is not the first choice",
      2,
      "10.73.2.9/28",
      ["198.51.100.0/24", "via", "10.73.2.2", "dev", "npgtestlan2"],
    ] as const,
  ]),
)("%s gives no address of a gateway that is %s", async (plugin, _how, number, address, route) => {
  addBridge("npgtestlan0", `10.73.${number}.8/${address.split("/")[1]}`);
  addBridge(`npgtestlan${number}`, address);
  nodePlace.must(["ip", "route", "add", ...route]);
  const pool = `gateway-${number}`;
  if (!(await node.ctl(["get", "ippools", "-o", "name"])).includes(pool))
    await node.createPool(pool, { cidr: `10.73.${number}.2/32`, blockSize: 32 });
  const call = { containerID: node.newContainerID(), plugin, config: node.config({ ipam: { ipv4_pools: [pool] } }) };
  pods.defer(() => node.del(call));
  const { json } = await node.call("ADD", { ...call, netns: pods.use(new TestNetns()).path });
  expect(json).toMatchObject({ code: 109, msg: expect.stringContaining("it is the gateway of the node's route to") });
});

test("a repeated ADD keeps an address that has become a gateway since, whatever its interface lacks", async () => {
  addBridge("npgtestlan", "10.74.0.9/28");
  await node.createPool("later-gateway", { cidr: "10.74.0.2/32", blockSize: 32 });
  const config = node.config({ ipam: { ipv4_pools: ["later-gateway"] } });
  const pod = pods.use(new TestNetns());
  const containerID = node.newContainerID();
  pods.defer(() => node.del({ containerID, config }));
  const first = await node.add(pod, { containerID, config });
  nodePlace.must(["ip", "route", "add", "198.51.100.0/24", "via", "10.74.0.2", "dev", "npgtestlan", "onlink"]);
  pod.must(["ip", "route", "del", "default"]);
  expect(await node.add(pod, { containerID, config })).toEqual(first);
});

test.each([
  ["another family, whose address is in use, and another one is free", false, "fd80::", 127, { ips: [{ address: "fd80::1/127" }] }, 3],
  ["another family, whose address is in use, and no other one is free", false, "fd81::", 128, { code: 109 }, 2],
  ["a second family, whose address is in use, and another one is free", true, "fd82::", 127, { ips: [{}, { address: "fd82::1/127" }] }, 3],
  ["a second family, whose address is in use, and no other one is free", true, "fd83::", 128, { code: 109 }, 2],
] as const)("netplug-ipam keeps what an attachment has that asks again, for %s", async (_what, isBoth, base, length, reply, inUse) => {
  const pool = `${isBoth ? "second" : "other"}-family-${length}`;
  await node.createPool(pool, { cidr: `${base}/${length}`, blockSize: length });
  addUntilEnd("route", `${base}/128`, "dev", "lo");
  const call = { containerID: node.newContainerID(), plugin: "netplug-ipam", netns: pods.use(new TestNetns()).path };
  pods.defer(() => node.del(call));
  const first = await node.call("ADD", { ...call, config: node.config() });
  const ipam = { assign_ipv4: `${isBoth}`, assign_ipv6: "true", ipv6_pools: [pool] };
  expect((await node.call("ADD", { ...call, config: node.config({ ipam }) })).json).toMatchObject(reply);
  expect(await node.addressesInUse()).toBe(inUse);
  expect((await node.call("ADD", { ...call, config: node.config() })).json).toEqual(first.json);
});

test("of many pods at once each gets another one, whoever serves it", async () => {
  await node.createPool("crowded", { cidr: "10.68.0.0/26", blockSize: 26 });
  addRoutes(Array.from({ length: 32 }, (_, i) => `10.68.0.${2 * i}`));
  const config = node.config({ ipam: { ipv4_pools: ["crowded"] } });
  const replies = await Promise.all(
    Array.from({ length: 16 }, async () => {
      const call = { containerID: node.newContainerID(), netns: pods.use(new TestNetns()).path, config };
      pods.defer(() => node.del(call));
      return await node.call("ADD", call);
    }),
  );
  expect(replies.map(({ status, stdout }) => (status === 0 ? "" : stdout)).join("")).toBe("");
});
