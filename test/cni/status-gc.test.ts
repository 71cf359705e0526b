/** STATUS and GC. */

import { describe, expect, test } from "bun:test";
import { mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { distFolder, pluginPath } from "../support/programs/cni.ts";
import type { Json } from "../support/programs/cni-call.ts";
import { startEtcd } from "../support/servers/etcd.ts";
import { raiseAlarm } from "../support/servers/etcd-alarm.ts";
import { setReady } from "../support/cli/netplugctl.ts";
import { nodePlace, TestNetns } from "../support/node/netns.ts";
import { onEtcd } from "../support/node/node-datastore.ts";
import { NodeMounts } from "../support/node/node-mounts.ts";
import { share } from "../support/share.ts";
import { TestNode } from "../support/node/test-node.ts";

const node = share(() => TestNode.start(["10.65.0.0/24", "fd65::/112"]));

/** The one attachment of a test. */
function hostSide(): string {
  return nodePlace.links().find(({ ifalias }) => ifalias?.startsWith("netplug:test-net:") === true)?.ifname ?? "";
}

describe("STATUS", () => {
  test("is content with a datastore that works", async () => {
    const reply = await node.call("STATUS");
    expect([reply.status, reply.stdout]).toEqual([0, ""]);
  });

  test("is code 50 with the reason when the datastore is away", async () => {
    const reply = await node.call("STATUS", { config: node.config(node.datastore.nowhere) });
    expect([reply.status, reply.json?.code]).toEqual([1, 50]);
    expect(`${reply.json?.msg} ${reply.json?.details}`).toContain("127.0.0.1:1");
  });

  test("is code 50 while the datastore is locked, and content afterwards", async () => {
    await setReady(node.datastore.env, false);
    const { status, json } = await node.call("STATUS");
    await setReady(node.datastore.env, true);
    expect([status, json?.code, json?.msg]).toEqual([1, 50, expect.stringContaining("locked")]);
    expect((await node.call("STATUS")).status).toBe(0);
  });

  onEtcd(() => {
    test("is code 50 with what to do while etcd takes no commit, and content afterwards", async () => {
      await raiseAlarm(node.etcd.endpoint, "NOSPACE");
      const { status, json } = await node.call("STATUS");
      await node.etcd.ctl(["alarm", "disarm"]);
      const msg = "commit to etcd: its alarm NOSPACE is raised, it takes no commit; compact and defragment etcd, then disarm its alarm";
      expect([status, json?.code, json?.msg]).toEqual([1, 50, msg]);
      expect((await node.call("STATUS")).status).toBe(0);
    });
  });

  onEtcd(() => {
    test.each([
      ["ipamconfigurations/default", { kind: "IPAMConfiguration", metadata: { name: "default" }, spec: { maxBlocksPerHost: "many" } }],
      ["ipreservations/odd", "no reservation"],
      ["profiles/test-net", "no profile"],
    ])("is code 50 with what every ADD fails with while %s is damaged", async (key, value) => {
      await node.etcd.ctl(["put", `/netplug/v3/${key}`, JSON.stringify(value)]);
      using pod = new TestNetns();
      const added = await node.call("ADD", { containerID: node.newContainerID(), netns: pod.path });
      const { json } = await node.call("STATUS");
      await node.etcd.ctl(["del", `/netplug/v3/${key}`]);
      expect([added.status, json?.code, json?.msg]).toEqual([1, 50, added.json?.msg]);
      expect((await node.call("STATUS")).status).toBe(0);
    });
  });

  test("is code 50 when the datastore was never initialised", async () => {
    await using empty = await startEtcd();
    const { status, json } = await node.call("STATUS", {
      config: node.config({ datastore_type: "etcdv3", etcd_endpoints: empty.endpoint }),
    });
    expect([status, json?.code, json?.msg]).toEqual([1, 50, expect.stringContaining("netplugctl init")]);
  });

  test.each<[what: string, overrides: Json, reason: string]>([
    ["names no IPAM plugin", { ipam: { type: undefined } }, '"ipam.type"'],
    ["names a delegate that is not there", { ipam: { type: "nowhere" } }, '"nowhere"'],
    ["wants an MTU file that is not there", { require_mtu_file: true }, "require_mtu_file"],
    [
      "names a certificate that is not there",
      { datastore_type: "etcdv3", etcd_endpoints: "https://127.0.0.1:1", etcd_ca_cert_file: "/nowhere" },
      "/nowhere",
    ],
  ])("is code 50 when the config %s", async (_what, overrides, reason) => {
    const { status, json } = await node.call("STATUS", { config: node.config(overrides) });
    expect([status, json?.code, json?.msg]).toEqual([1, 50, expect.stringContaining(reason)]);
  });

  test("is code 50 where /proc/sys is read-only, as every ADD is 109 there; but first it says that the datastore is locked", async () => {
    await using mounts = await NodeMounts.start();
    using pod = new TestNetns();
    mounts.run("mount --bind /proc/sys /proc/sys; mount -o remount,bind,ro /proc/sys");
    const plugin = mounts.plugin(node.folder, "netplug");
    const call = { containerID: node.newContainerID(), netns: pod.path };
    const args = await node.datastore.prepare("ADD", call);
    const added = await node.call("ADD", { ...call, plugin, ...(args !== undefined && { args }) });
    expect([added.json?.code, added.json?.msg]).toEqual([109, expect.stringContaining("EROFS")]);
    const asked = await node.call("STATUS", { plugin });
    const msg = 'open setting "ipv4/ip_forward": EROFS (read-only file system); mount /proc/sys writable for the runtime';
    expect([asked.json?.code, asked.json?.msg]).toEqual([50, msg]);
    await setReady(node.datastore.env, false);
    const locked = await node.call("STATUS", { plugin });
    await setReady(node.datastore.env, true);
    expect([locked.json?.code, locked.json?.msg]).toEqual([50, expect.stringContaining("locked")]);
    await node.del(call);
  });

  test("is code 50 without the right to enter namespaces, which an ADD needs", async () => {
    const child = Bun.spawn(["setpriv", "--bounding-set=-sys_admin", "--inh-caps=-sys_admin", pluginPath("netplug")], {
      env: { CNI_COMMAND: "STATUS", CNI_PATH: distFolder },
      stdin: Buffer.from(JSON.stringify(node.config())),
      stdout: "pipe",
    });
    const reply = JSON.parse(await child.stdout.text()) as Json;
    expect([await child.exited, reply["code"], reply["msg"]]).toEqual([1, 50, expect.stringContaining("EPERM")]);
  });
});

describe("GC", () => {
  test("removes what is not in the list, here only, and keeps what is", async () => {
    using kept = new TestNetns();
    using stale = new TestNetns();
    using foreign = new TestNetns();
    const [keptID, staleID, foreignID] = [node.newContainerID(), node.newContainerID(), node.newContainerID()];
    await node.add(kept, { containerID: keptID });
    const { ips } = await node.add(stale, { containerID: staleID });
    const staleAddress = ips?.[0]?.address.split("/")[0] ?? "";
    await node.add(foreign, { containerID: foreignID, config: node.config({ name: "other-net" }) });
    const config = node.config({ "cni.dev/valid-attachments": [{ containerID: keptID, ifname: "eth0" }] });
    const reply = await node.call("GC", { config });
    expect([reply.status, reply.stdout]).toEqual([0, ""]);
    const { namespace, pod } = node.datastore.podOf(staleID) ?? {};
    const owner = namespace === undefined ? `of="${staleID}"` : `of="${staleID}" ofPod="${namespace}/${pod}"`;
    expect(reply.stderr).toMatch(new RegExp(`released address without attachment address="${staleAddress}" ${owner}$`, "m"));
    expect(stale.link("eth0")).toBeUndefined();
    expect(nodePlace.link(node.hostSide(staleID))).toBeUndefined();
    expect(kept.link("eth0")).toBeDefined();
    expect(foreign.link("eth0")).toBeDefined();
    expect(await node.addressesInUse()).toBe(2);
    expect(await node.endpoints()).toHaveLength(2);
    await node.del({ containerID: keptID, netns: kept.path });
    await node.del({ containerID: foreignID, netns: foreign.path, config: node.config({ name: "other-net" }) });
  });

  test.each([[undefined], ["all"], [[{ containerID: "x" }]], [[7]]])("with the list %p is code 7 and removes nothing", async (list) => {
    using pod = new TestNetns();
    const containerID = node.newContainerID();
    await node.add(pod, { containerID });
    const config = node.config(list === undefined ? {} : { "cni.dev/valid-attachments": list });
    const reply = await node.call("GC", { config });
    expect([reply.status, reply.json?.code]).toEqual([1, 7]);
    expect(pod.link("eth0")).toBeDefined();
    await node.del({ containerID, netns: pod.path });
  });

  test("leaves alone what another node has in the same network", async () => {
    const containerID = node.newContainerID();
    const pod = new TestNetns();
    await node.add(pod, { containerID });
    pod.delete();
    const config = node.config({ nodename: "node-b", "cni.dev/valid-attachments": [] });
    expect([(await node.call("GC", { config })).status, await node.addressesInUse()]).toEqual([0, 1]);
    expect(await node.endpoints()).toHaveLength(1);
    await node.del({ containerID, netns: pod.path });
    expect([await node.addressesInUse(), await node.endpoints()]).toEqual([0, []]);
  });

  test("takes nothing from the same container in another network", async () => {
    const containerID = node.newContainerID();
    const gone = new TestNetns();
    using pod = new TestNetns();
    await node.add(gone, { containerID });
    gone.delete();
    const other = { containerID, netns: pod.path, config: node.config({ name: "other-net" }) };
    const prevResult = await node.add(pod, other);
    expect(await node.addressesInUse()).toBe(2);
    expect((await node.call("GC", { config: node.config({ "cni.dev/valid-attachments": [] }) })).status).toBe(0);
    expect([await node.addressesInUse(), (await node.endpoints()).length]).toEqual([1, 1]);
    expect((await node.call("CHECK", { ...other, config: { ...other.config, prevResult } })).status).toBe(0);
    await node.del(other);
    expect([await node.addressesInUse(), await node.endpoints()]).toEqual([0, []]);
  });

  test("that may not take an interface away keeps its address, which another pod would get", async () => {
    using pod = new TestNetns();
    const containerID = node.newContainerID();
    await node.add(pod, { containerID });
    const config = node.config({ "cni.dev/valid-attachments": [] });
    const reply = await node.call("GC", { config, plugin: node.pluginWithout("net_admin") });
    expect([reply.status, reply.json?.code, reply.json?.msg]).toEqual([1, 109, expect.stringContaining("EPERM")]);
    expect(pod.link("eth0")).toBeDefined();
    expect([await node.addressesInUse(), (await node.endpoints()).length]).toEqual([1, 1]);
    expect((await node.call("GC", { config: { ...config, type: "renamed" } })).status).toBe(0);
    expect(pod.link("eth0")).toBeUndefined();
    expect([await node.addressesInUse(), await node.endpoints()]).toEqual([0, []]);
  });

  test("removes every interface and releases every address, in however many blocks they lie", async () => {
    await node.createPool("single-v4", { cidr: "10.66.0.0/27", blockSize: 32, assignmentMode: "Manual" });
    await node.createPool("single-v6", { cidr: "fd00:66::/123", blockSize: 128, assignmentMode: "Manual" });
    const ipam = { assign_ipv6: "true", ipv4_pools: ["single-v4"], ipv6_pools: ["single-v6"] };
    using pods = new DisposableStack();
    for (let i = 0; i < 18; i++)
      await node.add(pods.use(new TestNetns()), { containerID: node.newContainerID(), config: node.config({ ipam }) });
    expect(await node.addressesInUse()).toBe(36);
    const reply = await node.call("GC", { config: node.config({ "cni.dev/valid-attachments": [] }) });
    expect([reply.status, reply.stdout, hostSide()]).toEqual([0, "", ""]);
    expect([await node.addressesInUse(), await node.endpoints()]).toEqual([0, []]);
  });

  test("cleans up after an attachment of which only the record is left", async () => {
    const containerID = node.newContainerID();
    const pod = new TestNetns();
    await node.add(pod, { containerID });
    pod.delete();
    expect(await node.addressesInUse()).toBe(1);
    const reply = await node.call("GC", { config: node.config({ "cni.dev/valid-attachments": [] }) });
    expect([reply.status, reply.stdout]).toEqual([0, ""]);
    expect(await node.addressesInUse()).toBe(0);
    expect(await node.endpoints()).toEqual([]);
  });

  test("removes what calls of the network left on the node that were killed while they wrote", async () => {
    using pod = new TestNetns();
    const containerID = node.newContainerID();
    const call = { containerID, netns: pod.path };
    await node.add(pod, call);
    const attached = join(node.folder, "attached");
    const own = readdirSync(attached);
    expect(own).toHaveLength(1);
    // greater than any number that the kernel gives a process
    const killed = `${own[0]}.4194305.0.tmp`;
    const others = "another-net@c@eth0.4194305.0.tmp";
    for (const name of [killed, others]) writeFileSync(join(attached, name), "");
    const unreleased = join(node.folder, "unreleased");
    mkdirSync(unreleased, { recursive: true });
    const pending = readdirSync(unreleased);
    writeFileSync(join(unreleased, killed), "");
    const kept = [{ containerID, ifname: "eth0" }];
    expect((await node.call("GC", { config: node.config({ "cni.dev/valid-attachments": kept }) })).status).toBe(0);
    expect([readdirSync(attached).sort(), readdirSync(unreleased)]).toEqual([[others, ...own], pending]);
    await node.del(call);
  });
});

test("a locked datastore still answers a CHECK, and a GC lets go of what is no longer valid", async () => {
  using pod = new TestNetns();
  const containerID = node.newContainerID();
  const prevResult = await node.add(pod, { containerID });
  await setReady(node.datastore.env, false);
  try {
    const check = await node.call("CHECK", { containerID, netns: pod.path, config: node.config({ prevResult }) });
    expect([check.status, check.stdout]).toEqual([0, ""]);
    const gc = await node.call("GC", { config: node.config({ "cni.dev/valid-attachments": [] }) });
    expect([gc.status, gc.stdout, hostSide()]).toEqual([0, "", ""]);
    expect([await node.addressesInUse(), await node.endpoints()]).toEqual([0, []]);
  } finally {
    await setReady(node.datastore.env, true);
  }
});
