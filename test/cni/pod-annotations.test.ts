/**
 * What pods and namespaces ask for by annotation, on a real API server, beside etcd or as the datastore: seen by kubectl, etcdctl and ip.
 */

import { beforeEach, describe, expect } from "bun:test";
import type { Json } from "../support/programs/cni-call.ts";
import { type CniJson, hostInterfaceName } from "../support/programs/cni.ts";
import { createNamespace, createPod, type PodTemplate, type TestPod } from "../support/servers/kubernetes.ts";
import { nodePlace, TestNetns } from "../support/node/netns.ts";
import { isOnEtcd, onEtcd } from "../support/node/node-datastore.ts";
import { onApiServer } from "../support/servers/on-api-server.ts";
import { startPodWorld } from "../support/node/pod-world.ts";
import { shownValue } from "../support/shown-value.ts";
import { AttachedPod } from "./support/attached-pod.ts";

const [test, world] = onApiServer(
  () => startPodWorld({ cidrs: ["10.65.0.0/24", "fd65::/112"], rights: ["pods", "namespaces"] }),
  async ({ node }) => {
    await node.createPool("blue", { cidr: "10.66.0.0/24", assignmentMode: "Manual" });
    await node.createPool("blue-6", { cidr: "fd66::/112", assignmentMode: "Manual" });
  },
);
const { node } = world;

const podConfig = (extra: Json = {}): Json => world.config(extra);

let count = 0;
async function makePod(annotations: PodTemplate["annotations"] = {}, more: Partial<PodTemplate> = {}): Promise<TestPod> {
  return await createPod(world.api, { name: `web-${count++}`, annotations, ...more });
}

/** An ADD that must fail, and leave nothing: all keys stay as they are, as far as `look` shows them. */
async function refusal(
  pod: Pick<TestPod, "args" | "namespace" | "name">,
  config: Json = podConfig(),
  look: () => Promise<readonly unknown[]> = () => node.keys(),
): Promise<Required<Pick<CniJson, "code" | "msg">>> {
  using netns = new TestNetns();
  const before = await look();
  const reply = await node.call("ADD", { containerID: node.newContainerID(), netns: netns.path, args: pod.args, config });
  expect(reply.status).toBe(1);
  expect(await look()).toEqual(before);
  expect(netns.link("eth0")).toBeUndefined();
  expect(nodePlace.link(hostInterfaceName({ namespace: pod.namespace, pod: pod.name }))).toBeUndefined();
  return { code: reply.json?.code ?? 0, msg: reply.json?.msg ?? "" };
}

/** All keys but for what a block notes of one address that was given and released: that it cools down, and is given after the others. */
async function keysWithoutCooldown(ordinal: number): Promise<readonly unknown[]> {
  const keys = await node.keys();
  if (isOnEtcd) return keys; // their names alone
  return keys.map((key) => {
    const { allocations, ...rest } = JSON.parse(key) as Json;
    if (typeof allocations !== "string") return JSON.parse(key) as Json;
    const { free, emptySince, released, ...block } = JSON.parse(allocations) as Json;
    const others = String(released)
      .split(",")
      .filter((note) => !note.startsWith(`${ordinal}:`));
    return { ...rest, block, others, isEmpty: emptySince !== undefined, hasFree: typeof free === "string" };
  });
}

beforeEach(async () => expect(await node.addressesInUse()).toBe(0));

test("the record has the pod's labels, ports, service account and profiles, and no network profile is made (needs cluster)", async () => {
  const pod = await makePod(
    {},
    {
      labels: { app: "web", "pcns.team": "others", "netplug.io/namespace": "others" },
      spec: {
        serviceAccountName: "seller",
        containers: [{ name: "main", image: "localhost/none:1", ports: [{ name: "http", containerPort: 80 }, { containerPort: 81 }] }],
        initContainers: [{ name: "first", image: "localhost/none:1", ports: [{ name: "dns", containerPort: 53, protocol: "UDP" }] }],
      },
    },
  );
  await using attached = await AttachedPod.add(world, pod);
  const { metadata, spec } = await attached.record();
  expect(metadata["labels"]).toEqual({
    app: "web",
    "netplug.io/namespace": "default",
    "netplug.io/orchestrator": "k8s",
    "netplug.io/serviceaccount": "seller",
  });
  expect(spec).toMatchObject({
    orchestrator: "k8s",
    pod: pod.name,
    serviceAccountName: "seller",
    profiles: ["kns.default", "ksa.default.seller"],
    ports: [
      { name: "http", protocol: "TCP", port: 80 },
      { name: "dns", protocol: "UDP", port: 53 },
    ],
    ipNetworks: attached.addresses,
  });
  expect(JSON.parse(await node.ctl(["get", "profiles", "-o", "json"]))).toMatchObject({ items: [] });
  expect((await attached.check()).stdout).toBe("");
});

test("the block names the pod and its UID in the API server, also of a mirror pod (needs cluster)", async () => {
  const owner = async (): Promise<string> =>
    isOnEtcd
      ? await node.etcd.ctl(["get", "/netplug/ipam/blocks/", "--prefix", "--print-value-only"])
      : await world.api.kubectl(["get", "ipamblocks", "-o", "json"]);
  const plain = await makePod();
  const mirror = await makePod({}, { otherAnnotations: { "kubernetes.io/config.mirror": "4f2b9c" }, spec: { nodeName: "node-a" } });
  {
    await using _attached = await AttachedPod.add(world, plain);
    expect(await owner()).toContain(plain.uid);
  }
  await using _attached = await AttachedPod.add(world, { ...mirror, args: mirror.args.replace(mirror.uid, "4f2b9c") });
  expect(await owner()).toContain(mirror.uid);
});

describe("addresses", () => {
  test("that the pod asks for are given, complete, with routes on both sides, and are the answer to a repeated ADD (needs cluster)", async () => {
    await using attached = await AttachedPod.add(world, await makePod({ ipAddrs: '["10.65.0.77", "fd65::77"]' }));
    const { netns, pod, call, result } = attached;
    expect(attached.addresses).toEqual(["10.65.0.77/32", "fd65::77/128"]);
    expect(netns.addresses("eth0")).toEqual(["10.65.0.77/32", "fd65::77/128"]);
    expect(netns.routes(4)).toContainEqual(expect.objectContaining({ dst: "default", gateway: "169.254.1.1" }));
    expect(netns.routes(6)).toContainEqual(expect.objectContaining({ dst: "default", gateway: "fe80::ecee:eeff:feee:eeee" }));
    const dev = hostInterfaceName({ namespace: "default", pod: pod.name });
    expect(nodePlace.routes(4)).toContainEqual(expect.objectContaining({ dst: "10.65.0.77", dev, protocol: "110" }));
    expect(nodePlace.routes(6)).toContainEqual(expect.objectContaining({ dst: "fd65::77", dev, protocol: "110" }));
    expect(await node.add(netns, call)).toEqual(result);
    expect((await attached.check()).stdout).toBe("");
  });

  test("of one family are all that the pod gets, and rank above pools, runtimeConfig, args and IP (needs cluster)", async () => {
    const pod = await makePod({ ipAddrs: '["10.65.0.78"]', ipv4pools: '["no-such-pool"]', ipFamilies: '["IPv6"]' });
    const config = podConfig({
      ipam: { assign_ipv6: "true" },
      runtimeConfig: { ips: ["10.65.0.1"] },
      args: { cni: { ips: ["10.65.0.2"] } },
    });
    await using attached = await AttachedPod.add(world, { ...pod, args: `${pod.args};IP=10.65.0.3` }, config);
    expect(attached.addresses).toEqual(["10.65.0.78/32"]);
  });

  test("of a pod are what counts, whatever is wrong with what ranks below them (needs cluster)", async () => {
    const pod = await makePod({ ipAddrs: '["10.65.0.78"]' });
    const config = podConfig({
      runtimeConfig: { ips: ["10.65.0.1", "10.65.0.2"] },
      args: { cni: { ips: ["10.65.0.3", "10.65.0.4"] } },
    });
    await using attached = await AttachedPod.add(world, { ...pod, args: `${pod.args};IP=10.65.0.5` }, config);
    expect(attached.addresses).toEqual(["10.65.0.78/32"]);
    const { code, msg } = await refusal(await makePod(), config);
    expect([code, msg]).toEqual([7, 'read "runtimeConfig.ips": got 2 IPv4 addresses, want at most one']);
    const wrongType = podConfig({ runtimeConfig: { ips: "10.65.0.1" } });
    expect((await refusal(await makePod({ ipAddrs: '["10.65.0.78"]' }), wrongType)).code).toBe(7);
  });

  test("that the pod does not ask for are those of the runtime, in their order (needs cluster)", async () => {
    const config = podConfig({ runtimeConfig: { ips: ["10.65.0.79"] }, args: { cni: { ips: ["10.65.0.2"] } } });
    await using attached = await AttachedPod.add(world, await makePod({ ipv4pools: '["blue"]' }), config);
    expect(attached.addresses).toEqual(["10.65.0.79/32"]);
  });

  test("outside of every pool are code 103, and one in use is code 102 and names the pod that has it (needs cluster)", async () => {
    const originOf = ({ name }: TestPod): string => ` from annotation "cni.netplug.io/ipAddrs" of pod "default/${name}": `;
    const outside = await makePod({ ipAddrs: '["192.0.2.1"]' });
    expect(await refusal(outside)).toMatchObject({ code: 103, msg: expect.stringContaining(originOf(outside)) });
    await using attached = await AttachedPod.add(world, await makePod({ ipAddrs: '["10.65.0.80"]' }));
    const late = await makePod({ ipAddrs: '["10.65.0.80"]' });
    const { code, msg } = await refusal(late);
    expect([code, msg]).toEqual([102, expect.stringContaining(`default/${attached.pod.name}`)]);
    expect(msg).toContain(originOf(late));
  });

  test.each([
    // the 21st of its block
    ["ipAddrs", "10.65.0.84", () => keysWithoutCooldown(20)],
    ["ipAddrsNoIpam", "192.0.2.84", () => node.keys()],
  ])(
    "by %s to which the node has a route are code 109, which names the annotation, and are tried once (needs cluster)",
    async (by, asked, look) => {
      nodePlace.must(["ip", "route", "add", `${asked}/32`, "dev", "lo"]);
      using _route = { [Symbol.dispose]: () => void nodePlace.must(["ip", "route", "del", `${asked}/32`, "dev", "lo"]) };
      const pod = await makePod({ [by]: `["${asked}"]` });
      const { code, msg } = await refusal(pod, podConfig({ feature_control: { ip_addrs_no_ipam: true } }), look);
      expect([code, msg]).toEqual([109, expect.stringContaining(`if nothing uses ${asked} there`)]);
      expect(msg).toEndWith(`; annotation "cni.netplug.io/${by}" of pod "default/${pod.name}" names it`);
      const logged = node.logLines().filter((line) => line["pod"] === `default/${pod.name}`);
      expect(logged.map(({ level }) => level)).toContain("ERROR");
      expect(logged.map(({ level }) => level)).not.toContain("WARNING"); // none of another try
    },
  );

  test("are asked for by each interface: a second one gets code 102, and the first goes on (needs cluster)", async () => {
    await using attached = await AttachedPod.add(world, await makePod({ ipAddrs: '["10.65.0.83"]' }));
    const { netns, call, pod, result } = attached;
    const second = { ...call, ifname: "net1" };
    const { json } = await node.call("ADD", second);
    expect([json?.code, json?.msg]).toEqual([
      102,
      expect.stringContaining(`"default/${pod.name}" (container "${call.containerID}", interface "eth0"`),
    ]);
    expect([netns.link("net1"), await node.addressesInUse()]).toEqual([undefined, 1]);
    await node.del(second);
    expect((await attached.check()).stdout).toBe("");
    expect(await node.add(netns, call)).toEqual(result);
  });

  test("both or none: when one cannot be given, the other is not kept (needs cluster)", async () => {
    await using _attached = await AttachedPod.add(world, await makePod({ ipAddrs: '["fd65::81"]' }));
    expect((await refusal(await makePod({ ipAddrs: '["10.65.0.81", "fd65::81"]' }))).code).toBe(102);
    expect(await node.addressesInUse()).toBe(1);
  });
});

describe("addresses without IPAM", () => {
  const open = (): Json => podConfig({ feature_control: { ip_addrs_no_ipam: true } });

  test("reach pod, routes and record, and no block; CHECK knows them, and so does it when the API server tells no more of them (needs cluster)", async () => {
    await using attached = await AttachedPod.add(world, await makePod({ ipAddrsNoIpam: '["192.0.2.7", "2001:db8::7"]' }), open());
    expect(attached.addresses).toEqual(["192.0.2.7/32", "2001:db8::7/128"]);
    expect(attached.netns.addresses("eth0")).toEqual(["192.0.2.7/32", "2001:db8::7/128"]);
    const dev = hostInterfaceName({ namespace: "default", pod: attached.pod.name });
    expect(nodePlace.routes(4)).toContainEqual(expect.objectContaining({ dst: "192.0.2.7", dev }));
    expect(nodePlace.routes(6)).toContainEqual(expect.objectContaining({ dst: "2001:db8::7", dev }));
    expect((await attached.record()).spec["ipNetworks"]).toEqual(["192.0.2.7/32", "2001:db8::7/128"]);
    expect(await node.addressesInUse()).toBe(0);
    expect((await attached.check()).stdout).toBe("");
    expect(await node.add(attached.netns, attached.call)).toEqual(attached.result);

    await world.api.kubectl(["annotate", "pod", attached.pod.name, "cni.netplug.io/ipAddrsNoIpam-"]);
    const { json } = await attached.check();
    expect(json).toMatchObject({ code: 113, msg: expect.stringContaining("the attachment has no address") });
  });

  test("are code 105 while their gate is closed, and 104 beside others even then (needs cluster)", async () => {
    const { code, msg } = await refusal(await makePod({ ipAddrsNoIpam: '["192.0.2.7"]' }));
    expect([code, msg]).toEqual([105, expect.stringContaining('set "feature_control.ip_addrs_no_ipam" to true')]);
    expect((await refusal(await makePod({ ipAddrsNoIpam: '["192.0.2.7"]', ipAddrs: '["10.65.0.82"]' }))).code).toBe(104);
  });
});

describe("pools", () => {
  test("of the pod come before the namespace's, those before the config's, family by family (needs cluster)", async () => {
    await createNamespace(world.api, "in-blue", { annotations: { ipv4pools: '["blue"]', ipv6pools: '["fd66::/112"]' } });
    const config = podConfig({ ipam: { assign_ipv6: "true", ipv4_pools: ["pool-0"] } });
    const inNamespace = { namespace: "in-blue" };
    {
      await using attached = await AttachedPod.add(world, await makePod({}, inNamespace), config);
      expect(attached.addresses).toEqual([expect.stringMatching(/^10\.66\.0\./), expect.stringMatching(/^fd66::/)]);
    }
    {
      await using attached = await AttachedPod.add(world, await makePod({ ipv4pools: '["10.65.0.0/24"]' }, inNamespace), config);
      expect(attached.addresses).toEqual([expect.stringMatching(/^10\.65\.0\./), expect.stringMatching(/^fd66::/)]);
    }
    for (const [pool, begin] of [
      ["pool-0", "10.65.0."],
      ["blue", "10.66.0."],
    ] as const) {
      await using attached = await AttachedPod.add(world, await makePod({ ipv4pools: "[]" }), podConfig({ ipam: { ipv4_pools: [pool] } }));
      expect(attached.addresses[0]).toStartWith(begin);
    }
  });

  test("that do not exist, are of the other family, or only a part of one, are code 100 (needs cluster)", async () => {
    for (const value of ['["no-such-pool"]', '["blue-6"]', '["10.66.0.0/25"]']) {
      expect((await refusal(await makePod({ ipv4pools: value }))).code).toBe(100);
    }
    await createNamespace(world.api, "lost", { annotations: { ipv4pools: '["gone"]' } });
    const pod = await makePod({}, { namespace: "lost" });
    const origin = `; annotation "cni.netplug.io/ipv4pools" of namespace "lost" for pod "lost/${pod.name}" names it`;
    expect(await refusal(pod)).toMatchObject({ code: 100, msg: expect.stringMatching(new RegExp(`^use pool "gone": .*${origin}$`)) });
  });

  test("with a namespaceSelector are for pods of the namespaces that it selects (needs cluster)", async () => {
    await node.createPool("selective", {
      cidr: "10.67.0.0/24",
      namespaceSelector: 'team == "red" || kubernetes.io/metadata.name == "named"',
    });
    await createNamespace(world.api, "team-red", { labels: { team: "red" } });
    await createNamespace(world.api, "named");
    const config = podConfig({ ipam: { ipv4_pools: [] } });
    // the block of another pool that the node may have comes first otherwise
    await node.ctl(["patch", "ippool", "pool-0", "-p", '{"spec":{"disabled":true}}']);
    try {
      for (const namespace of ["team-red", "named"]) {
        await using attached = await AttachedPod.add(world, await makePod({}, { namespace }), config);
        expect(attached.addresses[0]).toStartWith("10.67.0.");
      }
      const { code, msg } = await refusal(await makePod(), config);
      expect([code, msg]).toEqual([101, expect.stringContaining("namespaceSelector")]);
    } finally {
      await node.ctl(["patch", "ippool", "pool-0", "-p", '{"spec":{"disabled":false}}']);
    }
  });
});

test("families of the pod come before the namespace's, those before the config's, also where that wants none (needs cluster)", async () => {
  await createNamespace(world.api, "six", { annotations: { ipFamilies: '["IPv6"]', hwAddr: "02:00:5e:10:00:01" } });
  const neither = podConfig({ ipam: { assign_ipv4: "false", assign_ipv6: "false" } });
  const families = async (pod: TestPod, config: Json): Promise<readonly string[]> => {
    await using attached = await AttachedPod.add(world, pod, config);
    return attached.addresses.map((address) => (address.includes(":") ? "IPv6" : "IPv4"));
  };
  expect(await families(await makePod({}, { namespace: "six" }), podConfig())).toEqual(["IPv6"]);
  const warning = expect.stringMatching(/"cni\.netplug\.io\/hwAddr" of namespace "six" .*has no effect: it counts on pods only/) as string;
  expect(node.logLines().map(({ msg }) => msg)).toContainEqual(warning);
  expect(await families(await makePod({ ipFamilies: '["IPv6", "IPv4"]' }, { namespace: "six" }), podConfig())).toEqual(["IPv4", "IPv6"]);
  expect(await families(await makePod({ ipFamilies: '["IPv4"]' }), neither)).toEqual(["IPv4"]);
  expect((await refusal(await makePod(), neither)).code).toBe(7);
});

test("a MAC address of the pod ranks above the runtime's, also for CHECK (needs cluster)", async () => {
  const config = podConfig({ runtimeConfig: { mac: "02:00:5e:10:00:02" } });
  await using attached = await AttachedPod.add(world, await makePod({ hwAddr: "02:00:5E:10:00:01" }), config);
  expect(attached.netns.link("eth0")?.address).toBe("02:00:5e:10:00:01");
  if (isOnEtcd) expect((await attached.record()).spec["mac"]).toBe("02:00:5e:10:00:01");
  expect(await attached.check()).toMatchObject({ status: 0, stdout: "" });
  attached.netns.must(["ip", "link", "set", "eth0", "address", "02:00:5e:10:00:03"]);
  expect((await attached.check()).json?.msg).toContain(
    'interface "eth0" in the pod: got MAC address 02:00:5e:10:00:03, want 02:00:5e:10:00:01',
  );
  await using other = await AttachedPod.add(world, await makePod(), config);
  expect(other.netns.link("eth0")?.address).toBe("02:00:5e:10:00:02");
});

describe("for the agent", () => {
  test("floating addresses and source prefixes are recorded (needs cluster)", async () => {
    const config = podConfig({ ipam: { assign_ipv6: "true" }, feature_control: { floating_ips: true } });
    const annotations = { floatingIPs: '["192.0.2.9", "2001:db8::9"]', allowedSourcePrefixes: '["198.51.100.7/24", "fd00::/8"]' };
    await using attached = await AttachedPod.add(world, await makePod(annotations), config);
    const [v4 = "", v6 = ""] = attached.addresses.map((address) => address.split("/")[0] ?? "");
    expect((await attached.record()).spec).toMatchObject({
      ipNATs: [
        { internalIP: v4, externalIP: "192.0.2.9" },
        { internalIP: v6, externalIP: "2001:db8::9" },
      ],
      allowSpoofedSourcePrefixes: ["198.51.100.0/24", "fd00::/8"],
    });
  });

  test("floating addresses are code 105 while their gate is closed, and 104 where the pod has no address of the family (needs cluster)", async () => {
    const closed = await refusal(await makePod({ floatingIPs: '["192.0.2.9"]' }));
    expect([closed.code, closed.msg]).toEqual([105, expect.stringContaining('set "feature_control.floating_ips" to true')]);
    const pod = await makePod({ floatingIPs: '["2001:db8::9"]' });
    const { code, msg } = await refusal(pod, podConfig({ feature_control: { floating_ips: true } }));
    expect([code, msg]).toEqual([104, expect.stringContaining(`of pod "default/${pod.name}": got "2001:db8::9"`)]);
  });
});

test.each<[string, string]>([
  ["ipAddrs", "10.65.0.7"],
  ["ipAddrs", "[]"],
  ["ipAddrs", '["10.65.0.7", "10.65.0.8"]'],
  ["ipAddrs", '["10.65.0.7/32"]'],
  ["ipAddrsByPod", '{"web-0": ["10.65.0.7"]}'],
  ["ipAddrsNoIpam", '["127.0.0.1"]'],
  ["ipv4pools", '["blue"'],
  ["ipv6pools", "null"],
  ["ipFamilies", '["ipv4"]'],
  ["ipFamilies", "[]"],
  ["floatingIPs", "[7]"],
  ["hwAddr", "01:00:5e:10:00:01"],
  ["allowedSourcePrefixes", '["10.0.0.1"]'],
])("%s %s is code 104, names pod, annotation and value, and nothing is left (needs cluster)", async (annotation, value) => {
  const pod = await makePod({ [annotation]: value });
  const config = podConfig({ feature_control: { ip_addrs_no_ipam: true, floating_ips: true } });
  const { code, msg } = await refusal(pod, config);
  const start = `read annotation "cni.netplug.io/${annotation}" of pod "default/${pod.name}": got ${shownValue(value)}, want `;
  expect([code, msg.slice(0, start.length)]).toEqual([104, start]);
});

test("a malformed value of the namespace is code 104 for its pods, and names both (needs cluster)", async () => {
  await createNamespace(world.api, "broken", { annotations: { ipv4pools: "blue" } });
  const pod = await makePod({}, { namespace: "broken" });
  const { code, msg } = await refusal(pod);
  expect([code, msg]).toEqual([104, expect.stringContaining(`of namespace "broken" for pod "broken/${pod.name}": got "blue"`)]);
});

onEtcd(() => {
  test("without policy.type nothing is read of the pod: its network has a profile, and annotations say nothing (needs cluster)", async () => {
    const pod = await makePod({ ipAddrs: "nonsense" }, { labels: { app: "web" } });
    await using attached = await AttachedPod.add(world, pod, node.config({ kubernetes: { kubeconfig: "/nowhere" } }));
    const { metadata, spec } = await attached.record();
    expect(spec["profiles"]).toEqual(["test-net"]);
    expect(metadata["labels"]).not.toHaveProperty("app");
  });

  test("a pod of another node is not refused by a plugin that may not read nodes (needs cluster)", async () => {
    await using attached = await AttachedPod.add(world, await makePod({}, { spec: { nodeName: "node-b" } }));
    expect(attached.addresses).toHaveLength(1);
  });

  test("a container that no orchestrator names needs no API server with policy.type k8s either (needs cluster)", async () => {
    using netns = new TestNetns();
    const config = podConfig({ kubernetes: { kubeconfig: "/nowhere" } });
    const containerID = node.newContainerID();
    await node.add(netns, { containerID, config });
    expect(netns.addresses("eth0")).toHaveLength(1);
    await node.del({ containerID, netns: netns.path, config });
    expect(netns.addresses("eth0")).toEqual([]);
  });
});
