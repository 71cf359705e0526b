/**
 * `netplugctl ipam explain -f` says of a manifest that is not applied what an ADD then does, once the API server has it. What a controller
 * would do is done by the test: it makes the pod of the template that the API server gives back.
 */

import { expect } from "bun:test";
import { runNetplugctl } from "../support/cli/netplugctl.ts";
import { isOnEtcd } from "../support/node/node-datastore.ts";
import { TestNetns } from "../support/node/netns.ts";
import { startPodWorld } from "../support/node/pod-world.ts";
import { createNamespace, createPod, deletePod, podArgs, type TestPod } from "../support/servers/kubernetes.ts";
import { onApiServer } from "../support/servers/on-api-server.ts";
import { AttachedPod } from "./support/attached-pod.ts";

const [test, world] = onApiServer(
  () => startPodWorld({ cidrs: ["10.65.0.0/24"], rights: ["pods", "namespaces"] }),
  async ({ api, node }) => {
    await node.createPool("blue", { cidr: "10.67.0.0/24", assignmentMode: "Manual" });
    await node.createPool("shop", { cidr: "10.64.0.0/24", namespaceSelector: "team == 'shop'" });
    await createNamespace(api, "shop", { labels: { team: "shop" } });
    await createNamespace(api, "blue", { annotations: { ipv4pools: '["blue"]' } });
  },
);

interface Report {
  readonly pod?: string;
  readonly addresses: readonly { readonly ip: string }[];
  readonly pools: readonly { readonly name: string; readonly order?: number }[];
  readonly refusals: readonly { readonly code: number; readonly message: string }[];
}

/** Where the pods of a kind have their template. */
const TEMPLATES: Readonly<Record<string, string>> = { Pod: "{}", CronJob: "{.spec.jobTemplate.spec.template}" };

interface Template {
  readonly metadata: { readonly uid?: string; readonly annotations?: Readonly<Record<string, string>> };
  readonly spec: object;
}

/** As people write one, or have a program write it. */
interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string };
}

/** What stands around the template of a workload. */
const AROUND: Readonly<Record<string, object>> = {
  Deployment: { selector: { matchLabels: { app: "x" } } },
  ReplicaSet: { selector: { matchLabels: { app: "x" } } },
  StatefulSet: { selector: { matchLabels: { app: "x" } }, serviceName: "x" },
  DaemonSet: { selector: { matchLabels: { app: "x" } } },
};

/** @param annotations of ours, without their prefix */
function toManifest(key: string, annotations: Readonly<Record<string, string>>, more: object = {}, namespace?: string): Manifest {
  const [apiVersion = "", kind = "", name = ""] = key.split(" ");
  const own = Object.fromEntries(Object.entries(annotations).map(([annotation, value]) => [`cni.netplug.io/${annotation}`, value]));
  const metadata = { labels: { app: "x" }, annotations: own };
  const isJob = apiVersion === "batch/v1";
  const pod = { containers: [{ name: "main", image: "localhost/none:1" }], nodeName: "node-a", ...(isJob && { restartPolicy: "Never" }) };
  const whole = { name, ...(namespace !== undefined && { namespace }) };
  if (kind === "Pod") return { apiVersion, kind, metadata: { ...whole, ...metadata }, spec: pod } as Manifest;
  const spec = { ...AROUND[kind], ...more, template: { metadata, spec: pod } };
  const cron = { schedule: "0 0 1 1 *", jobTemplate: { spec } };
  return { apiVersion, kind, metadata: whole, spec: kind === "CronJob" ? cron : spec } as Manifest;
}

async function explain(
  manifest: object,
  ...words: readonly string[]
): Promise<Report & { readonly status: number; readonly stderr: string }> {
  const input = JSON.stringify(manifest);
  const { status, stdout, stderr } = await runNetplugctl(
    world.node.datastore.env,
    ["ipam", "explain", "-f", "-", ...words, "-o", "json"],
    input,
  );
  if (stdout === "") throw new Error(stderr);
  return { ...(JSON.parse(stdout) as Report), status, stderr };
}

/** Has the API server take a manifest, and makes its pod, or one of its pods. @param name as the controller would call it */
async function apply(manifest: Manifest, name: string): Promise<TestPod> {
  const { kind, metadata } = manifest;
  const { namespace = "default" } = metadata;
  await world.api.kubectl(["apply", "--validate=strict", "-f", "-"], JSON.stringify(manifest));
  const path = `jsonpath=${TEMPLATES[kind] ?? "{.spec.template}"}`;
  const { metadata: own, spec } = JSON.parse(
    await world.api.kubectl(["get", kind, metadata.name, "-n", namespace, "-o", path]),
  ) as Template;
  const { uid = "" } = own;
  if (kind === "Pod") return { namespace, name, uid, args: podArgs({ namespace, name, uid }) };
  return await createPod(world.api, { name, namespace, otherAnnotations: own.annotations ?? {}, spec });
}

/** Explains, applies and calls ADD: all must come to the same. @param name of the pod, as the controller would call it */
async function explainThenAdd(manifest: Manifest, name: string, ...words: readonly string[]): Promise<Report> {
  const { status, stderr: _, ...report } = await explain(manifest, ...words);
  const pod = await apply(manifest, name);
  using netns = new TestNetns();
  const call = { containerID: world.node.newContainerID(), netns: netns.path, args: pod.args, config: world.config() };
  const { json = {} } = await world.node.call("ADD", call);
  await world.node.del(call);
  const { ips = [], code, msg = "" } = json;
  expect(report.addresses.map(({ ip }) => ip)).toEqual(ips.map(({ address }) => address.replace(/\/.*/, "")));
  const maker = `a pod of ${manifest.kind} "${pod.namespace}/${manifest.metadata.name}"`;
  const unnamed = (text: string): string => text.replace(/(?<!a )pod "[^"]*"/, maker).replace(/want an entry .*/, "want an entry …");
  const told = (message: string): string => (report.pod === undefined ? unnamed(message) : message);
  expect(report.refusals.map((refusal) => ({ ...refusal, message: told(refusal.message) }))).toEqual(
    code === undefined ? [] : [{ code, message: told(msg) }],
  );
  expect([status, report.pod ?? name]).toEqual([code === undefined ? 0 : 1, name]);
  return report;
}

test.each<[key: string, pod: string, annotations: Readonly<Record<string, string>>]>([
  ["v1 Pod plain", "plain", {}],
  ["v1 Pod fixed", "fixed", { ipAddrs: '["10.67.0.9"]' }],
  ["v1 Pod named", "named", { ipAddrsByPod: '{"named": ["10.67.0.10"]}' }],
  ["apps/v1 Deployment pooled", "pooled-5d8f-x7k2p", { ipv4pools: '["blue"]' }],
  ["apps/v1 Deployment fixed", "fixed-5d8f-x7k2p", { ipAddrs: '["10.67.0.11"]' }],
  ["apps/v1 Deployment by-pod", "by-pod-5d8f-x7k2p", { ipAddrsByPod: '{"by-pod-0": ["10.67.0.12"]}' }],
  ["apps/v1 Deployment for-any", "for-any-5d8f-x7k2p", { ipAddrsByPod: '{"*": ["10.67.0.15"]}' }],
  ["apps/v1 ReplicaSet odd", "odd-x7k2p", { ipAddrs: "10.67.0.13" }],
  ["apps/v1 StatefulSet db", "db-0", { ipAddrsByPod: '{"db-0": ["10.67.0.16"], "db-1": ["10.67.0.17"]}' }],
  ["apps/v1 StatefulSet without", "without-0", { ipAddrsByPod: '{"db-0": ["10.67.0.16"]}' }],
  ["apps/v1 StatefulSet twice", "twice-0", { ipAddrsByPod: '{"twice-0": ["10.67.0.16"], "twice-1": ["10.67.0.16"]}' }],
  ["apps/v1 DaemonSet six", "six-x7k2p", { ipFamilies: '["IPv6"]' }],
  ["batch/v1 Job outside", "outside-x7k2p", { ipAddrs: '["192.0.2.7"]' }],
  ["batch/v1 CronJob nightly", "nightly-29700-x7k2p", { ipv4pools: '["blue"]' }],
  ["batch/v1 CronJob grey", "grey-29700-x7k2p", { ipv4pools: '["grey"]' }],
  ["v1 ReplicationController old", "old-x7k2p", { ipAddrs: '["10.67.0.14"]', ipAddrsByPod: "{}" }],
])("of %s its pod %s with %j (needs cluster)", async (key, pod, annotations) => {
  await explainThenAdd(toManifest(key, annotations), pod);
});

test("of a StatefulSet the pod that is chosen (needs cluster)", async () => {
  const ipAddrsByPod = '{"chosen-0": ["10.67.0.32"], "chosen-2": ["10.67.0.34"]}';
  const manifest = toManifest("apps/v1 StatefulSet chosen", { ipAddrsByPod }, { replicas: 3 });
  expect((await explainThenAdd(manifest, "chosen-2", "--pod=chosen-2")).addresses).toMatchObject([{ ip: "10.67.0.34" }]);
  expect((await explainThenAdd(manifest, "chosen-1", "--pod=default/chosen-1")).refusals).toMatchObject([{ code: 104 }]);
  const later = toManifest("apps/v1 StatefulSet later", { ipAddrsByPod: '{"later-4": ["10.67.0.35"]}' }, { ordinals: { start: 4 } });
  expect((await explainThenAdd(later, "later-4")).addresses).toMatchObject([{ ip: "10.67.0.35" }]);
});

test("a floating address of a family that the pod has no address of is refused as by an ADD that may record it (needs cluster)", async () => {
  const config = world.config({ feature_control: { floating_ips: true, ip_addrs_no_ipam: true } });
  const rows = [
    [{ floatingIPs: '["fd65::9"]' }, 104],
    [{ floatingIPs: '["fd65::9"]', ipAddrs: '["10.67.0.50"]' }, 104],
    [{ floatingIPs: '["fd65::9"]', ipAddrsNoIpam: '["192.0.2.9"]' }, 104],
    [{ floatingIPs: '["192.0.2.1"]' }, undefined],
    [{ floatingIPs: '["192.0.2.1"]', ipAddrsNoIpam: '["192.0.2.9"]' }, undefined],
    [{ floatingIPs: '["fd65::9"]', ipAddrs: '["10.99.0.50"]' }, 103],
  ] as const;
  for (const [index, [annotations, code]] of rows.entries()) {
    const manifest = toManifest(`v1 Pod floating-${index}`, annotations);
    const { status, refusals } = await explain(manifest);
    const pod = await apply(manifest, `floating-${index}`);
    using netns = new TestNetns();
    const call = { containerID: world.node.newContainerID(), netns: netns.path, args: pod.args, config };
    const { json = {} } = await world.node.call("ADD", call);
    await world.node.del(call);
    expect(json.code).toBe(code);
    expect([status, refusals]).toEqual(code === undefined ? [0, []] : [1, [{ code, message: json.msg ?? "" }]]);
  }
});

test("an address that somebody else has is refused, and who has it is told (needs cluster)", async () => {
  const annotations = { ipAddrs: '["10.67.0.40"]' };
  await using _ = await AttachedPod.add(world, await createPod(world.api, { name: "owner", annotations }));
  expect((await explainThenAdd(toManifest("apps/v1 StatefulSet wants", annotations), "wants-0")).refusals).toMatchObject([
    { code: 102, message: expect.stringContaining('"default/owner"') },
  ]);
});

test("an address that an earlier pod of its name has, whose container has not ended, is refused (needs cluster)", async () => {
  const manifest = toManifest("apps/v1 StatefulSet again", { ipAddrs: '["10.67.0.41"]' });
  const pod = await apply(manifest, "again-0");
  await using _ = await AttachedPod.add(world, pod);
  await deletePod(world.api, pod);
  expect((await explainThenAdd(manifest, "again-0")).refusals).toMatchObject([
    { code: 102, message: expect.stringContaining("an earlier pod of this name") },
  ]);
});

test("an address that a container of the pod has that is not its last is refused as for the next pod (needs cluster)", async () => {
  const at = (ordinal: number): Manifest => toManifest("v1 Pod moved", { ipAddrs: `["10.67.0.${ordinal}"]` });
  const pod = await apply(at(48), "moved");
  await using _ = await AttachedPod.add(world, pod);
  await apply(at(49), "moved");
  await using __ = await AttachedPod.add(world, pod);
  const { refusals } = await explain(at(48));
  await deletePod(world.api, pod);
  const { refusals: ofNext } = await explainThenAdd(at(48), "moved");
  expect(refusals).toEqual(ofNext);
  expect(refusals).toMatchObject([{ code: 102, message: expect.stringContaining("an earlier pod of this name") }]);
});

const ENDS = "that pod ends before the next one runs, and gives the address back";
const STAYS = 'that pod stays until the next one runs, which waits for the address; with "strategy" Recreate it is deleted before';
const KEEPS = "it keeps that pod, and makes another only when that ends, which gives the address back";
const rolling = (rollingUpdate: object): object => ({ strategy: { rollingUpdate } });

/** All of that was seen with the controllers of a real cluster. */
test.each<[address: string, pod: string, rows: readonly (readonly [key: string, then: string, more?: object])[]]>([
  [
    "10.67.0.43",
    "own-5d8f-x7k2p",
    [
      ["apps/v1 Deployment own", STAYS],
      ["apps/v1 Deployment own", STAYS, rolling({ maxUnavailable: "99%" })],
      ["apps/v1 Deployment own", ENDS, rolling({ maxUnavailable: "100%" })],
      ["apps/v1 Deployment own", ENDS, rolling({ maxUnavailable: 1 })],
      ["apps/v1 Deployment own", ENDS, rolling({ maxSurge: 0 })],
      ["apps/v1 Deployment own", ENDS, rolling({ maxSurge: "0%" })],
      ["apps/v1 Deployment own", ENDS, { strategy: { type: "Recreate" } }],
      ["apps/v1 Deployment own", "", { replicas: 2 }],
      ["apps/v1 Deployment other", ""],
      ["apps/v1 Deployment ow", ""],
      ["apps/v1 Deployment own-5d8f", ""],
      ["batch/v1 Job own", ""],
    ],
  ],
  [
    "10.67.0.44",
    "one-x7k2p",
    [
      ["apps/v1 DaemonSet one", ENDS],
      ["apps/v1 DaemonSet one", "", { updateStrategy: { rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } } }],
      ["apps/v1 ReplicaSet one", KEEPS],
      ["apps/v1 ReplicaSet one", "", { replicas: 2 }],
      ["v1 ReplicationController one", KEEPS],
      ["batch/v1 Job one", KEEPS],
      ["batch/v1 CronJob one", ""],
      ["apps/v1 StatefulSet one", ""],
      ["apps/v1 Deployment one", ""],
      ["apps/v1 ReplicaSet on", ""],
    ],
  ],
])("of a workload whose own pod has the address %s it is said what comes of that (needs cluster)", async (address, name, rows) => {
  const annotations = { ipAddrs: JSON.stringify([address]) };
  await using _ = await AttachedPod.add(world, await createPod(world.api, { name, annotations }));
  for (const [key, then, more] of rows) {
    const { refusals, stderr } = await explain(toManifest(key, annotations, more));
    expect(refusals).toMatchObject([{ code: 102 }]);
    const [, kind = "", workload = ""] = key.split(" ");
    const own = `"default/${name}" seems to be of ${kind} "default/${workload}": ${then}`;
    expect([key, more, /warning: pod (.*)/.exec(stderr)?.[1]]).toEqual([key, more, then === "" ? undefined : own]);
  }
});

test("of a DaemonSet a pod on another node is not in the place of the next one (needs cluster)", async () => {
  const annotations = { ipAddrs: '["10.67.0.47"]' };
  await using _ = await AttachedPod.add(world, await createPod(world.api, { name: "far-x7k2p", annotations }));
  const { refusals, stderr } = await explain(toManifest("apps/v1 DaemonSet far", annotations), "--node=node-b");
  expect(refusals).toMatchObject([{ code: 102 }]);
  expect(stderr).not.toContain("seems to be of");
});

test.each(["dock-a-0", "dock-a-x7k2p", "dock-5d8f-1", "dock-5d8f-x7k2p9"])(
  "a pod %s that has the address is not taken for one of Deployment dock (needs cluster)",
  async (name) => {
    const annotations = { ipAddrs: '["10.67.0.45"]' };
    await using _ = await AttachedPod.add(world, await createPod(world.api, { name, annotations }));
    const { refusals, stderr } = await explain(toManifest("apps/v1 Deployment dock", annotations));
    expect(refusals).toMatchObject([{ code: 102, message: expect.stringContaining(`pod "default/${name}"`) }]);
    expect(stderr).not.toContain("seems to be of");
  },
);

test("a pod that is there is replaced by the one of the manifest, as far as the datastore knows it (needs cluster)", async () => {
  const manifest = toManifest("apps/v1 StatefulSet runs", { ipAddrs: '["10.67.0.42"]' });
  const pod = await apply(manifest, "runs-0");
  const attached = await AttachedPod.add(world, pod);
  const { addresses, refusals, stderr } = await explain(manifest);
  // Of pods etcd has nothing but their endpoints.
  if (isOnEtcd)
    expect([refusals, stderr]).toMatchObject([
      [{ code: 102, message: expect.stringContaining("an earlier pod of this name") }],
      expect.stringContaining(
        'warning: if pod "default/runs-0" runs still, it ends before the next one of its name runs, and gives the address back\n',
      ),
    ]);
  else
    expect([addresses, stderr]).toMatchObject([
      [{ ip: "10.67.0.42" }],
      'warning: pod "default/runs-0" has 10.67.0.42/32 already: the answer is for the one that takes its place, after the DEL of this one\n',
    ]);
  await attached[Symbol.asyncDispose]();
  await deletePod(world.api, pod);
  expect((await explainThenAdd(manifest, "runs-0")).addresses).toMatchObject([{ ip: "10.67.0.42" }]);
});

function usablePools({ pools }: Report): readonly string[] {
  return pools.flatMap(({ name, order }) => (order === undefined ? [] : [name])).toSorted();
}

if (!isOnEtcd) {
  test("labels and annotations of the namespace count, which the manifest names or an option (needs cluster)", async () => {
    const ofShop = toManifest("apps/v1 Deployment till", { ipv4pools: '["shop"]' }, {}, "shop");
    expect((await explainThenAdd(ofShop, "till-5d8f-x7k2p")).addresses).toMatchObject([{ pool: "shop" }]);
    const ofBlue = toManifest("apps/v1 StatefulSet sea", {}, {}, "blue");
    expect((await explainThenAdd(ofBlue, "sea-0")).addresses).toMatchObject([{ pool: "blue" }]);
    const ofNone = toManifest("apps/v1 StatefulSet sky", {});
    expect((await explain(ofNone, "--namespace=blue")).addresses).toEqual((await explain(ofBlue)).addresses);
  });

  test("a namespace that the manifest makes, or changes, counts as it will be (needs cluster)", async () => {
    await world.node.createPool("gate", { cidr: "10.63.0.0/24", namespaceSelector: "has(gate)" });
    const pods = toManifest("apps/v1 StatefulSet quay", {}, {}, "harbour");
    const steps = [
      [{ labels: { team: "shop" } }, ["pool-0", "shop"]],
      [{ labels: { team: "shop" }, annotations: { "cni.netplug.io/ipv4pools": '["blue"]' } }, ["blue"]],
      [{ labels: { team: "shops" }, annotations: { "cni.netplug.io/ipv4pools": "" } }, ["pool-0"]],
      [{ labels: { team: "shop" }, annotations: { "cni.netplug.io/ipv4pools": '["blue"]' } }, ["blue"]],
      [{ labels: { team: "shop" } }, ["pool-0", "shop"]],
      [{}, ["pool-0"]],
      [{ labels: { gate: null } }, ["pool-0"]],
      [{ labels: { gate: "east" } }, ["gate", "pool-0"]],
      [{ labels: { gate: null } }, ["pool-0"]],
    ] as const;
    const metadata = { name: "harbour", annotations: { "cni.netplug.io/ipv4pools": '["none"]' } };
    const others = [
      { apiVersion: "v1", kind: "Namespace", metadata: { ...metadata, name: "other" } },
      { apiVersion: "example.org/v1", kind: "Namespace", metadata },
      { apiVersion: "v1", kind: "ConfigMap", metadata },
    ];
    for (const [own, pools] of steps) {
      const namespace = { apiVersion: "v1", kind: "Namespace", metadata: { name: "harbour", ...own } };
      const before = await explain({ apiVersion: "v1", kind: "List", items: [...others, namespace, pods] });
      await world.api.kubectl(["apply", "-f", "-"], JSON.stringify(namespace));
      expect([before.status, await explain(pods)]).toEqual([0, before]);
      expect(usablePools(before)).toEqual(pools);
    }
  });

  test("of a namespace that the manifest has twice the last counts, as of kubectl apply (needs cluster)", async () => {
    const toNamespace = (name: string, labels: object) => ({ apiVersion: "v1", kind: "Namespace", metadata: { name, labels } });
    // What the first sets in place of another's the second removes.
    await createNamespace(world.api, "thrice", { labels: { team: "shop" } });
    const rows = [
      ["twice", { team: "none" }, { team: "shop" }, ["pool-0", "shop"]],
      ["thrice", { team: "shop" }, {}, ["pool-0"]],
    ] as const;
    for (const [name, first, last, pools] of rows) {
      const pods = toManifest("apps/v1 StatefulSet quay", {}, {}, name);
      const items = [toNamespace(name, first), toNamespace(name, last), pods];
      const before = await explain({ apiVersion: "v1", kind: "List", items });
      await world.api.kubectl(["apply", "-f", "-"], JSON.stringify({ apiVersion: "v1", kind: "List", items }));
      expect(await explain(pods)).toEqual(before);
      expect(usablePools(before)).toEqual([...pools]);
    }
  });

  test("of a namespace behind its pod it is said that kubectl apply refuses that pod, as long as the namespace is not there (needs cluster)", async () => {
    const namespace = { apiVersion: "v1", kind: "Namespace", metadata: { name: "late" } };
    const pods = toManifest("apps/v1 StatefulSet quay", {}, {}, "late");
    const toList = (...items: readonly object[]): object => ({ apiVersion: "v1", kind: "List", items });
    const warned = async (...items: readonly object[]): Promise<readonly [number, string]> => {
      const { status, stderr } = await explain(toList(...items));
      return [status, /warning: (kubectl apply .*)/.exec(stderr)?.[1] ?? ""];
    };
    expect(await warned(namespace, pods)).toEqual([0, ""]);
    expect(await warned(namespace, pods, namespace)).toEqual([0, ""]);
    const refused = 'kubectl apply refuses StatefulSet "late/quay", as namespace "late", which is not there yet, comes after it';
    expect(await warned(pods, namespace)).toEqual([0, `${refused}: put the namespace before it, or apply the manifest twice`]);
    const apply = async (): Promise<unknown> => await world.api.kubectl(["apply", "-f", "-"], JSON.stringify(toList(pods, namespace)));
    expect(await apply().catch(String)).toContain('namespaces "late" not found');
    expect(await warned(pods, namespace)).toEqual([0, ""]);
    expect(await apply().catch(String)).toContain("statefulset.apps/quay created");
  });

  test("the label that each namespace has counts before there is the namespace (needs cluster)", async () => {
    await world.node.createPool("kiosk", { cidr: "10.66.0.0/24", namespaceSelector: "kubernetes.io/metadata.name == 'kiosk'" });
    const namespace = { apiVersion: "v1", kind: "Namespace", metadata: { name: "kiosk" } };
    const items = [namespace, toManifest("apps/v1 StatefulSet till", {}, {}, "kiosk")];
    expect(usablePools(await explain({ apiVersion: "v1", kind: "List", items }))).toEqual(["kiosk", "pool-0"]);
    expect(await explain({ apiVersion: "v1", kind: "List", items: [items[1]] }).catch(String)).toContain('find namespace "kiosk"');
  });
} else {
  test("on etcd it is said what is not known of the namespace and the network config (needs cluster)", async () => {
    expect((await explain(toManifest("apps/v1 StatefulSet plain", {}, {}, "shop"))).stderr).toBe(
      'warning: labels and annotations of namespace "shop" may choose pools and families: they are not known here, as the datastore is etcd\n',
    );
    expect((await explain(toManifest("v1 Pod fixed", { ipAddrs: '["10.67.0.9"]' }))).stderr).toBe(
      'warning: annotations of pod "default/fixed" count only with "policy.type": "k8s" in the network config, as the datastore is etcd\n',
    );
  });
}
