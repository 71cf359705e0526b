/**
 * What a killed ADD has sent comes after the DEL, or after the next ADD: the pod never shows an address that is not its own, and no address is
 * lost.
 */

import { expect } from "bun:test";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { eventually } from "../support/time/eventually.ts";
import type { Fate } from "../support/servers/fault-proxy.ts";
import { pluginPath } from "../support/programs/cni.ts";
import type { AttachmentCall, Json } from "../support/programs/cni-call.ts";
import { createPod, type TestPod } from "../support/servers/kubernetes.ts";
import { TestNetns } from "../support/node/netns.ts";
import { onApiServer } from "../support/servers/on-api-server.ts";
import { annotationsOf } from "../support/servers/pod-records.ts";
import { startProxiedNode } from "./support/proxied-node.ts";

const [test, { api, node, proxy }] = onApiServer(() => startProxiedNode(["10.65.0.0/24"]));

/** What the pod's status says of its network. */
async function recordOf(pod: string): Promise<Json> {
  const annotations = await annotationsOf(api, { namespace: "default", name: pod });
  return { containerID: annotations["cni.netplug.io/containerID"], podIPs: annotations["cni.netplug.io/podIPs"] };
}

/** Kills an ADD when its last request is on its way, or its first write. @returns what lets that request arrive: what it is answered */
async function killBeforeStatus(attachment: AttachmentCall, methods: readonly string[] = ["PATCH"]): Promise<() => Promise<string>> {
  const isHeld = Promise.withResolvers<void>();
  const mayPass = Promise.withResolvers<void>();
  proxy.decide = async ({ method }): Promise<Fate> => {
    if (!methods.includes(method)) return "pass";
    proxy.decide = () => "pass";
    isHeld.resolve();
    await mayPass.promise;
    return "pass";
  };
  const pidFile = join(node.folder, `${attachment.containerID}.pid`);
  const plugin = join(node.folder, `${attachment.containerID}.sh`);
  writeFileSync(plugin, `#!/bin/sh\necho $$ > ${pidFile}\nexec ${pluginPath("netplug")}\n`, { mode: 0o755 });
  const running = node.call("ADD", { ...attachment, plugin });
  await isHeld.promise;
  process.kill(Number(readFileSync(pidFile, "utf8")), "SIGKILL");
  await running;
  return async () => {
    proxy.answered.length = 0;
    mayPass.resolve();
    return await eventually(() => {
      const answer = proxy.answered.find((one) => methods.includes(one.split(" ", 1)[0] ?? ""));
      if (answer === undefined) throw new Error("the request that was held has no answer yet");
      return answer.split(" ").at(-1) ?? "";
    });
  };
}

function attachmentOf({ args }: TestPod, netns: TestNetns): AttachmentCall {
  return { containerID: node.newContainerID(), netns: netns.path, args, config: node.config({ kubernetes: { k8s_api_root: proxy.url } }) };
}

test("a request that arrives after the DEL of its ADD is refused, and the pod shows no address (needs cluster)", async () => {
  using netns = new TestNetns();
  const pod = await createPod(api, { name: "after-del" });
  const attachment = attachmentOf(pod, netns);
  const arrive = await killBeforeStatus(attachment);
  await node.del(attachment);
  expect(await arrive()).toBe("422");
  expect(await recordOf(pod.name)).toEqual({ containerID: attachment.containerID, podIPs: "" });
  expect(await node.addressesInUse()).toBe(0);
});

test("a request that arrives after the ADD of the pod's next container is refused, and the pod keeps its address (needs cluster)", async () => {
  using oldNetns = new TestNetns();
  using netns = new TestNetns();
  const pod = await createPod(api, { name: "after-add" });
  const old = attachmentOf(pod, oldNetns);
  const next = attachmentOf(pod, netns);
  const arrive = await killBeforeStatus(old);
  await node.del(old);
  const { ips } = await node.add(netns, next);
  expect(await arrive()).toBe("422");
  expect(await recordOf(pod.name)).toEqual({ containerID: next.containerID, podIPs: ips?.[0]?.address });
  await node.del(next);
  expect(await node.addressesInUse()).toBe(0);
});

test("a request for a container that was not the pod's first shows its address after the DEL, until the pod's next ADD (needs cluster)", async () => {
  using firstNetns = new TestNetns();
  using oldNetns = new TestNetns();
  using netns = new TestNetns();
  const pod = await createPod(api, { name: "restarted" });
  const first = attachmentOf(pod, firstNetns);
  await node.add(firstNetns, first);
  await node.del(first);
  const old = attachmentOf(pod, oldNetns);
  const arrive = await killBeforeStatus(old);
  await node.del(old);
  // the DEL leaves alone what is another container's, though that has no addresses any more
  expect(await recordOf(pod.name)).toEqual({ containerID: first.containerID, podIPs: "" });
  expect(await arrive()).toBe("200");
  expect([(await recordOf(pod.name))["containerID"], await node.addressesInUse()]).toEqual([old.containerID, 0]);
  const next = attachmentOf(pod, netns);
  const { ips } = await node.add(netns, next);
  expect(await recordOf(pod.name)).toEqual({ containerID: next.containerID, podIPs: ips?.[0]?.address });
  await node.del(next);
});

test("a block that is written after the DEL of its ADD is released by the node's next DEL, when nothing can arrive any more (needs cluster)", async () => {
  const netns = new TestNetns();
  const pod = await createPod(api, { name: "late-block" });
  const attachment = attachmentOf(pod, netns);
  const arrive = await killBeforeStatus(attachment, ["POST", "PUT"]);
  await node.del(attachment);
  expect(await arrive()).toMatch(/^20[01]$/);
  expect(await node.addressesInUse()).toBe(1);
  netns.delete();
  const note = join(node.folder, "unreleased", `test-net@${attachment.containerID}@eth0`);
  // as if a minute had passed
  const [path = "", until = "", ...rest] = readFileSync(note, "utf8").split("\n");
  expect(Number(until)).toBeGreaterThan(Date.now());
  writeFileSync(note, [path, "1", ...rest].join("\n"));
  using other = new TestNetns();
  await node.del(attachmentOf(await createPod(api, { name: "next" }), other));
  expect(await node.addressesInUse()).toBe(0);
  expect(existsSync(note)).toBe(false);
});
