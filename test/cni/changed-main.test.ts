/**
 * A network whose config goes from another main plugin to `netplug` under a running pod: its address is nobody's while the old interface
 * stands.
 */

import { beforeEach, expect, test } from "bun:test";
import { rmSync } from "node:fs";
import { join } from "node:path";
import type { Json } from "../support/programs/cni-call.ts";
import { TestNetns } from "../support/node/netns.ts";
import { share } from "../support/share.ts";
import { TestNode } from "../support/node/test-node.ts";

let containerID: string;
/** Of a container that never was. */
let other: { readonly containerID: string };
const node = share(() => TestNode.start(["10.65.0.0/24"]));
beforeEach(() => {
  containerID = node.newContainerID();
  other = { containerID: node.newContainerID() };
});

const ptp = (): Json => node.config({ cniVersion: "1.0.0", type: "ptp" });
const nowhere = (): Json => node.config(node.datastore.nowhere);

/** As pods are that an older version of ours has added: nothing says by whom. */
function forgetHolds(): void {
  rmSync(join(node.folder, "attached"), { recursive: true, force: true });
}

test.each(["known", "not known"])(
  "a DEL that fails keeps the address of ptp until the namespace is gone; who added it is %s",
  async (known) => {
    using pod = new TestNetns();
    expect((await node.call("ADD", { plugin: "ptp", containerID, netns: pod.path, config: ptp() })).status).toBe(0);
    if (known === "not known") forgetHolds();
    expect((await node.call("DEL", { containerID, netns: pod.path, config: nowhere() })).json).toMatchObject({ code: 11 });
    await node.del(other);
    expect([pod.link("eth0") !== undefined, await node.addressesInUse()]).toEqual([true, 1]);
    pod.delete();
    await node.del(other);
    expect(await node.addressesInUse()).toBe(0);
  },
);

test.each(["known", "not known"])(
  "that of netplug itself is released at once: its interface is gone; who added it is %s",
  async (known) => {
    using pod = new TestNetns();
    await node.add(pod, { containerID });
    if (known === "not known") forgetHolds();
    expect((await node.call("DEL", { containerID, netns: pod.path, config: nowhere() })).json).toMatchObject({ code: 11 });
    expect(await node.addressesInUse()).toBe(1);
    await node.del(other);
    expect(await node.addressesInUse()).toBe(0);
  },
);

test("without a namespace that tells, a DEL that fails leaves the address of ptp to its runtime and to GC", async () => {
  using pod = new TestNetns();
  expect((await node.call("ADD", { plugin: "ptp", containerID, netns: pod.path, config: ptp() })).status).toBe(0);
  expect((await node.call("DEL", { containerID, config: nowhere() })).json).toMatchObject({ code: 11 });
  await node.del(other);
  expect(await node.addressesInUse()).toBe(1);
  await node.del({ containerID, netns: pod.path });
  expect(await node.addressesInUse()).toBe(0);
});
