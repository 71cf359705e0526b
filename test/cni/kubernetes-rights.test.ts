/** What an ADD, DEL and GC do without one right of the role that we ship, and that STATUS says so before. */

import { beforeEach, describe, expect } from "bun:test";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { CniJson } from "../support/programs/cni.ts";
import type { CniCall, Json } from "../support/programs/cni-call.ts";
import { TestNetns } from "../support/node/netns.ts";
import { startPodWorldOnKubernetes } from "../support/node/pod-world.ts";
import { createPod, type TestPod } from "../support/servers/kubernetes.ts";
import { onApiServer } from "../support/servers/on-api-server.ts";
import { untilAllowed, untilDenied } from "../support/servers/rights.ts";
import { eventually } from "../support/time/eventually.ts";

const [test, world] = onApiServer(() => startPodWorldOnKubernetes({ cidrs: ["10.65.0.0/24"] }));
const { api, node } = world;

let count = 0;
const makePod = async (): Promise<TestPod> => await createPod(api, { name: `web-${count++}` });

beforeEach(async () => expect([await node.addressesInUse(), await node.endpoints()]).toEqual([0, []]));

interface Rule {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly verbs: readonly string[];
  readonly resourceNames?: readonly string[];
}

/** The role that we ship, one right a rule. */
function shippedRights(): readonly Rule[] {
  const documents = readFileSync(join(import.meta.dir, "../../manifests/rbac.yaml"), "utf8").split("\n---\n");
  const roles = documents.map((text) => Bun.YAML.parse(text) as { kind: string; metadata: { name: string }; rules?: readonly Rule[] });
  const rules = roles.find(({ kind, metadata }) => kind === "ClusterRole" && metadata.name === "netplug-cni")?.rules ?? [];
  return rules.flatMap(({ resources, verbs, ...rest }) =>
    resources.flatMap((resource) => verbs.map((verb): Rule => ({ ...rest, resources: [resource], verbs: [verb] }))),
  );
}

/** A network config of a user who has some rights of the role, and no others. */
async function withRights(user: string, isGranted: (right: string) => boolean): Promise<Json> {
  const rules = rulesOf(isGranted);
  const role = { apiVersion: "rbac.authorization.k8s.io/v1", kind: "ClusterRole", metadata: { name: user }, rules };
  await api.kubectl(["create", "-f", "-"], JSON.stringify(role));
  await api.kubectl(["create", "clusterrolebinding", user, `--clusterrole=${user}`, `--user=${user}`]);
  // one that is not for a name only
  const {
    verbs: [verb = ""] = [],
    resources: [resource = ""] = [],
    apiGroups: [group = ""] = [],
  } = rules.find(({ resourceNames }) => resourceNames === undefined) ?? {};
  await untilAllowed(api, user, verb, group === "" ? resource : `${resource}.${group}`);
  return node.config({
    kubernetes: { kubeconfig: api.issue(user).kubeconfigFile },
    ipam_lock_file: join(node.folder, user, "lock"),
  });
}

const rulesOf = (isGranted: (right: string) => boolean): readonly Rule[] => shippedRights().filter((rule) => isGranted(toText(rule)));
const toText = ({ verbs, resources }: Rule): string => `${verbs[0]} ${resources[0]}`;

/** A user who lacks one right of the role. */
async function withoutRight(resource: string, verb: string, suffix = ""): Promise<Json> {
  const user = `without-${verb}-${resource.replaceAll(/\W/g, "-")}${suffix}`;
  return await withRights(user, (right) => right !== `${verb} ${resource}`);
}

/** What STATUS says: nothing, or why it fails. */
async function statusOf(config: Json, plugin?: CniCall["plugin"]): Promise<string | undefined> {
  const { json } = await node.call("STATUS", { config, ...(plugin !== undefined && { plugin }) });
  if (json !== undefined) expect(json.code).toBe(50);
  return json?.msg;
}

test.each<[verb: string, resource: string, shown: string, inStatus: "in STATUS" | "not always needed"]>([
  ["get", "pods", "pods", "in STATUS"],
  ["patch", "pods/status", "pods/status", "in STATUS"],
  ["get", "namespaces", "namespaces", "in STATUS"],
  ["get", "nodes", "nodes", "in STATUS"],
  ["get", "clusterinformations", "clusterinformations.netplug.io", "in STATUS"],
  ["get", "ipamconfigurations", "ipamconfigurations.netplug.io", "in STATUS"],
  ["list", "ippools", "ippools.netplug.io", "in STATUS"],
  ["get", "ippools", "ippools.netplug.io", "not always needed"],
  ["list", "ipreservations", "ipreservations.netplug.io", "in STATUS"],
  ["list", "ipamblocks", "ipamblocks.netplug.io", "not always needed"],
  ["create", "ipamblocks", "ipamblocks.netplug.io", "not always needed"],
])(
  "without %s on %s an ADD is code 108 with verb, resource and role, and leaves nothing (needs cluster)",
  async (verb, resource, shown, inStatus) => {
    // a block that stands would be updated, not created
    await api.kubectl(["delete", "ipamblocks", "--all"]);
    const pod = await makePod();
    using netns = new TestNetns();
    const config = await withoutRight(resource, verb);
    const reply = await node.call("ADD", { containerID: node.newContainerID(), netns: netns.path, args: pod.args, config });
    expect([reply.json?.code, reply.json?.msg]).toEqual([108, `${verb} ${shown} is not permitted; role netplug-cni`]);
    expect([netns.link("eth0"), await node.addressesInUse(), await node.endpoints()]).toEqual([undefined, 0, []]);
    expect(await statusOf(config)).toBe(inStatus === "in STATUS" ? reply.json?.msg : undefined);
  },
);

test("without update on ipamblocks a DEL is code 108 when all that is here is done; with it, the next one releases (needs cluster)", async () => {
  const pod = await makePod();
  using netns = new TestNetns();
  const call = { containerID: node.newContainerID(), netns: netns.path, args: pod.args };
  await node.add(netns, call);
  const config = await withoutRight("ipamblocks", "update");
  const reply = await node.call("DEL", { ...call, config });
  expect([reply.json?.code, reply.json?.msg]).toEqual([108, "update ipamblocks.netplug.io is not permitted; role netplug-cni"]);
  expect([netns.link("eth0"), await node.addressesInUse()]).toEqual([undefined, 1]);
  expect(await statusOf(config)).toBe(reply.json?.msg);
  await node.del(call);
});

test("without get on ipamblocks the ADD after the first is code 108: it knows its blocks by name (needs cluster)", async () => {
  using first = new TestNetns();
  using second = new TestNetns();
  const config = await withoutRight("ipamblocks", "get");
  const withAll = node.config({ ipam_lock_file: config["ipam_lock_file"] });
  const call = { containerID: node.newContainerID(), netns: first.path, args: (await makePod()).args, config: withAll };
  await node.add(first, call);
  const next = { containerID: node.newContainerID(), netns: second.path, args: (await makePod()).args, config };
  const reply = await node.call("ADD", next);
  expect([reply.json?.code, reply.json?.msg]).toEqual([108, "get ipamblocks.netplug.io is not permitted; role netplug-cni"]);
  expect([second.link("eth0"), await node.addressesInUse()]).toEqual([undefined, 1]);
  expect(await statusOf(config)).toBe(reply.json?.msg);
  await node.del(call);
});

test("without delete on ipamblocks a GC is code 108 once a block has been empty for long; with it the block goes (needs cluster)", async () => {
  const pod = await makePod();
  using netns = new TestNetns();
  const call = { containerID: node.newContainerID(), netns: netns.path, args: pod.args };
  await node.add(netns, call);
  await node.del(call);
  type Block = { readonly metadata: object; readonly spec: { readonly allocations: string } };
  const blocks = async (): Promise<readonly Block[]> =>
    (JSON.parse(await api.kubectl(["get", "ipamblocks", "-o", "json"])) as { readonly items: readonly Block[] }).items;
  for (const { spec, ...rest } of await blocks()) {
    const allocations = JSON.stringify({ ...(JSON.parse(spec.allocations) as Json), emptySince: Math.floor(Date.now() / 1000) - 301 });
    await api.kubectl(["replace", "-f", "-"], JSON.stringify({ ...rest, spec: { ...spec, allocations } }));
  }
  const collect = async (config: Json): Promise<CniJson | undefined> =>
    (await node.call("GC", { config: { ...config, "cni.dev/valid-attachments": [] } })).json;
  const refused = await collect(await withoutRight("ipamblocks", "delete"));
  expect([refused?.code, refused?.msg]).toEqual([
    108,
    expect.stringContaining("delete ipamblocks.netplug.io is not permitted; role netplug-cni"),
  ]);
  expect((await blocks()).length).toBeGreaterThan(0);
  expect(await collect(node.config())).toBeUndefined();
  expect(await blocks()).toEqual([]);
});

test("to list pods, or to watch anything, are not needed and not given (needs cluster)", async () => {
  const pod = await makePod();
  using netns = new TestNetns();
  const call = { containerID: node.newContainerID(), netns: netns.path, args: pod.args, config: node.config() };
  const prevResult = await node.add(netns, call);
  const check = await node.call("CHECK", { ...call, config: { ...call.config, prevResult } });
  const gc = await node.call("GC", {
    config: { ...call.config, "cni.dev/valid-attachments": [{ containerID: call.containerID, ifname: "eth0" }] },
  });
  const status = await node.call("STATUS", { config: call.config });
  expect([check.stdout, gc.stdout, status.stdout]).toEqual(["", "", ""]);
  await node.del(call);
  const rights = shippedRights().map(toText);
  expect(rights.filter((right) => right.startsWith("watch ") || right === "list pods")).toEqual([]);
});

describe("STATUS asks only for what its config needs:", () => {
  /** An ADD that succeeds, and its DEL by somebody who may do all. */
  async function addAndDelete(call: Pick<CniCall, "plugin"> & { readonly config: Json }): Promise<void> {
    using netns = new TestNetns();
    const attachment = { containerID: node.newContainerID(), netns: netns.path, args: (await makePod()).args };
    await node.add(netns, { ...attachment, ...call });
    await node.del({ ...attachment, ...call, config: { ...call.config, kubernetes: { kubeconfig: world.kubeconfig } } });
  }

  test("netplug-ipam writes blocks, and no pod (needs cluster)", async () => {
    const config = await withoutRight("pods/status", "patch", "-ipam");
    expect(await statusOf(config, "netplug-ipam")).toBeUndefined();
    await addAndDelete({ plugin: "netplug-ipam", config });
    const msg = "update ipamblocks.netplug.io is not permitted; role netplug-cni";
    expect(await statusOf(await withoutRight("ipamblocks", "update", "-ipam"), "netplug-ipam")).toBe(msg);
  });

  test("with host-local, pods are written, and no blocks (needs cluster)", async () => {
    const needed = new Set(["get pods", "get namespaces", "get clusterinformations", "patch pods/status"]);
    const withHostLocal = (config: Json): Json => ({
      ...config,
      ipam: { type: "host-local", dataDir: join(node.folder, "host-local"), subnet: "10.98.0.0/24" },
    });
    const config = withHostLocal(await withRights("host-local", (right) => needed.has(right)));
    // What blocks are noted in before they are claimed cannot be written.
    mkdirSync(join(node.folder, "host-local", "blocks.json"), { recursive: true });
    expect(await statusOf(config)).toBeUndefined();
    await addAndDelete({ config });
    needed.delete("patch pods/status");
    const refused = withHostLocal(await withRights("host-local-without", (right) => needed.has(right)));
    expect(await statusOf(refused)).toBe("patch pods/status is not permitted; role netplug-cni");
  });
});

test("where nobody may ask what is permitted, STATUS is silent of what it cannot try (needs cluster)", async () => {
  const config = await withoutRight("pods/status", "patch", "-unasked");
  const binding = ["clusterrolebinding", "system:basic-user"];
  const { metadata, ...rest } = JSON.parse(await api.kubectl(["get", ...binding, "-o", "json"])) as { readonly metadata: { name: string } };
  await api.kubectl(["delete", ...binding]);
  try {
    await eventually(async () => expect(await statusOf(config)).toBeUndefined());
    expect(await statusOf(node.config())).toBeUndefined();
  } finally {
    await api.kubectl(["create", "-f", "-"], JSON.stringify({ ...rest, metadata: { name: metadata.name } }));
  }
});

test("STATUS that found all permitted asks what an administrator rarely changes again in a minute, or after another boot (needs cluster)", async () => {
  const config = await withRights("forgotten", () => true);
  const note = join(node.folder, "forgotten", "status.test-net");
  expect([await statusOf(config), readFileSync(note, "utf8")]).toEqual([undefined, expect.stringMatching(/^[\d.]+ netplug\//)]);
  await api.kubectl([
    "patch",
    "clusterrole",
    "forgotten",
    "--type=merge",
    "-p",
    JSON.stringify({ rules: rulesOf((right) => right !== "patch pods/status") }),
  ]);
  await untilDenied(api, "forgotten", "patch", "pods/status");
  expect(await statusOf(config)).toBeUndefined();
  const [at = "", key] = readFileSync(note, "utf8").split(" ");
  for (const shiftMs of [-60_000, 60_000]) {
    writeFileSync(note, `${Number(at) + shiftMs} ${key}`);
    expect(await statusOf(config)).toBe("patch pods/status is not permitted; role netplug-cni");
  }
  writeFileSync(note, `${at} ${key}`);
  expect(await statusOf({ ...config, nodename: "node-b" })).toBe("patch pods/status is not permitted; role netplug-cni");
  for (const torn of ["", at, `${at} `]) {
    writeFileSync(note, torn);
    expect(await statusOf(config)).toBe("patch pods/status is not permitted; role netplug-cni");
  }
  rmSync(note);
  mkdirSync(note);
  expect(await statusOf(config)).toBe("patch pods/status is not permitted; role netplug-cni");
  expect(await statusOf(node.config({ ipam_lock_file: config["ipam_lock_file"] }))).toBeUndefined();
});
