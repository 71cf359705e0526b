/** What an ADD makes, looked at with the tools of the kernel and of the datastore. */

import { describe, expect, test } from "bun:test";
import { hostInterfaceName } from "../support/programs/cni.ts";
import { nodePlace, TestNetns } from "../support/node/netns.ts";
import { share } from "../support/share.ts";
import { TestNode } from "../support/node/test-node.ts";

const node = share(() => TestNode.start(["10.65.0.0/24", "fd65::/112"]));

const dualStack = (extra: Record<string, unknown> = {}) => node.config({ ipam: { assign_ipv6: "true" }, ...extra });
const podArgs = (pod: string): string => `IgnoreUnknown=1;K8S_POD_NAMESPACE=default;K8S_POD_NAME=${pod}`;

test("the pod has its interface, addresses, routes, permanent neighbours and a running lo", async () => {
  using pod = new TestNetns();
  const containerID = node.newContainerID();
  const result = await node.add(pod, { containerID, config: dualStack() });
  const [v4 = "", v6 = ""] = result.ips?.map(({ address }) => address) ?? [];

  expect(pod.addresses("eth0")).toEqual([v4, v6]);
  const eth0 = pod.link("eth0");
  expect(eth0).toMatchObject({ mtu: 1500, linkinfo: { info_kind: "veth" }, operstate: "UP" });
  expect(eth0?.address).toBe(result.interfaces?.[1]?.mac);
  expect(pod.link("lo")?.flags).toContain("UP");

  expect(pod.routes(4)).toMatchObject([
    { dst: "default", gateway: "169.254.1.1", dev: "eth0", protocol: "110" },
    { dst: "169.254.1.1", dev: "eth0", scope: "link" },
  ]);
  const linkLocal = "fe80::ecee:eeff:feee:eeee";
  expect(pod.routes(6)).toContainEqual(expect.objectContaining({ dst: "default", gateway: linkLocal, dev: "eth0", protocol: "110" }));
  expect(result.routes).toEqual([
    { dst: "0.0.0.0/0", gw: "169.254.1.1" },
    { dst: "::/0", gw: linkLocal },
  ]);
  for (const dst of ["169.254.1.1", linkLocal]) {
    expect(pod.neighbours()).toContainEqual(
      expect.objectContaining({ dst, dev: "eth0", lladdr: "ee:ee:ee:ee:ee:ee", state: ["PERMANENT"] }),
    );
  }
  const shown = pod.must(["ip", "-6", "-j", "address", "show", "dev", "eth0"]);
  expect(shown).not.toContain('"tentative"');
  await node.del({ containerID, netns: pod.path, config: dualStack() });
});

test("the node has the host side with our alias, the addresses' host routes and the interface's sysctls", async () => {
  using pod = new TestNetns();
  const containerID = node.newContainerID();
  const result = await node.add(pod, { containerID, config: dualStack(), args: podArgs("web") });
  const name = hostInterfaceName({ namespace: "default", pod: "web" });
  expect(result.interfaces?.[0]?.name).toBe(name);

  const link = nodePlace.link(name);
  expect(link).toMatchObject({
    address: "ee:ee:ee:ee:ee:ee",
    operstate: "UP",
    ifalias: `netplug:test-net:${containerID}:eth0`,
  });
  const [v4 = "", v6 = ""] = result.ips?.map(({ address }) => address.split("/")[0] ?? "") ?? [];
  expect(nodePlace.routes(4)).toContainEqual(expect.objectContaining({ dst: v4, dev: name, protocol: "110", scope: "link" }));
  expect(nodePlace.routes(6)).toContainEqual(expect.objectContaining({ dst: v6, dev: name, protocol: "110" }));
  expect(nodePlace.sysctl(`ipv4/conf/${name}/forwarding`)).toBe("1");
  expect(nodePlace.sysctl(`ipv6/conf/${name}/forwarding`)).toBe("1");
  expect(pod.sysctl("ipv4/conf/all/forwarding")).toBe("0");
  await node.del({ containerID, netns: pod.path, config: dualStack() });
});

test("MTU, queues, MAC and forwarding are as the config asks", async () => {
  using pod = new TestNetns();
  const containerID = node.newContainerID();
  const config = dualStack({
    mtu: 1400,
    num_queues: 2,
    container_settings: { allow_ip_forwarding: true },
    runtimeConfig: { mac: "02:00:5e:10:00:01" },
  });
  const result = await node.add(pod, { containerID, config });
  expect(pod.link("eth0")).toMatchObject({ mtu: 1400, address: "02:00:5e:10:00:01", num_tx_queues: 2, num_rx_queues: 2 });
  expect(nodePlace.link(result.interfaces?.[0]?.name ?? "")).toMatchObject({ mtu: 1400 });
  expect(pod.sysctl("ipv4/ip_forward")).toBe("1");
  expect(pod.sysctl("ipv6/conf/all/forwarding")).toBe("1");
  await node.del({ containerID, netns: pod.path, config });
});

test("a MAC address is asked for in CNI_ARGS, too; that of runtimeConfig ranks before it", async () => {
  for (const [mac, extra] of [
    ["02:00:5e:10:00:02", {}],
    ["02:00:5e:10:00:01", { runtimeConfig: { mac: "02:00:5e:10:00:01" } }],
  ] as const) {
    using pod = new TestNetns();
    const call = { containerID: node.newContainerID(), config: dualStack(extra), args: "MAC=02:00:5e:10:00:02" };
    const result = await node.add(pod, call);
    expect([pod.link("eth0")?.address, result.interfaces?.[1]?.mac]).toEqual([mac, mac]);
    const check = await node.call("CHECK", { ...call, netns: pod.path, config: { ...call.config, prevResult: result } });
    expect([check.status, check.stdout]).toEqual([0, ""]);
    await node.del({ ...call, netns: pod.path });
  }
});

test("two pods reach each other, in both families", async () => {
  using web = new TestNetns();
  using client = new TestNetns();
  const [webID, clientID] = [node.newContainerID(), node.newContainerID()];
  const target = await node.add(web, { containerID: webID, config: dualStack() });
  await node.add(client, { containerID: clientID, config: dualStack() });
  // IPv6 forwards per node, not per interface
  const before = nodePlace.sysctl("ipv6/conf/all/forwarding");
  nodePlace.must(["sysctl", "-qw", "net.ipv6.conf.all.forwarding=1"]);
  try {
    for (const { address } of target.ips ?? []) {
      const ping = client.run(["ping", "-c", "1", "-W", "2", address.split("/")[0] ?? ""]);
      expect([address, ping.status, ping.stderr]).toEqual([address, 0, ""]);
    }
  } finally {
    nodePlace.must(["sysctl", "-qw", `net.ipv6.conf.all.forwarding=${before}`]);
  }
  await node.del({ containerID: webID, netns: web.path, config: dualStack() });
  await node.del({ containerID: clientID, netns: client.path, config: dualStack() });
});

describe("routes of the config", () => {
  test("take the place of the default routes; gw is ignored, the family that the pod lacks is skipped", async () => {
    using pod = new TestNetns();
    const containerID = node.newContainerID();
    const config = node.config({ ipam: { routes: [{ dst: "10.99.0.0/16", gw: "10.0.0.1" }, { dst: "fd99::/64" }] } });
    const result = await node.add(pod, { containerID, config });
    expect(result.routes).toEqual([{ dst: "10.99.0.0/16", gw: "169.254.1.1" }]);
    expect(pod.routes(4).map(({ dst, gateway }) => [dst, gateway])).toEqual([
      ["10.99.0.0/16", "169.254.1.1"],
      ["169.254.1.1", undefined],
    ]);
    await node.del({ containerID, netns: pod.path, config });
  });

  test("an empty list means no routes", async () => {
    using pod = new TestNetns();
    const containerID = node.newContainerID();
    const config = node.config({ ipam: { routes: [] } });
    const result = await node.add(pod, { containerID, config });
    expect(result.routes ?? []).toEqual([]);
    expect(pod.routes(4).some(({ dst }) => dst === "default")).toBe(false);
    await node.del({ containerID, netns: pod.path, config });
  });
});

describe("repetition", () => {
  test("an ADD again of a complete attachment keeps interface and addresses, and prints the same", async () => {
    using pod = new TestNetns();
    const containerID = node.newContainerID();
    const first = await node.call("ADD", { containerID, netns: pod.path, config: dualStack() });
    const ifindex = pod.link("eth0")?.ifindex;
    const second = await node.call("ADD", { containerID, netns: pod.path, config: dualStack() });
    expect([second.status, second.stdout]).toEqual([0, first.stdout]);
    expect(pod.link("eth0")?.ifindex).toBe(ifindex ?? 0);
    expect(await node.addressesInUse()).toBe(2);
    await node.del({ containerID, netns: pod.path, config: dualStack() });
  });

  test("an ADD again rebuilds an incomplete interface with the same addresses", async () => {
    using pod = new TestNetns();
    const containerID = node.newContainerID();
    const first = await node.add(pod, { containerID, config: dualStack() });
    pod.must(["ip", "route", "del", "default"]);
    pod.must(["ip", "address", "flush", "dev", "eth0"]);
    const second = await node.add(pod, { containerID, config: dualStack() });
    expect(second.ips).toEqual(first.ips ?? []);
    expect(pod.addresses("eth0")).toEqual(first.ips?.map(({ address }) => address) ?? []);
    expect(pod.routes(4).some(({ dst }) => dst === "default")).toBe(true);
    await node.del({ containerID, netns: pod.path, config: dualStack() });
  });

  test("an ADD again makes an interface anew whose host side somebody has renamed", async () => {
    using pod = new TestNetns();
    const containerID = node.newContainerID();
    const first = await node.add(pod, { containerID });
    const name = node.hostSide(containerID);
    nodePlace.must(["ip", "link", "set", name, "down"]);
    nodePlace.must(["ip", "link", "set", name, "name", "renamed0"]);
    expect(await node.add(pod, { containerID })).toEqual(first);
    expect([nodePlace.link("renamed0"), nodePlace.link(name)?.operstate]).toEqual([undefined, "UP"]);
    const dst = first.ips?.[0]?.address.replace("/32", "") ?? "";
    expect(nodePlace.routes(4)).toContainEqual(expect.objectContaining({ dst, dev: name }));
    await node.del({ containerID, netns: pod.path });
  });

  test("a new container of the same pod takes over, and the late DEL of the old one keeps it intact", async () => {
    using oldPod = new TestNetns();
    using newPod = new TestNetns();
    const [oldID, newID] = [node.newContainerID(), node.newContainerID()];
    const call = { config: node.config(), args: podArgs("again") };
    await node.add(oldPod, { containerID: oldID, ...call });
    const result = await node.add(newPod, { containerID: newID, ...call });
    await node.del({ containerID: oldID, netns: oldPod.path, ...call });

    const name = hostInterfaceName({ namespace: "default", pod: "again" });
    expect(nodePlace.link(name)?.ifalias).toBe(`netplug:test-net:${newID}:eth0`);
    expect(newPod.addresses("eth0")).toEqual(result.ips?.map(({ address }) => address) ?? []);
    expect(await node.addressesInUse()).toBe(1);
    expect(await node.endpoints()).toHaveLength(1);
    await node.del({ containerID: newID, netns: newPod.path, ...call });
    expect(await node.addressesInUse()).toBe(0);
    expect(await node.endpoints()).toHaveLength(0);
  });

  test("two interfaces of one pod are attachments of their own", async () => {
    using pod = new TestNetns();
    const containerID = node.newContainerID();
    const call = { containerID, args: podArgs("two"), config: node.config() };
    await node.add(pod, { ...call });
    await node.add(pod, { ...call, ifname: "net1", config: node.config({ ipam: { routes: [] } }) });
    expect(nodePlace.link(hostInterfaceName({ namespace: "default", pod: "two" }))).toBeDefined();
    expect(nodePlace.link(hostInterfaceName({ namespace: "default", pod: "two" }, "net1"))).toBeDefined();
    expect(await node.addressesInUse()).toBe(2);
    await node.del({ ...call, netns: pod.path, ifname: "net1" });
    expect(pod.link("eth0")).toBeDefined();
    await node.del({ ...call, netns: pod.path });
    expect(await node.addressesInUse()).toBe(0);
  });
});

test("an interface of the wanted name that is not ours is code 109, and stays", async () => {
  using pod = new TestNetns();
  pod.must(["ip", "link", "add", "eth0", "type", "bridge"]);
  const reply = await node.call("ADD", { containerID: node.newContainerID(), netns: pod.path });
  expect([reply.status, reply.json?.code]).toEqual([1, 109]);
  expect(reply.json?.msg).toContain('"eth0"');
  expect(pod.link("eth0")?.linkinfo?.info_kind).toBe("bridge");
  expect(await node.addressesInUse()).toBe(0);
  expect(await node.endpoints()).toHaveLength(0);
});

test("whose policy is not programmed in time is code 110 when the config says so; nothing stays, and the ledger tells where the time went", async () => {
  using pod = new TestNetns();
  const containerID = node.newContainerID();
  const config = dualStack({ policy_setup_timeout_seconds: 1, policy_setup_timeout_action: "fail" });
  const reply = await node.call("ADD", { containerID, netns: pod.path, config });
  expect([reply.status, reply.json?.code]).toEqual([1, 110]);
  expect([pod.link("eth0"), nodePlace.link(node.hostSide(containerID)), await node.addressesInUse()]).toEqual([undefined, undefined, 0]);
  const ledger = node.logLines().findLast(({ msg }) => msg === "ledger") as { readonly phaseMs: Readonly<Record<string, number>> };
  expect(ledger).toMatchObject({ containerID, verb: "ADD", code: 110, network: "test-net" });
  expect(ledger.phaseMs["policy"]).toBeGreaterThanOrEqual(1_000);
  for (const phase of ["start", "parse", "datastore", "plan", "kernel", "undo"]) expect(ledger.phaseMs[phase]).toBeGreaterThan(0);
});

test("prevResult of an earlier plugin is kept behind ours, with its indexes shifted and its dns", async () => {
  using pod = new TestNetns();
  const containerID = node.newContainerID();
  const prevResult = {
    cniVersion: "1.1.0",
    interfaces: [{ name: "other0", sandbox: pod.path }],
    ips: [{ address: "192.0.2.5/24", interface: 0 }],
    dns: { nameservers: ["192.0.2.1"] },
  };
  const result = await node.add(pod, { containerID, config: node.config({ prevResult }) });
  expect(result.interfaces?.map(({ name }) => name).slice(1)).toEqual(["eth0", "other0"]);
  expect(result.ips?.map(({ interface: index }) => index)).toEqual([1, 2]);
  expect(result.ips?.[1]?.address).toBe("192.0.2.5/24");
  expect(result.dns).toEqual({ nameservers: ["192.0.2.1"] });
  await node.del({ containerID, netns: pod.path });
});

describe("requested addresses", () => {
  test.each([
    ["runtimeConfig.ips", '"runtimeConfig.ips"', { runtimeConfig: { ips: ["10.65.0.77/32"] } }, undefined],
    ["args.cni.ips", '"args.cni.ips"', { args: { cni: { ips: ["10.65.0.77"] } } }, undefined],
    ["CNI_ARGS IP", "IP of CNI_ARGS", {}, "IP=10.65.0.77"],
    ["the same twice in runtimeConfig.ips", '"runtimeConfig.ips"', { runtimeConfig: { ips: ["10.65.0.77", "10.65.0.77"] } }, undefined],
  ])("by %s are given, and the one in use names its owner and who asks for it", async (_way, origin, extra, args) => {
    using pod = new TestNetns();
    using other = new TestNetns();
    const containerID = node.newContainerID();
    const call = { config: node.config(extra), ...(args === undefined ? {} : { args }) };
    const result = await node.add(pod, { containerID, ...call });
    expect(result.ips?.map(({ address }) => address)).toEqual(["10.65.0.77/32"]);
    const refused = await node.call("ADD", { containerID: node.newContainerID(), netns: other.path, ...call });
    expect([refused.status, refused.json?.code]).toEqual([1, 102]);
    expect(refused.json?.msg).toContain(containerID);
    expect(refused.json?.msg).toStartWith(`use address "10.65.0.77" from ${origin}: it belongs to `);
    await node.del({ containerID, netns: pod.path, ...call });
  });

  test.each([
    ["IP of CNI_ARGS", {}, "IP=10.65.0.1"],
    ["args.cni.ips of two addresses", { args: { cni: { ips: ["10.65.0.1", "10.65.0.2"] } } }, ""],
  ])("do not count where others rank higher: %s", async (_what, extra, args) => {
    using pod = new TestNetns();
    const config = node.config({ runtimeConfig: { ips: ["10.65.0.77"] }, ...extra });
    const call = { containerID: node.newContainerID(), netns: pod.path, config, args };
    const prevResult = await node.add(pod, call);
    expect(prevResult.ips?.map(({ address }) => address)).toEqual(["10.65.0.77/32"]);
    expect((await node.call("CHECK", { ...call, config: { ...config, prevResult } })).stdout).toBe("");
    await node.del(call);
  });

  test("that are no addresses are code 104 in CNI_ARGS, whoever would read them, and whatever ranks higher", async () => {
    using pod = new TestNetns();
    const call = { containerID: node.newContainerID(), netns: pod.path, args: "IP=none" };
    const ranking = { runtimeConfig: { ips: ["10.65.0.77"] } };
    for (const extra of [{}, { ipam: { type: "host-local", subnet: "10.88.0.0/24" } }, ranking]) {
      const { json } = await node.call("ADD", { ...call, config: node.config(extra) });
      const message = 'read CNI_ARGS: IP is "none", want an IPv4 or IPv6 address without prefix length';
      expect([extra, json?.code, json?.msg]).toEqual([extra, 104, message]);
    }
  });

  test("outside of every pool are code 103", async () => {
    using pod = new TestNetns();
    const reply = await node.call("ADD", { containerID: node.newContainerID(), netns: pod.path, args: "IP=192.0.2.9" });
    expect([reply.status, reply.json?.code]).toEqual([1, 103]);
  });
});
