/**
 * An ADD that outlives its runtime, the DEL, and the next ADD of the same attachment: it takes nothing from that one, and keeps nothing
 * itself.
 */

import { expect, test } from "bun:test";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type CniReply, pluginPath } from "../support/programs/cni.ts";
import type { Json } from "../support/programs/cni-call.ts";
import { nodePlace, TestNetns } from "../support/node/netns.ts";
import { closedGate } from "../support/node/closed-gate.ts";
import { standStill } from "../support/programs/stand-still.ts";
import { share } from "../support/share.ts";
import { TestNode } from "../support/node/test-node.ts";

const node = share(() => TestNode.start(["10.65.0.0/24"]));

/** Nobody programs it: the ADD waits when all is done. */
function waiting(action: "start" | "fail"): Json {
  return { policy_setup_timeout_seconds: 6, policy_setup_timeout_action: action };
}

/** A call in the middle of which the process is stopped. */
interface LateCall {
  readonly reply: Promise<CniReply>;
  /** Stops it. */
  stop(): Promise<void>;
  isStopped(): boolean;
  /** Lets it go on. */
  goOn(): void;
}

/** @param first what is done before the plugin begins, in its process */
function start(verb: "ADD" | "DEL", containerID: string, pod: TestNetns, overrides: Json = {}, first = ""): LateCall {
  const pidFile = join(node.folder, `${containerID}.pid`);
  const plugin = join(node.folder, `${containerID}.sh`);
  writeFileSync(plugin, `#!/bin/sh\necho $$ > ${pidFile}\n${first}\nexec ${pluginPath("netplug")}\n`, { mode: 0o755 });
  const reply = node.call(verb, { plugin, containerID, netns: pod.path, config: node.config(overrides), args: argsOf(containerID) });
  const pid = (): number => Number(readFileSync(pidFile, "utf8"));
  return {
    reply,
    stop: () => standStill(pid()),
    // the file is empty for a moment
    isStopped: () => existsSync(pidFile) && pid() > 0 && / T /.test(readFileSync(`/proc/${pid()}/stat`, "utf8")),
    goOn: () => void process.kill(pid(), "SIGCONT"),
  };
}

/** On Kubernetes every attachment has a pod; a plugin of another name gets none by itself. */
function argsOf(containerID: string): string {
  const pod = node.datastore.podOf(containerID);
  return pod === undefined ? "IgnoreUnknown=1" : `IgnoreUnknown=1;K8S_POD_NAMESPACE=${pod.namespace};K8S_POD_NAME=${pod.pod}`;
}

/** Its address is its own, recorded, and nobody else's; its interface stands. */
async function expectWhole(containerID: string, pod: TestNetns, { json }: CniReply): Promise<void> {
  const address = json?.ips?.[0]?.address;
  expect(pod.addresses("eth0")).toEqual([address ?? "none"]);
  expect(nodePlace.link(node.hostSide(containerID))?.ifalias).toBe(`netplug:test-net:${containerID}:eth0`);
  expect(await node.addressesInUse()).toBe(1);
  expect(await node.endpoints()).toMatchObject([
    { spec: { containerID, ipNetworks: [expect.stringContaining(address?.replace("/32", "") ?? "none")] } },
  ]);
  const checked = await node.call("CHECK", { containerID, netns: pod.path, config: node.config({ prevResult: json }) });
  expect(checked.stdout).toBe("");
}

async function expectNothingAfterDel(containerID: string, pod: TestNetns): Promise<void> {
  await node.del({ containerID, netns: pod.path });
  expect([await node.addressesInUse(), pod.link("eth0"), nodePlace.link(node.hostSide(containerID))]).toEqual([0, undefined, undefined]);
}

/** The first ADD of a container makes its pod known where there are pods. */
async function newContainer(): Promise<string> {
  const containerID = node.newContainerID();
  await node.datastore.prepare("ADD", { containerID });
  return containerID;
}

test("one that fails late takes nothing from the same container in its next namespace", async () => {
  using pod = new TestNetns();
  using next = new TestNetns();
  const containerID = await newContainer();
  const late = start("ADD", containerID, pod, waiting("fail"));
  await node.until("the interface", () => pod.addresses("eth0").length > 0);
  await late.stop();
  await node.del({ containerID, netns: pod.path });
  pod.delete();
  const again = await node.call("ADD", { containerID, netns: next.path });
  expect(again.status).toBe(0);
  late.goOn();
  expect((await late.reply).status).toBe(1);
  await expectWhole(containerID, next, again);
  await expectNothingAfterDel(containerID, next);
});

test("nor does one whose namespace is gone when it has waited long enough", async () => {
  using pod = new TestNetns();
  using next = new TestNetns();
  const containerID = await newContainer();
  const late = start("ADD", containerID, pod, waiting("start"));
  await node.until("the interface", () => pod.addresses("eth0").length > 0);
  await late.stop();
  await node.del({ containerID, netns: pod.path });
  pod.delete();
  const again = await node.call("ADD", { containerID, netns: next.path });
  late.goOn();
  expect((await late.reply).json).toMatchObject({ code: 8 });
  await expectWhole(containerID, next, again);
  await expectNothingAfterDel(containerID, next);
});

test("one that was held before it read anything leaves the interface of the next alone, though its own namespace stands", async () => {
  using pod = new TestNetns();
  using next = new TestNetns();
  await using gate = closedGate();
  const containerID = await newContainer();
  const late = start("ADD", containerID, pod, { readiness_gates: [gate.url] });
  await gate.asked;
  await node.del({ containerID, netns: pod.path });
  const again = await node.call("ADD", { containerID, netns: next.path });
  gate.open();
  expect((await late.reply).json).toMatchObject({ code: 11, msg: expect.stringContaining(`a newer ADD has it in "${next.path}"`) });
  expect(pod.link("eth0")).toBeUndefined();
  await expectWhole(containerID, next, again);
  await expectNothingAfterDel(containerID, next);
});

test("one whose DEL did not wait for it keeps nothing, though its namespace stands", async () => {
  using pod = new TestNetns();
  const containerID = await newContainer();
  const late = start("ADD", containerID, pod, waiting("start"));
  await node.until("the interface", () => pod.addresses("eth0").length > 0);
  await late.stop();
  await node.del({ containerID, netns: pod.path });
  late.goOn();
  expect((await late.reply).json).toMatchObject({ code: 11, msg: expect.stringContaining("a DEL or GC has ended it meanwhile") });
  expect([await node.addressesInUse(), pod.link("eth0"), await node.endpoints()]).toEqual([0, undefined, []]);
});

test("nor does one whose runtime has ended, and that the next one's GC found without an attachment", async () => {
  using pod = new TestNetns();
  const containerID = await newContainer();
  const runtimeFile = join(node.folder, `${containerID}.runtime`);
  const asRuntime = `[ "$CALLED" ] || { echo $$ > ${runtimeFile}; exec 3<&0; CALLED=1 "$0" <&3 3<&- & wait; exit; }`;
  const late = start("ADD", containerID, pod, waiting("start"), asRuntime);
  await node.until("the interface", () => pod.addresses("eth0").length > 0);
  await late.stop();
  process.kill(Number(readFileSync(runtimeFile, "utf8")), "SIGKILL");
  expect((await node.call("GC", { config: node.config({ "cni.dev/valid-attachments": [] }) })).stdout).toBe("");
  late.goOn();
  expect((await late.reply).json).toMatchObject({ code: 11, msg: expect.stringContaining("a DEL or GC has ended it meanwhile") });
  expect([await node.addressesInUse(), pod.link("eth0"), await node.endpoints()]).toEqual([0, undefined, []]);
});

test("one beside which its runtime calls GC gets what it wants", async () => {
  using pod = new TestNetns();
  const containerID = await newContainer();
  const add = start("ADD", containerID, pod, waiting("start"));
  await node.until("the interface", () => pod.addresses("eth0").length > 0);
  expect((await node.call("GC", { config: node.config({ "cni.dev/valid-attachments": [] }) })).stdout).toBe("");
  await expectWhole(containerID, pod, await add.reply);
  await expectNothingAfterDel(containerID, pod);
});

test.each(["ADD", "DEL"] as const)(
  "nor does a %s that was stopped before it did anything take what the container has again",
  async (verb) => {
    using pod = new TestNetns();
    using next = new TestNetns();
    const containerID = await newContainer();
    const late = start(verb, containerID, pod, {}, "kill -STOP $$");
    await node.until("its stop", () => late.isStopped());
    expect(await node.addressesInUse()).toBe(0);
    const again = await node.call("ADD", { containerID, netns: next.path });
    late.goOn();
    expect((await late.reply).json).toEqual(
      verb === "DEL"
        ? undefined
        : expect.objectContaining({ code: 11, msg: expect.stringContaining(`a newer ADD has it in "${next.path}"`) }),
    );
    await expectWhole(containerID, next, again);
    await expectNothingAfterDel(containerID, next);
  },
);

test("a shell that has called ADD, and becomes the DEL, without a namespace, is none that comes late", async () => {
  using pod = new TestNetns();
  const containerID = await newContainer();
  const [plugin, config] = [join(node.folder, `${containerID}.sh`), join(node.folder, `${containerID}.json`)];
  const netplug = `${pluginPath("netplug")} < ${config}`;
  const lines = [`cat > ${config}`, `CNI_COMMAND=ADD CNI_NETNS=${pod.path} ${netplug}`, `exec ${netplug}`];
  writeFileSync(plugin, ["#!/bin/sh", ...lines, ""].join("\n"), { mode: 0o755 });
  const reply = await node.call("DEL", { plugin, containerID, config: node.config(), args: argsOf(containerID) });
  expect([reply.status, reply.json?.ips?.length]).toEqual([0, 1]);
  expect([await node.addressesInUse(), pod.link("eth0"), nodePlace.link(node.hostSide(containerID))]).toEqual([0, undefined, undefined]);
});
