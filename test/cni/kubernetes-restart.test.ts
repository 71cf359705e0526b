/** ADDs while the API server starts: it listens before it knows what it serves, and whom it permits what. */

import { expect } from "bun:test";
import type { CniReply } from "../support/programs/cni.ts";
import { TestNetns } from "../support/node/netns.ts";
import { startPodWorldOnKubernetes } from "../support/node/pod-world.ts";
import { createPod, podArgs } from "../support/servers/kubernetes.ts";
import { onApiServer } from "../support/servers/on-api-server.ts";

const [test, { api, node }] = onApiServer(() => startPodWorldOnKubernetes({ cidrs: ["10.65.0.0/24"] }));

/** So many that some ask for the first time in the tenth of a second, or so, in which it answers that it does not know its paths yet. */
const PODS = Array.from({ length: 12 }, (_, index) => `web-${index}`);

test("succeed, or fail with code 11 for want of a connection, and nothing leaks (needs cluster)", async () => {
  using pods = new DisposableStack();
  const replies: CniReply[] = [];
  let isReady = false;
  await Promise.all(PODS.map((name) => createPod(api, { name, spec: { nodeName: "node-a" } })));
  const calls = PODS.map((name) => ({ args: podArgs({ namespace: "default", name }), netns: pods.use(new TestNetns()).path }));
  await api.server.stop();
  await api.server.launch();
  const adding = calls.map(async (call) => {
    for (let isLast = false; !isLast;) {
      isLast = isReady;
      const attachment = { ...call, containerID: node.newContainerID() };
      replies.push(await node.call("ADD", attachment));
      if (!isLast) await node.call("DEL", attachment);
    }
  });
  await api.server.untilReady();
  isReady = true;
  await Promise.all(adding);
  const failed = replies.flatMap(({ status, json }) => (status === 0 ? [] : [`${json?.code} ${json?.msg}`]));
  expect(failed.filter((text) => !/^11 .*: connection refused$/.test(text))).toEqual([]);
  expect([await node.addressesInUse(), (await node.endpoints()).length]).toEqual([PODS.length, PODS.length]);
  expect((await node.call("GC", { config: node.config({ "cni.dev/valid-attachments": [] }) })).status).toBe(0);
  expect(JSON.parse(await node.ctl(["ipam", "check", "-o", "json"]))).toMatchObject({ problems: [] });
  expect([await node.addressesInUse(), await node.endpoints()]).toEqual([0, []]);
});
