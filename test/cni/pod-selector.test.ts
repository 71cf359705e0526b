/** Pools with a `podSelector`: pods of a real API server get addresses by their own labels, each by itself or together, and `ipam explain` knows it. */

import { describe, expect, test as always } from "bun:test";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { systemClock } from "../../src/lib/clock.ts";
import { takeLock } from "../../src/linux/flock.ts";
import { runNetplugctl } from "../support/cli/netplugctl.ts";
import { isOnEtcd } from "../support/node/node-datastore.ts";
import { TestNetns } from "../support/node/netns.ts";
import { startPodWorld } from "../support/node/pod-world.ts";
import { TestNode } from "../support/node/test-node.ts";
import type { CniReply } from "../support/programs/cni.ts";
import type { CniCall, Json } from "../support/programs/cni-call.ts";
import { createPod, type TestPod } from "../support/servers/kubernetes.ts";
import { onApiServer } from "../support/servers/on-api-server.ts";
import { share } from "../support/share.ts";
import { eventually } from "../support/time/eventually.ts";
import { AttachedPod } from "./support/attached-pod.ts";

const POOLS = {
  mail: { cidr: "10.66.0.0/24", podSelector: 'app == "mail"' },
  rest: { cidr: "10.67.0.0/24", podSelector: 'app != "mail"' },
} as const;

async function createPools(node: TestNode): Promise<void> {
  for (const [name, spec] of Object.entries(POOLS)) await node.createPool(name, spec);
}

const [test, world] = onApiServer(
  () => startPodWorld({ cidrs: [], rights: ["pods", "namespaces"] }),
  async ({ node }) => await createPools(node),
);
const { api, node } = world;

let count = 0;
const makePod = async (labels: Readonly<Record<string, string>>, annotations = {}): Promise<TestPod> =>
  await createPod(api, { name: `pod-${count++}`, labels, annotations, spec: { nodeName: "node-a" } });

const OF_MAIL = expect.stringMatching(/^10\.66\.0\./) as string;
const OF_REST = expect.stringMatching(/^10\.67\.0\./) as string;

async function addressesOf(pod: TestPod, config: Json = world.config()): Promise<readonly string[]> {
  await using attached = await AttachedPod.add(world, pod, config);
  return attached.addresses;
}

/** Disables the pool of such pods until it is disposed of. */
async function disable(name: keyof typeof POOLS): Promise<AsyncDisposable> {
  const patch = (disabled: boolean) => node.ctl(["patch", "ippool", name, "-p", JSON.stringify({ spec: { disabled } })]);
  await patch(true);
  return { [Symbol.asyncDispose]: async () => void (await patch(false)) };
}

describe("a pod", () => {
  test("gets an address of the pool that selects it, and another one by the labels that it has when it gets a sandbox anew (needs cluster)", async () => {
    const [mail, web, plain] = [await makePod({ app: "mail" }), await makePod({ app: "web" }), await makePod({})];
    expect([await addressesOf(mail), await addressesOf(web), await addressesOf(plain)]).toEqual([[OF_MAIL], [OF_REST], [OF_REST]]);
    {
      await using attached = await AttachedPod.add(world, mail);
      await api.kubectl(["label", "pod", mail.name, "app=web", "--overwrite"]);
      expect((await attached.addAgain()).ips).toEqual(attached.result.ips ?? []);
      expect(await attached.check()).toMatchObject({ status: 0, stdout: "" });
    }
    expect(await addressesOf(mail)).toEqual([OF_REST]);
  });

  test("gets one of a pool that it names, or the network config, whatever its labels (needs cluster)", async () => {
    expect(await addressesOf(await makePod({ app: "web" }, { ipv4pools: '["mail"]' }))).toEqual([OF_MAIL]);
    expect(await addressesOf(await makePod({ app: "mail" }), world.config({ ipam: { ipv4_pools: ["rest"] } }))).toEqual([OF_REST]);
  });

  test("is not selected by labels that only the system sets, on its endpoint (needs cluster)", async () => {
    await node.createPool("forged", {
      cidr: "10.68.0.0/24",
      podSelector:
        'has(netplug.io/namespace) || has(netplug.io/orchestrator) || has(netplug.io/serviceaccount) || has(pcns.team) || team == "red"',
    });
    await using _ = await disable("rest");
    const claims = { "netplug.io/namespace": "red", "pcns.team": "red" };
    expect(await refusal(await makePod(claims))).toContain('pool "forged": its podSelector ');
    expect(await addressesOf(await makePod({ team: "red" }))).toEqual([expect.stringMatching(/^10\.68\.0\./)]);
    await node.ctl(["delete", "ippool", "forged"]);
  });

  test("that no pool selects is told so, pool by pool (needs cluster)", async () => {
    await using _ = await disable("mail");
    expect(await refusal(await makePod({ app: "mail" }))).toEndWith(
      `no address left: pool "mail": it is disabled; pool "rest": its podSelector 'app != "mail"' does not match the pod's labels`,
    );
  });

  test("gets its address by its labels under another main plugin, too (needs cluster)", async () => {
    const { type: _, ...config } = world.config({ cniVersion: "1.0.0" });
    for (const [app, wanted] of [
      ["mail", OF_MAIL],
      ["web", OF_REST],
    ] as const) {
      using netns = new TestNetns();
      const { args } = await makePod({ app });
      const call = { plugin: "ptp", containerID: node.newContainerID(), netns: netns.path, args, config: { ...config, type: "ptp" } };
      const { json } = await node.call("ADD", call);
      expect(json?.ips?.map(({ address }) => address)).toEqual([wanted]);
      await node.call("DEL", call);
    }
  });
});

/** What an ADD of the pod fails with. */
async function refusal({ args }: TestPod): Promise<string> {
  using netns = new TestNetns();
  const { json } = await node.call("ADD", { containerID: node.newContainerID(), netns: netns.path, args, config: world.config() });
  expect(json?.code).toBe(101);
  return json?.msg ?? "";
}

describe("pods that start together", () => {
  const lockFile = (): string => join(node.folder, "ipam.lock");

  async function untilAsked(wanted: number): Promise<void> {
    const folder = `${lockFile()}.requests`;
    await eventually(() => {
      const names = existsSync(folder) ? readdirSync(folder) : [];
      // Each is made first, and then written.
      expect(names.filter((name) => readFileSync(join(folder, name), "utf8").endsWith("}"))).toHaveLength(wanted);
    }, 30_000);
  }

  test("get addresses of their own pools from whoever has the turn, whatever its pod (needs cluster)", async () => {
    // The node has blocks of both from here on.
    await using _mail = await AttachedPod.add(world, await makePod({ app: "mail" }));
    await using _web = await AttachedPod.add(world, await makePod({ app: "web" }));
    const apps = ["mail", "web", "web", "mail", "web", "mail"];
    const pods = await Promise.all(apps.map((app) => makePod({ app })));
    using places = new DisposableStack();
    const calls = pods.map(({ args }): CniCall & { readonly containerID: string } => {
      const netns = places.use(new TestNetns());
      return { containerID: node.newContainerID(), netns: netns.path, args, config: world.config() };
    });
    const before = node.logLines().length;
    const held = await takeLock(lockFile(), { waitMs: 5_000, clock: systemClock });
    if (held === undefined) throw new Error("somebody has the turn");
    const replies: Promise<CniReply>[] = [];
    for (const call of calls) {
      replies.push(node.call("ADD", call));
      await untilAsked(replies.length);
    }
    held[Symbol.dispose]();
    const given = (await Promise.all(replies)).map(({ json }) => (json?.ips ?? []).map(({ address }) => address));
    expect(given).toEqual(apps.map((app) => [app === "mail" ? OF_MAIL : OF_REST]));
    const told = node.logLines().slice(before);
    const served = told.flatMap((line) => (String(line["msg"]).startsWith("others in the queue") ? [line["count"]] : []));
    // The first of each app serves the two others.
    expect(served).toEqual([2, 2]);
    for (const call of calls) await node.del(call);
  });
});

describe("ipam explain", () => {
  interface Report {
    readonly addresses: readonly { readonly ip: string }[];
    readonly pools: readonly { readonly name: string; readonly order?: number; readonly reason?: string }[];
  }

  async function explain(words: readonly string[], stdin = ""): Promise<Report & { readonly stderr: string }> {
    const { stdout, stderr } = await runNetplugctl(node.datastore.env, ["ipam", "explain", ...words, "-o", "json"], stdin);
    if (stdout === "") throw new Error(stderr);
    return { ...(JSON.parse(stdout) as Report), stderr };
  }

  const addressesIn = ({ addresses }: Report): readonly string[] => addresses.map(({ ip }) => ip);

  if (!isOnEtcd) {
    test("of a pod says what an ADD does, by its labels, and of one without any (needs cluster)", async () => {
      for (const labels of [{ app: "mail" }, { app: "web", "netplug.io/namespace": "red" }, {}]) {
        const pod = await makePod(labels);
        const report = await explain([`--pod=${pod.name}`]);
        expect(addressesIn(report)).toEqual((await addressesOf(pod)).map((address) => address.replace(/\/.*/, "")));
      }
      const { pools } = await explain(["--node=node-a", "--namespace=default"]);
      const reason = `its podSelector 'app == "mail"' does not match the pod's labels (none are known)`;
      expect(pools.map(({ name, order, reason: why }) => [name, order ?? why])).toEqual([
        ["rest", 1],
        ["mail", reason],
      ]);
    });
  }

  test("-f goes by the labels of the template, not of the workload, and by those that its controller adds (needs cluster)", async () => {
    const containers = [{ name: "main", image: "localhost/none:1" }];
    const around = { selector: { matchLabels: { app: "mail" } }, serviceName: "x" };
    const toManifest = (kind: string, app: string, more = {}): object => {
      const template = { metadata: { labels: { app } }, spec: { containers } };
      if (kind === "Pod") return { apiVersion: "v1", kind, metadata: { name: "x", labels: { app } }, spec: { containers } };
      const apiVersion = kind === "Job" ? "batch/v1" : "apps/v1";
      return {
        apiVersion,
        kind,
        metadata: { name: "x", labels: { app: "none" } },
        spec: { ...(kind === "Job" ? more : around), template },
      };
    };
    const explainManifest = async (kind: string, app: string, ...words: readonly string[]): Promise<readonly string[]> =>
      await addressesOfObject(toManifest(kind, app), ...words);
    const addressesOfObject = async (manifest: object, ...words: readonly string[]): Promise<readonly string[]> =>
      addressesIn(await explain(["--node=node-a", "-f", "-", ...words], JSON.stringify(manifest)));
    for (const kind of ["Pod", "Deployment", "StatefulSet", "Job"]) {
      expect([kind, await explainManifest(kind, "mail"), await explainManifest(kind, "web")]).toEqual([kind, [OF_MAIL], [OF_REST]]);
    }
    await node.createPool("added", {
      cidr: "10.68.0.0/24",
      podSelector:
        'statefulset.kubernetes.io/pod-name == "x-1" && apps.kubernetes.io/pod-index == "1" || batch.kubernetes.io/job-name == "x" && job-name == "x"',
    });
    await using _ = await disable("rest");
    const ofAdded = [expect.stringMatching(/^10\.68\.0\./)];
    expect(await explainManifest("StatefulSet", "web")).toEqual([]);
    expect(await explainManifest("StatefulSet", "web", "--pod=x-1")).toEqual(ofAdded);
    expect(await explainManifest("Job", "web")).toEqual(ofAdded);
    expect(await addressesOfObject(toManifest("Job", "web", { manualSelector: true, selector: around.selector }))).toEqual([]);
    expect(await explainManifest("Deployment", "web")).toEqual([]);
    await node.ctl(["delete", "ippool", "added"]);
  });

  test("-f says on etcd that labels count only where pods are read (needs cluster)", async () => {
    const pod = { apiVersion: "v1", kind: "Pod", metadata: { name: "x", labels: { app: "mail" } }, spec: { containers: [] } };
    const { stderr } = await explain(["--node=node-a", "-f", "-"], JSON.stringify(pod));
    const warning = 'labels of pod "default/x" count only with "policy.type": "k8s" in the network config';
    if (isOnEtcd) expect(stderr).toContain(warning);
    else expect(stderr).toBe("");
  });
});

if (isOnEtcd) {
  describe("whoever has no pod of Kubernetes", () => {
    const alone = share(() => TestNode.start([]), createPools);

    always("has no labels for a pool to select", async () => {
      using netns = new TestNetns();
      const call = { containerID: alone.newContainerID() };
      const { ips } = await alone.add(netns, call);
      expect(ips?.map(({ address }) => address)).toEqual([OF_REST]);
      await alone.del(call);
    });

    always("is not asked for either where the network config does not have pods read", async () => {
      using netns = new TestNetns();
      const call = { containerID: alone.newContainerID(), args: "K8S_POD_NAMESPACE=default;K8S_POD_NAME=mail" };
      expect((await alone.add(netns, call)).ips?.map(({ address }) => address)).toEqual([OF_REST]);
      await alone.del(call);
      // A pod may have the label that the pool asks for.
      await alone.ctl(["patch", "ippool", "rest", "-p", '{"spec":{"disabled":true}}']);
      const { json } = await alone.call("ADD", { ...call, netns: netns.path, config: alone.config() });
      expect(json?.msg).toContain(`pool "mail": its podSelector 'app == "mail"' does not match the pod's labels (none are known); `);
      await alone.ctl(["patch", "ippool", "rest", "-p", '{"spec":{"disabled":false}}']);
    });

    always("a pool is shown with its selector only where it has one", async () => {
      await alone.createPool("plain", { cidr: "10.69.0.0/24" });
      const shown = JSON.parse(await alone.ctl(["get", "ippools", "-o", "json"])) as {
        readonly items: readonly { readonly metadata: { readonly name: string }; readonly spec: object }[];
      };
      const selectors = shown.items.map(({ metadata, spec }) => [metadata.name, "podSelector" in spec ? spec.podSelector : "absent"]);
      expect(Object.fromEntries(selectors)).toEqual({ mail: POOLS.mail.podSelector, plain: "absent", rest: POOLS.rest.podSelector });
      await alone.ctl(["delete", "ippool", "plain"]);
    });
  });
}
