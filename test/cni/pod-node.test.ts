/** Pods that Kubernetes has bound to a node of another name than this one's, beside etcd or on the Kubernetes datastore. */

import { beforeEach, expect } from "bun:test";
import type { Json } from "../support/programs/cni-call.ts";
import { startFaultProxy } from "../support/servers/fault-proxy.ts";
import { createNode, createPod, grantReadOnly, podArgs, type TestPod } from "../support/servers/kubernetes.ts";
import { TestNetns } from "../support/node/netns.ts";
import { isOnEtcd } from "../support/node/node-datastore.ts";
import { onApiServer } from "../support/servers/on-api-server.ts";
import { startPodWorld } from "../support/node/pod-world.ts";
import { AttachedPod } from "./support/attached-pod.ts";

const [test, world] = onApiServer(
  () => startPodWorld({ cidrs: ["10.65.0.0/24"], rights: ["pods", "namespaces", "nodes"] }),
  async ({ api, node }) => {
    if (isOnEtcd) await createNode(api, node.nodename, []);
  },
);
const { node } = world;

let count = 0;
const makePod = async (nodeName: string): Promise<TestPod> => await createPod(world.api, { name: `web-${count++}`, spec: { nodeName } });

const warnings = (pod: TestPod): readonly unknown[] =>
  node
    .logLines()
    .filter((line) => line["level"] === "WARNING" && String(line["msg"]).includes(`"default/${pod.name}"`))
    .map(({ msg }) => msg);

beforeEach(async () => expect(await node.addressesInUse()).toBe(0));

test("a pod of another node is refused by a node that has a name of the cluster's, whatever calls it (needs cluster)", async () => {
  const pod = await makePod("node-b");
  const withoutUid = podArgs({ namespace: pod.namespace, name: pod.name });
  const config = world.config();
  const ownName = { ...config, kubernetes: { ...(config["kubernetes"] as Json), node_name: "node-b" } };
  for (const call of [
    { args: pod.args, config },
    { args: pod.args, config: ownName },
    { args: withoutUid, config },
    { args: withoutUid, config, plugin: "netplug-ipam" },
  ] as const) {
    using netns = new TestNetns();
    const { json } = await node.call("ADD", { ...call, containerID: node.newContainerID(), netns: netns.path });
    const msg =
      `find pod "default/${pod.name}": it is on node "node-b", and the name here is "node-a", which is another node's; ` +
      'correct "nodename", unless the pod was deleted and made anew there';
    expect([json?.code, json?.msg, netns.link("eth0"), await node.addressesInUse()]).toEqual([106, msg, undefined, 0]);
  }
});

test("of a pod that was made anew on another node only that is said, and no name is to be corrected (needs cluster)", async () => {
  const pod = await makePod("node-b");
  using netns = new TestNetns();
  const call = { args: podArgs({ ...pod, uid: "uid-before" }), containerID: node.newContainerID(), netns: netns.path };
  const { json } = await node.call("ADD", { ...call, config: world.config() });
  expect([json?.code, json?.msg]).toEqual([106, expect.stringContaining("K8S_POD_UID")]);
});

test("a node with a name that no node of the cluster has gives addresses, and warns where labels are the cluster's (needs cluster)", async () => {
  const pod = await makePod("node-b");
  await using _attached = await AttachedPod.add(world, pod, world.config({ nodename: "rack-7" }));
  const warning = `pod "default/${pod.name}" is on node "node-b", and the name here is "rack-7": pools' nodeSelector sees no labels of that node; set "nodename" to its name`;
  expect(warnings(pod)).toEqual(isOnEtcd ? [] : [warning]);
});

test("the name that Kubernetes has for the node, or its own name, is no cause for a warning (needs cluster)", async () => {
  const pod = await makePod("node-b");
  const config = world.config({ nodename: "rack-7" });
  const kubernetes = { ...(config["kubernetes"] as Json), node_name: "node-b" };
  const own = await makePod("node-a");
  await using _attached = await AttachedPod.add(world, pod, { ...config, kubernetes });
  await using _own = await AttachedPod.add(world, own);
  expect([...warnings(pod), ...warnings(own)]).toEqual([]);
});

test("no address is given while it is not known whether the name is another node's (needs cluster)", async () => {
  const pod = await makePod("node-b");
  await using proxy = await startFaultProxy(world.api);
  proxy.decide = ({ resource }) => (resource === "nodes/node-a" ? { status: 400 } : "pass");
  using netns = new TestNetns();
  const config = world.config({ kubernetes: { k8s_api_root: proxy.url } });
  const { json } = await node.call("ADD", { args: pod.args, config, containerID: node.newContainerID(), netns: netns.path });
  expect([json?.code, netns.link("eth0"), await node.addressesInUse()]).toEqual([5, undefined, 0]);
});

// The plugin's role on the Kubernetes datastore has nodes in any case.
if (isOnEtcd)
  test("where nodes may not be read its name is not compared: addresses were given there before nodes were asked for (needs cluster)", async () => {
    await grantReadOnly(world.api, "narrow", ["pods", "namespaces"]);
    const pod = await makePod("node-b");
    const { kubeconfigFile: kubeconfig } = world.api.issue("narrow");
    await using _attached = await AttachedPod.add(world, pod, world.config({ kubernetes: { kubeconfig } }));
    expect(await node.addressesInUse()).toBe(1);
  });
