/** `host-local` with the node's pod CIDR from a real API server. */

import { describe, expect } from "bun:test";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import type { CniReply } from "../support/programs/cni.ts";
import type { Json } from "../support/programs/cni-call.ts";
import { createNode, createPod, grantReadOnly } from "../support/servers/kubernetes.ts";
import { KubernetesNodeDatastore } from "../support/node/kubernetes-node-datastore.ts";
import { TestNetns } from "../support/node/netns.ts";
import { isOnEtcd } from "../support/node/node-datastore.ts";
import { onApiServer } from "../support/servers/on-api-server.ts";
import { startPodWorld } from "../support/node/pod-world.ts";

const [test, world] = onApiServer(
  () => startPodWorld({ cidrs: [], rights: ["nodes"] }),
  async ({ api, node }) => {
    if (node.datastore instanceof KubernetesNodeDatastore) {
      node.datastore.makesPods = true;
      const spec = { podCIDR: "10.244.3.0/24", podCIDRs: ["10.244.3.0/24", "fd44:3::/64"] };
      await api.kubectl(["patch", "node", "node-a", "-p", JSON.stringify({ spec })]);
    } else await createNode(api, "node-a", ["10.244.3.0/24", "fd44:3::/64"]);
    await createNode(api, "only-six", ["fd44:6::/64"]);
    await createNode(api, "without", []);
  },
);
const { api, node } = world;

const dataDir = (): string => join(node.folder, "host-local");
const hostLocal = (ipam: Json, kubernetes: Json = {}): Json => {
  const { ipam: _, ...config } = node.config({ kubernetes: { kubeconfig: world.kubeconfig, ...kubernetes } });
  return { ...config, ipam: { type: "host-local", dataDir: dataDir(), ...ipam } };
};
/** What `host-local` has given and not released. */
const reserved = (): readonly string[] => {
  try {
    return readdirSync(join(dataDir(), "test-net")).filter((name) => !/lock|last_/.test(name));
  } catch {
    return [];
  }
};

/** The addresses that an ADD gives; CHECK and DEL follow, where that can be without API server. */
async function addressesWith(config: Json): Promise<readonly string[]> {
  using netns = new TestNetns();
  const call = { containerID: node.newContainerID(), netns: netns.path, args: "K8S_POD_NAMESPACE=default;K8S_POD_NAME=web" };
  const result = await node.add(netns, { ...call, config });
  const addresses = result.ips?.map(({ address }) => address) ?? [];
  expect(netns.addresses("eth0")).toEqual([...addresses]);
  expect(reserved()).toHaveLength(addresses.length);
  const withoutApi = isOnEtcd ? { ...config, kubernetes: { kubeconfig: "/nowhere" } } : config;
  const check = await node.call("CHECK", { ...call, config: { ...withoutApi, prevResult: result } });
  expect([check.status, check.stdout]).toEqual([0, ""]);
  await node.del({ ...call, config: withoutApi });
  expect(reserved()).toEqual([]);
  return addresses;
}

async function refusal(config: Json): Promise<{ readonly code: number | undefined; readonly msg: string | undefined }> {
  using netns = new TestNetns();
  const reply: CniReply = await node.call("ADD", { containerID: node.newContainerID(), netns: netns.path, config });
  expect([reply.status, netns.link("eth0"), reserved(), await node.endpoints()]).toEqual([1, undefined, [], []]);
  return { code: reply.json?.code, msg: reply.json?.msg };
}

const V4 = /^10\.244\.3\.\d+\/32$/;
const V6 = /^fd44:3::[\da-f]+\/128$/;

test("addresses that no pool holds are no problem where host-local gave them (needs cluster)", async () => {
  using netns = new TestNetns();
  const config = hostLocal({ ranges: [[{ subnet: "usePodCidr" }], [{ subnet: "usePodCidrIPv6" }]] });
  await createPod(api, { name: "housed", namespace: "default", spec: { nodeName: "node-a" } });
  const call = { containerID: node.newContainerID(), netns: netns.path, args: "K8S_POD_NAMESPACE=default;K8S_POD_NAME=housed" };
  await node.add(netns, { ...call, config });
  for (const [index, cidr] of ["10.65.0.0/24", "fd65::/112"].entries()) {
    const pool = { apiVersion: "netplug.io/v3", kind: "IPPool", metadata: { name: `pool-${index}` }, spec: { cidr } };
    await node.ctl(["create", "-f", "-"], JSON.stringify(pool));
  }
  expect(await node.ctl(["ipam", "check"])).toContain("found 0 problems\n");
  await node.ctl(["delete", "ippools", "pool-0", "pool-1"]);
  await node.del({ ...call, config });
});

describe("the node's pod CIDR", () => {
  test.each<[string, Json, readonly RegExp[]]>([
    ["top level", { subnet: "usePodCidr" }, [V4]],
    ["top level, IPv6, in another case", { subnet: "USEPODCIDRipv6" }, [V6]],
    ["ranges of both families", { ranges: [[{ subnet: "usePodCidr" }], [{ subnet: "usePodCidrIPv6", gateway: "nonsense" }]] }, [V4, V6]],
    ["top level and a range", { subnet: "usePodCidr", ranges: [[{ subnet: "usePodCidrIPv6" }]] }, [V4, V6]],
    [
      "a range beside another",
      { ranges: [[{ subnet: "usePodCidr" }, { subnet: "10.99.0.0/24" }], [{ subnet: "fd99::/64" }]] },
      [V4, /^fd99::/],
    ],
    ["a range with its first address", { ranges: [[{ subnet: "usePodCidr", rangeStart: "10.244.3.50" }]] }, [/^10\.244\.3\.50\//]],
  ])("is the subnet at %s (needs cluster)", async (_where, ipam, wanted) => {
    const addresses = await addressesWith(hostLocal(ipam));
    expect(addresses.toSorted()).toEqual(wanted.map((one) => expect.stringMatching(one)));
  });

  test("is that of kubernetes.node_name where the node has another name there (needs cluster)", async () => {
    const config = { ...hostLocal({ subnet: "usePodCidrIPv6" }, { node_name: "only-six" }), nodename: "no-such-node" };
    expect(await addressesWith(config)).toEqual([expect.stringMatching(/^fd44:6::/)]);
  });

  test("is read beside the pod with policy.type k8s, whose annotations of addresses are code 105 (needs cluster)", async () => {
    if (isOnEtcd) await grantReadOnly(api, "all");
    const access = isOnEtcd ? { kubeconfig: api.issue("all").kubeconfigFile } : {};
    const both = { ...hostLocal({ subnet: "usePodCidr" }, access), policy: { type: "k8s" } };
    const pod = await createPod(api, { name: "plain", labels: { app: "web" } });
    using netns = new TestNetns();
    const call = { containerID: node.newContainerID(), netns: netns.path, args: pod.args, config: both };
    const result = await node.add(netns, call);
    expect(result.ips).toEqual([expect.objectContaining({ address: expect.stringMatching(V4) })]);
    expect(await world.record(pod)).toMatchObject({ metadata: { labels: { app: "web" } }, spec: { profiles: ["kns.default"] } });
    expect(await node.add(netns, call)).toEqual(result);
    await node.del(call);

    const asking = await createPod(api, { name: "asking", annotations: { ipAddrs: '["10.244.3.9"]' } });
    const refused = await node.call("ADD", { ...call, containerID: node.newContainerID(), args: asking.args });
    expect([refused.json?.code, refused.json?.msg]).toEqual([105, expect.stringContaining('"ipam.type" is "host-local"')]);
    expect(reserved()).toEqual([]);
  });
});

describe("code 107, naming the node, for", () => {
  test.each<[string, Json, Json, string]>([
    [
      "a node that is not there",
      { subnet: "usePodCidr" },
      { node_name: "no-such-node" },
      'find node "no-such-node": the API server has no such node; set "kubernetes.node_name" to the name that it has there',
    ],
    [
      "a node without pod CIDR",
      { subnet: "usePodCidr" },
      { node_name: "without" },
      'node "without" has no IPv4 pod CIDR; its pod CIDRs are none',
    ],
    [
      "a family that it has not",
      { ranges: [[{ subnet: "usePodCidr" }]] },
      { node_name: "only-six" },
      'node "only-six" has no IPv4 pod CIDR; its pod CIDRs are "fd44:6::/64"',
    ],
  ])("%s (needs cluster)", async (_what, ipam, kubernetes, message) => {
    const { code, msg } = await refusal(hostLocal(ipam, kubernetes));
    expect([code, msg]).toEqual([107, expect.stringContaining(message)]);
    const status = await node.call("STATUS", { config: hostLocal(ipam, kubernetes) });
    expect(status.json).toMatchObject({ code: 50, msg: expect.stringContaining(message) });
  });
});

const OF_SUBNET = 'which is a value of "subnet" only; ';

test.each<[place: string, word: string, ipam: Json, hint: string]>([
  ["ipam.rangeStart", "usePodCidr", { subnet: "10.0.0.0/24", rangeStart: "usePodCidr" }, ""],
  ["ipam.rangeStart", "usePodCidr", { subnet: "usePodCidr", rangeStart: "usePodCidr" }, OF_SUBNET],
  ["ipam.ranges[0][0].rangeEnd", "usePodCidrIPv6", { ranges: [[{ subnet: "usePodCidr", rangeEnd: "usePodCidrIPv6" }]] }, OF_SUBNET],
])("%s takes no pod CIDR, such as %s: code 7, and STATUS says so (needs cluster)", async (place, word, ipam, hint) => {
  const msg = `read "${place}": got "${word}", ${hint}want an address`;
  expect(await refusal(hostLocal(ipam))).toEqual({ code: 7, msg });
  expect((await node.call("STATUS", { config: hostLocal(ipam) })).json).toMatchObject({ code: 50, msg });
  // Nor does it take an API server to say so.
  const away = isOnEtcd ? { k8s_api_root: "https://127.0.0.1:1" } : {};
  expect(await refusal(hostLocal(ipam, away))).toEqual({ code: 7, msg });
});

test("a missing right is code 108 with the role (needs cluster)", async () => {
  const { code, msg } = await refusal(hostLocal({ subnet: "usePodCidr" }, { kubeconfig: api.issue("nobody").kubeconfigFile }));
  expect([code, msg]).toEqual([108, expect.stringMatching(/^get [a-z.]+ is not permitted; role netplug-cni/)]);
});

test("STATUS is silent when the CIDR is there, and a config without the words needs no API server (needs cluster)", async () => {
  const fine = await node.call("STATUS", { config: hostLocal({ subnet: "usePodCidr" }) });
  expect([fine.status, fine.stdout]).toEqual([0, ""]);
  expect(await addressesWith(hostLocal({ subnet: "10.98.0.0/24" }, isOnEtcd ? { kubeconfig: "/nowhere" } : {}))).toEqual([
    expect.stringMatching(/^10\.98\.0\./),
  ]);
});

// Last: it stops the API server.
test("a DEL releases the addresses without an API server, and says so where that is the datastore (needs cluster)", async () => {
  using netns = new TestNetns();
  const config = hostLocal({ ranges: [[{ subnet: "usePodCidr" }], [{ subnet: "usePodCidrIPv6" }]] });
  await createPod(api, { name: "late", namespace: "default", spec: { nodeName: "node-a" } });
  const args = "K8S_POD_NAMESPACE=default;K8S_POD_NAME=late";
  const call = { containerID: node.newContainerID(), netns: netns.path, args, config };
  await node.add(netns, call);
  expect(reserved()).toHaveLength(2);
  await api.server.stop();
  try {
    const { json } = await node.call("DEL", call);
    expect(json?.code).toBe(isOnEtcd ? undefined : 11);
    expect([reserved(), netns.link("eth0")]).toEqual([[], undefined]);
  } finally {
    await api.server.start();
  }
  await node.del(call);
  expect(await node.endpoints()).toEqual([]);
});
