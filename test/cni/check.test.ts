/** CHECK. */

import { describe, expect, test } from "bun:test";
import type { CniJson } from "../support/programs/cni.ts";
import type { Json } from "../support/programs/cni-call.ts";
import { startEtcd } from "../support/servers/etcd.ts";
import { nodePlace, TestNetns } from "../support/node/netns.ts";
import { onEtcd } from "../support/node/node-datastore.ts";
import { share } from "../support/share.ts";
import { TestNode } from "../support/node/test-node.ts";

const node = share(() => TestNode.start(["10.65.0.0/24", "fd65::/112"]));

/** The one attachment of a test. */
function hostSide(): string {
  return nodePlace.links().find(({ ifalias }) => ifalias?.startsWith("netplug:test-net:") === true)?.ifname ?? "";
}

describe("CHECK", () => {
  test.each([
    ["the pod's address", (pod: TestNetns, address: string) => pod.must(["ip", "address", "del", address, "dev", "eth0"])],
    ["the pod's default route", (pod: TestNetns) => pod.must(["ip", "route", "del", "default"])],
    ["the pod's interface", (pod: TestNetns) => pod.must(["ip", "link", "del", "eth0"])],
    ["the host's route", (_pod: TestNetns, address: string) => nodePlace.must(["ip", "route", "del", address])],
    ["the pod's MAC", (pod: TestNetns) => pod.must(["ip", "link", "set", "eth0", "address", "02:00:5e:00:00:99"])],
    ["the pod's running lo", (pod: TestNetns) => pod.must(["ip", "link", "set", "lo", "down"])],
    ["the host's forwarding", () => nodePlace.must(["sh", "-c", `echo 0 > /proc/sys/net/ipv4/conf/${hostSide()}/forwarding`])],
    ["the host's interface as it was", () => nodePlace.must(["ip", "link", "set", hostSide(), "down"])],
  ])("sees that %s is gone or changed", async (_what, damage) => {
    using pod = new TestNetns();
    const containerID = node.newContainerID();
    const prevResult = await node.add(pod, { containerID });
    const config = node.config({ prevResult });
    const good = await node.call("CHECK", { containerID, netns: pod.path, config });
    expect([good.status, good.stdout]).toEqual([0, ""]);
    damage(pod, prevResult.ips?.[0]?.address ?? "");
    const bad = await node.call("CHECK", { containerID, netns: pod.path, config });
    expect(bad.status).toBe(1);
    expect(bad.json?.code).toBeGreaterThan(0);
    expect(bad.json?.msg).not.toBe("");
    await node.del({ containerID, netns: pod.path });
  });

  test("sees that the datastore does not know the address any more", async () => {
    using pod = new TestNetns();
    const containerID = node.newContainerID();
    const prevResult = await node.add(pod, { containerID });
    const address = prevResult.ips?.[0]?.address.split("/")[0] ?? "";
    await node.ctl(["ipam", "release", `--ip=${address}`]);
    const reply = await node.call("CHECK", { containerID, netns: pod.path, config: node.config({ prevResult }) });
    expect(reply.status).toBe(1);
    await node.del({ containerID, netns: pod.path });
  });

  onEtcd(() => {
    test("sees that the workload endpoint is gone, or another container's", async () => {
      using pod = new TestNetns();
      const containerID = node.newContainerID();
      const prevResult = await node.add(pod, { containerID });
      const config = node.config({ prevResult });
      const key = (await node.keys()).find((one) => one.includes("/workloadendpoints/")) ?? "";
      const record = (await node.etcd.ctl(["get", key, "--print-value-only"])).trim();
      await node.etcd.ctl(["put", key, record.replaceAll(`"${containerID}"`, '"another"')]);
      const foreign = await node.call("CHECK", { containerID, netns: pod.path, config });
      expect([foreign.json?.code, foreign.json?.msg]).toEqual([113, expect.stringContaining('"another"')]);
      await node.etcd.ctl(["del", key]);
      const gone = await node.call("CHECK", { containerID, netns: pod.path, config });
      expect([gone.json?.code, gone.json?.msg]).toEqual([113, expect.stringContaining("workload endpoint is missing")]);
      await node.del({ containerID, netns: pod.path });
    });

    test.each([["a text"], [[null, 7]], [[]]])("names the address that a record with %p as its addresses lacks", async (ipNetworks) => {
      using pod = new TestNetns();
      const containerID = node.newContainerID();
      const prevResult = await node.add(pod, { containerID });
      const address = prevResult.ips?.[0]?.address ?? "";
      const key = (await node.keys()).find((one) => one.includes("workloadendpoints") && one.includes(containerID)) ?? "";
      const record = JSON.parse(await node.etcd.ctl(["get", key, "--print-value-only"])) as { readonly spec: Json };
      await node.etcd.ctl(["put", key, JSON.stringify({ ...record, spec: { ...record.spec, ipNetworks } })]);
      const reply = await node.call("CHECK", { containerID, netns: pod.path, config: node.config({ prevResult }) });
      expect(reply.json).toMatchObject({ code: 113, msg: `check attachment: datastore: the workload endpoint lacks address "${address}"` });
      await node.add(pod, { containerID }); // mends the record
      expect((await node.call("CHECK", { containerID, netns: pod.path, config: node.config({ prevResult }) })).stdout).toBe("");
      await node.del({ containerID, netns: pod.path });
    });
  });

  test("of netplug-ipam looks at addresses of our pools only", async () => {
    const containerID = node.newContainerID();
    const call = { plugin: "netplug-ipam", containerID, netns: "/run/netns/any" };
    const { json } = await node.call("ADD", call);
    const prevResult = { ...json, ips: [...(json?.ips ?? []), { address: "192.0.2.9/24" }] };
    const reply = await node.call("CHECK", { ...call, config: node.config({ prevResult }) });
    expect([reply.status, reply.stdout]).toEqual([0, ""]);
    const more = { ...json, ips: [...(json?.ips ?? []), { address: "10.65.0.250/26" }] };
    const refused = await node.call("CHECK", { ...call, config: node.config({ prevResult: more }) });
    expect([refused.json?.code, refused.json?.msg]).toEqual([113, expect.stringContaining('"10.65.0.250"')]);
    await node.del(call);
  });

  test.each(["1", "true"])("in the node's own namespace is allowed by CNI_NETNS_OVERRIDE=%s, as ADD is", async (allowed) => {
    const containerID = node.newContainerID();
    const call = { containerID, netns: "/proc/thread-self/ns/net", ifname: "npgt-own", env: { CNI_NETNS_OVERRIDE: allowed } };
    const config = node.config({ ipam: { routes: [] } });
    const { json } = await node.call("ADD", { ...call, config });
    const reply = await node.call("CHECK", { ...call, config: { ...config, prevResult: json } });
    await node.del(call);
    // with both sides in one namespace the way to the address is no route of ours: that much was looked at
    expect([json?.code, reply.json?.code]).toEqual([undefined, 113]);
  });

  test.each(["netplug", "netplug-ipam"])(
    "of %s on a datastore that was never initialised is code 112, and changes nothing",
    async (plugin) => {
      await using empty = await startEtcd();
      using pod = new TestNetns();
      const call = { plugin, containerID: node.newContainerID(), netns: pod.path };
      const { json: prevResult } = await node.call("ADD", call);
      const config = node.config({ datastore_type: "etcdv3", etcd_endpoints: empty.endpoint, prevResult });
      const { json } = await node.call("CHECK", { ...call, config });
      expect([json?.code, json?.msg]).toEqual([112, expect.stringContaining("netplugctl init")]);
      expect(await empty.ctl(["get", "", "--prefix", "--keys-only"])).toBe("");
      await node.del(call);
    },
  );

  test("without prevResult is code 7", async () => {
    using pod = new TestNetns();
    const containerID = node.newContainerID();
    await node.add(pod, { containerID });
    const reply = await node.call("CHECK", { containerID, netns: pod.path });
    expect([reply.status, reply.json?.code]).toEqual([1, 7]);
    await node.del({ containerID, netns: pod.path });
  });

  test("names the setting of the host's side that an IPv6 pod needs, and none that it does not need", async () => {
    using pod = new TestNetns();
    const call = { containerID: node.newContainerID(), netns: pod.path };
    const ipam = { assign_ipv4: "false", assign_ipv6: "true" };
    const prevResult = await node.add(pod, { ...call, config: node.config({ ipam }) });
    const set = (path: string, to: string): string => nodePlace.must(["sh", "-c", `echo ${to} > /proc/sys/net/${path}`]);
    const config = node.config({ ipam, prevResult });
    for (const setting of ["ipv4/conf/IF/forwarding", "ipv6/conf/IF/forwarding", "ipv6/conf/IF/proxy_ndp"]) {
      set(setting.replace("IF", hostSide()), "0");
    }
    expect((await node.call("CHECK", { ...call, config })).stdout).toBe("");
    const path = `ipv6/conf/${hostSide()}/disable_ipv6`;
    set(path, "1");
    const { json } = await node.call("CHECK", { ...call, config });
    expect([json?.code, json?.msg]).toEqual([113, expect.stringContaining(`"net/${path}" on the host: got "1"`)]);
    await node.del(call);
  });

  test("is content when prevResult shows that a later plugin changed MAC, MTU or a route", async () => {
    using pod = new TestNetns();
    const containerID = node.newContainerID();
    const result = await node.add(pod, { containerID });
    pod.must(["ip", "link", "set", "eth0", "address", "02:00:5e:00:00:99", "mtu", "1300"]);
    pod.must(["ip", "route", "del", "default"]);
    const interfaces = result.interfaces?.map((one) => (one.name === "eth0" ? { ...one, mac: "02:00:5e:00:00:99", mtu: 1300 } : one)) ?? [];
    const config = node.config({ prevResult: { ...result, interfaces, routes: [] } });
    const reply = await node.call("CHECK", { containerID, netns: pod.path, config });
    expect([reply.status, reply.stdout]).toEqual([0, ""]);
    await node.del({ containerID, netns: pod.path });
  });

  test.each([
    ["10.65.0.", "32", "24"],
    ["fd65:", "128", "64"],
  ])("sees that the address %s… lies in a /%s no more but in a /%s, unless prevResult says so", async (start, given, other) => {
    using pod = new TestNetns();
    const call = { containerID: node.newContainerID(), netns: pod.path };
    const ipam = { assign_ipv6: "true" };
    const result = await node.add(pod, { ...call, config: node.config({ ipam }) });
    const before = result.ips?.find(({ address }) => address.startsWith(start))?.address ?? "";
    const after = before.replace(`/${given}`, `/${other}`);
    // without any address the interface would lose its routes of IPv4
    pod.must(["ip", "address", "add", "192.0.2.1/32", "dev", "eth0"]);
    pod.must(["ip", "address", "del", before, "dev", "eth0"]);
    pod.must(["ip", "address", "add", after, "dev", "eth0", "nodad"]);
    const check = async (prevResult: CniJson): Promise<unknown> =>
      (await node.call("CHECK", { ...call, config: node.config({ ipam, prevResult }) })).json?.msg;
    expect(await check(result)).toBe(`check attachment: interface "eth0" in the pod: got address "${after}", want "${before}"`);
    const ips = result.ips?.map((ip) => (ip.address === before ? { ...ip, address: after } : ip)) ?? [];
    expect(await check({ ...result, ips })).toBeUndefined();
    await node.del(call);
  });
});
