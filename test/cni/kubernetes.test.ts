/** What only the Kubernetes datastore has: CRDs, pods that go and come back, records that are annotations. */

import { beforeEach, describe, expect } from "bun:test";
import { join } from "node:path";
import { hostInterfaceName } from "../support/programs/cni.ts";
import { createPod, deletePod, type TestPod } from "../support/servers/kubernetes.ts";
import { nodePlace, TestNetns } from "../support/node/netns.ts";
import { setReady } from "../support/cli/netplugctl.ts";
import { onApiServer } from "../support/servers/on-api-server.ts";
import { annotationsOf } from "../support/servers/pod-records.ts";
import { startPodWorldOnKubernetes } from "../support/node/pod-world.ts";
import { customResourceDefinitions } from "../../src/api/crd/mod.ts";
import { deleteCrds } from "../support/servers/delete-crds.ts";

const [test, { api, node }] = onApiServer(() => startPodWorldOnKubernetes({ cidrs: ["10.65.0.0/24"] }));

let count = 0;
const makePod = async (name = `web-${count++}`): Promise<TestPod> => await createPod(api, { name });

const recorded = (containerID: string, addresses: readonly string[]): Readonly<Record<string, string>> => ({
  "cni.netplug.io/containerID": containerID,
  "cni.netplug.io/podIP": addresses[0] ?? "",
  "cni.netplug.io/podIPs": addresses.join(","),
});

beforeEach(async () => expect([await node.addressesInUse(), await node.endpoints()]).toEqual([0, []]));

test("the pod's status is its record: container and addresses, cleared by DEL, which keeps the container (needs cluster)", async () => {
  const pod = await makePod();
  using netns = new TestNetns();
  const call = { containerID: node.newContainerID(), netns: netns.path, args: pod.args };
  const { ips } = await node.add(netns, call);
  expect(await annotationsOf(api, pod)).toEqual(recorded(call.containerID, ips?.map(({ address }) => address) ?? []));
  await node.del(call);
  expect(await annotationsOf(api, pod)).toEqual(recorded(call.containerID, []));
  await node.del(call);
  // a runtime may try again after the DEL, with the same container
  const again = await node.add(netns, call);
  expect((await annotationsOf(api, pod))["cni.netplug.io/podIP"]).toBe(again.ips?.[0]?.address);
  await node.del(call);
});

describe("a pod", () => {
  test("that is not named is code 106 for netplug, and none is needed for netplug-ipam (needs cluster)", async () => {
    using netns = new TestNetns();
    const call = { containerID: node.newContainerID(), netns: netns.path };
    const { json } = await node.call("ADD", call);
    expect([json?.code, json?.msg]).toEqual([106, expect.stringContaining("K8S_POD_NAME")]);
    const plain = await node.call("ADD", { ...call, plugin: "netplug-ipam" });
    expect([plain.status, plain.json?.ips?.length]).toEqual([0, 1]);
    await node.del({ ...call, plugin: "netplug-ipam" });
  });

  test("that uses the host's network is code 106, and the message says so (needs cluster)", async () => {
    const pod = await createPod(api, { name: "on-host", spec: { hostNetwork: true } });
    using netns = new TestNetns();
    const { json } = await node.call("ADD", { containerID: node.newContainerID(), netns: netns.path, args: pod.args });
    const msg = 'find pod "default/on-host": it uses the host\'s network (hostNetwork: true), so no interface is made for it';
    expect([json?.code, json?.msg, netns.link("eth0"), await node.addressesInUse()]).toEqual([106, msg, undefined, 0]);
    await deletePod(api, pod);
  });

  test("whose annotations leave no room for its record is code 104, which says so, and nothing stays (needs cluster)", async () => {
    const key = "example.com/large";
    const pod = await createPod(api, { name: "large", otherAnnotations: { [key]: "x".repeat(256 * 1024 - key.length) } });
    using netns = new TestNetns();
    const call = { containerID: node.newContainerID(), netns: netns.path, args: pod.args };
    const { json } = await node.call("ADD", call);
    const why = "leave no room for the record of its addresses: remove or shorten one";
    expect([json?.code, json?.msg, netns.link("eth0")]).toEqual([104, expect.stringContaining(why), undefined]);
    expect(await node.addressesInUse()).toBe(0);
    await node.del(call);
    await deletePod(api, pod);
  });

  test("that was made anew is neither stamped by the old one's ADD nor touched by its DEL (needs cluster)", async () => {
    const old = await makePod();
    using oldNetns = new TestNetns();
    using newNetns = new TestNetns();
    const oldCall = { containerID: node.newContainerID(), netns: oldNetns.path, args: old.args };
    await node.add(oldNetns, oldCall);
    await deletePod(api, old);
    const anew = await makePod(old.name);
    expect((await node.call("ADD", oldCall)).json?.code).toBe(106);
    expect(await annotationsOf(api, anew)).toEqual({});

    const newCall = { containerID: node.newContainerID(), netns: newNetns.path, args: anew.args };
    const { ips } = await node.add(newNetns, newCall);
    await node.del(oldCall);
    expect(await annotationsOf(api, anew)).toEqual(recorded(newCall.containerID, ips?.map(({ address }) => address) ?? []));
    expect(nodePlace.link(hostInterfaceName({ namespace: old.namespace, pod: old.name }))?.ifalias).toContain(newCall.containerID);
    expect(await node.addressesInUse()).toBe(1);
    await node.del(newCall);
  });

  test("that was made anew from a copy of the old one keeps the annotations that it was given (needs cluster)", async () => {
    const old = await makePod();
    using netns = new TestNetns();
    const call = { containerID: node.newContainerID(), netns: netns.path, args: old.args };
    const { ips } = await node.add(netns, call);
    const annotations = await annotationsOf(api, old);
    await deletePod(api, old);
    const anew = await createPod(api, { name: old.name, otherAnnotations: annotations });
    await node.del(call);
    expect(await annotationsOf(api, anew)).toEqual(recorded(call.containerID, ips?.map(({ address }) => address) ?? []));
    expect(await node.addressesInUse()).toBe(0);
    await deletePod(api, anew);
  });

  test("that is gone before its DEL releases its address (needs cluster)", async () => {
    const pod = await makePod();
    using netns = new TestNetns();
    const call = { containerID: node.newContainerID(), netns: netns.path, args: pod.args };
    await node.add(netns, call);
    await deletePod(api, pod);
    const check = await node.call("CHECK", { ...call, config: node.config({ prevResult: { cniVersion: "1.1.0" } }) });
    expect(check.json).toMatchObject({ code: 113, msg: expect.stringContaining("the workload endpoint is missing") });
    await node.del(call);
    expect(netns.link("eth0")).toBeUndefined();
  });

  test("that is gone, and of which the runtime knows nothing more, is collected (needs cluster)", async () => {
    const [gone, left] = [await makePod(), await makePod()];
    using goneNetns = new TestNetns();
    using leftNetns = new TestNetns();
    await node.add(goneNetns, { containerID: node.newContainerID(), args: gone.args });
    const { ips } = await node.add(leftNetns, { containerID: "left-over", args: left.args });
    await deletePod(api, gone);
    expect(await annotationsOf(api, left)).toEqual(recorded("left-over", ips?.map(({ address }) => address) ?? []));
    const reply = await node.call("GC", { config: node.config({ "cni.dev/valid-attachments": [] }) });
    expect([reply.status, reply.stdout]).toEqual([0, ""]);
    expect(await annotationsOf(api, left)).toEqual(recorded("left-over", []));
    expect([goneNetns.link("eth0"), leftNetns.link("eth0")]).toEqual([undefined, undefined]);
  });

  test("whose record names another container, or no address, is a fault that CHECK tells (needs cluster)", async () => {
    const pod = await makePod();
    using netns = new TestNetns();
    const call = { containerID: node.newContainerID(), netns: netns.path, args: pod.args };
    const prevResult = await node.add(netns, call);
    const annotate = async (key: string, value: string): Promise<unknown> =>
      await api.kubectl(["annotate", "--overwrite", "pod", pod.name, `cni.netplug.io/${key}=${value}`]);
    const check = async (): Promise<string | undefined> =>
      (await node.call("CHECK", { ...call, config: node.config({ prevResult }) })).json?.msg;
    await annotate("podIPs", "");
    expect(await check()).toContain(`the workload endpoint lacks address "${prevResult.ips?.[0]?.address}"`);
    await annotate("podIPs", prevResult.ips?.[0]?.address ?? "");
    expect(await check()).toBeUndefined();
    await annotate("containerID", "another");
    expect(await check()).toContain('the workload endpoint is of container "another"');
    // DEL does not touch the record of another container
    await node.del(call);
    expect(await annotationsOf(api, pod)).toMatchObject({ "cni.netplug.io/podIPs": prevResult.ips?.[0]?.address });
    await deletePod(api, pod);
  });
});

test("the node's labels choose pools, and a node that Kubernetes does not know has none (needs cluster)", async () => {
  await node.createPool("rack", { cidr: "10.67.0.0/24", nodeSelector: 'rack == "r1"' });
  await api.kubectl(["label", "node", "node-a", "rack=r1"]);
  await node.ctl(["patch", "ippool", "pool-0", "-p", '{"spec":{"disabled":true}}']);
  try {
    const pod = await makePod();
    using netns = new TestNetns();
    const call = { containerID: node.newContainerID(), netns: netns.path, args: pod.args };
    const { ips } = await node.add(netns, call);
    expect(ips?.[0]?.address).toStartWith("10.67.0.");
    await node.del(call);
    const elsewhere = await node.call("ADD", { ...call, config: node.config({ nodename: "nobody-knows-it" }) });
    expect([elsewhere.json?.code, elsewhere.json?.msg]).toEqual([101, expect.stringContaining("nodeSelector")]);
  } finally {
    await node.ctl(["patch", "ippool", "pool-0", "-p", '{"spec":{"disabled":false}}']);
  }
});

test("a locked datastore takes no ADD, and lets go of what there is (needs cluster)", async () => {
  const pod = await makePod();
  using netns = new TestNetns();
  using other = new TestNetns();
  const call = { containerID: node.newContainerID(), netns: netns.path, args: pod.args };
  await node.add(netns, call);
  await setReady(node.datastore.env, false);
  try {
    const late = { containerID: node.newContainerID(), netns: other.path, args: (await makePod()).args };
    expect((await node.call("ADD", late)).json).toMatchObject({ code: 11, msg: expect.stringContaining("locked") });
    await node.del(call);
    expect(await annotationsOf(api, pod)).toEqual(recorded(call.containerID, []));
  } finally {
    await setReady(node.datastore.env, true);
  }
});

test("a frozen datastore is not written to: a DEL does what is here, and the one after the migration does the rest (needs cluster)", async () => {
  const pod = await makePod();
  using netns = new TestNetns();
  using other = new TestNetns();
  const call = { containerID: node.newContainerID(), netns: netns.path, args: pod.args };
  const { ips } = await node.add(netns, call);
  const setFrozen = async (isFrozen: boolean): Promise<unknown> =>
    await api.kubectl([
      "patch",
      "clusterinformation",
      "default",
      "--type=merge",
      "-p",
      JSON.stringify({ spec: { datastoreFrozen: isFrozen } }),
    ]);
  const stored = async (): Promise<string> =>
    await api.kubectl(["get", "ipamblocks.netplug.io,pods", "-A", "-o", "jsonpath={range .items[*]}{.metadata.resourceVersion} {end}"]);
  const late = { containerID: node.newContainerID(), netns: other.path, args: (await makePod()).args };
  await setFrozen(true);
  try {
    const before = await stored();
    const frozen = { code: 11, msg: expect.stringContaining("a migration has frozen it") as string };
    expect((await node.call("DEL", call)).json).toMatchObject(frozen);
    expect((await node.call("ADD", late)).json).toMatchObject(frozen);
    expect([netns.link("eth0"), other.link("eth0")]).toEqual([undefined, undefined]);
    expect(await stored()).toBe(before);
    expect(await annotationsOf(api, pod)).toEqual(recorded(call.containerID, ips?.map(({ address }) => address) ?? []));
  } finally {
    await setFrozen(false);
  }
  await node.del(call);
  expect(await annotationsOf(api, pod)).toEqual(recorded(call.containerID, []));
});

test("no more requests are made than the network config allows (needs cluster)", async () => {
  const pod = await makePod();
  using netns = new TestNetns();
  const call = { containerID: node.newContainerID(), netns: netns.path, args: pod.args };
  const few = await node.call("ADD", { ...call, config: node.config({ qps: 1, burst: 1 }) });
  expect(few.json).toMatchObject({ code: 11, msg: expect.stringContaining("raise qps and burst") });
  expect(netns.link("eth0")).toBeUndefined();
  // the burst, then one every 20 ms
  const started = performance.now();
  await node.add(netns, { ...call, config: node.config({ qps: 50, burst: 1 }) });
  expect(performance.now() - started).toBeGreaterThan(150);
  await node.del(call);
});

// Last: it takes the CRDs away.
test("without our CRDs ADD is code 112, and STATUS 50, with the command that applies them; DEL has nothing to do (needs cluster)", async () => {
  const pod = await makePod();
  await deleteCrds(
    api,
    customResourceDefinitions().map(({ metadata }) => metadata.name),
  );
  using netns = new TestNetns();
  const call = { containerID: node.newContainerID(), netns: netns.path, args: pod.args };
  const { json } = await node.call("ADD", call);
  expect([json?.code, json?.msg]).toEqual([112, expect.stringContaining('run "netplugctl init"')]);
  expect((await node.call("STATUS")).json).toMatchObject({ code: 50, msg: expect.stringContaining('run "netplugctl init"') });
  expect(netns.link("eth0")).toBeUndefined();
  await node.del(call);
  await node.ctl(["init"]);
  expect((await node.call("STATUS")).stdout).toBe("");
  for (const plural of ["ippools", "ipreservations", "ipamconfigurations", "ipamblocks"]) {
    await deleteCrds(api, [`${plural}.netplug.io`]);
    const missing = expect.stringMatching(new RegExp(`${plural}.*run "netplugctl init"`)) as string;
    expect((await node.call("ADD", call)).json).toMatchObject({ code: 112, msg: missing });
    // a node that has just found all there asks again in a minute
    const config = node.config({ ipam_lock_file: join(node.folder, plural, "lock") });
    expect((await node.call("STATUS", { config })).json).toMatchObject({ code: 50, msg: missing });
    await node.ctl(["init"]);
    if (plural === "ippools") await node.createPool("pool-0", { cidr: "10.65.0.0/24" });
  }
  await node.add(netns, call);
  await node.del(call);
});
