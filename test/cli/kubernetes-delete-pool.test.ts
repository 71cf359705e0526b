/** `delete` on a real API server: what becomes of a pool's blocks, and what other programs keep. */

import { afterEach, beforeEach, expect } from "bun:test";
import type { KubeObject } from "../../src/kube/kube-object.ts";
import { resourceYaml } from "../support/cli/documents.ts";
import { readIpamProblems } from "../support/cli/ipam-report.ts";
import { shareKubernetesCliWorld } from "../support/cli/kubernetes-cli-world.ts";
import { type Given, giveAddress } from "../support/cli/pod-addresses.ts";
import { createNamespace, createNode } from "../support/servers/kubernetes.ts";
import { eventually } from "../support/time/eventually.ts";

const [test, world] = shareKubernetesCliWorld(async (world) => {
  await world.done(["init"]);
  await createNamespace(world.api, "prod");
  for (const node of ["n1", "n2"]) await createNode(world.api, node, []);
});

beforeEach(async () => {
  await world.api.kubectl(["delete", "ippools,ipamblocks,ipreservations", "--all"]);
  await world.createPool("pods", "10.65.0.0/24");
});

const give = (...args: Given): Promise<string> => giveAddress(world, ...args);

interface BlockObject {
  readonly metadata: { readonly name: string };
  readonly spec: Readonly<Record<string, unknown>>;
}

const readBlocks = async (): Promise<readonly BlockObject[]> => (await world.read<{ items: readonly BlockObject[] }>("ipamblocks")).items;

test("of a pool in use empty blocks go, the others stay with their workloads (needs cluster)", async () => {
  const ip = await give("web-0", "n1", "10.65.0.7");
  const other = await give("web-1", "n2", "10.65.0.70");
  await world.done(["ipam", "release", `--ip=${other}`]);
  const text = await world.done(["delete", "ippool", "pods"]);
  expect(text).toBe(
    "ippool/pods deleted; 1 empty block released; 1 block with 1 address in use stays; once it is empty, create the pool again and delete it\n",
  );
  expect((await readBlocks()).map(({ spec }) => spec["cidr"])).toEqual(["10.65.0.0/26"]);
  await world.done(["ipam", "release", `--ip=${ip}`]);
});

/** Objects that finalizers keep: a test that fails must not leave the next one waiting for them. */
const kept = new Set<string>();
afterEach(async () => {
  for (const object of kept) await setFinalizers(object, []);
});

/** Sets the finalizers of an object, as the programs do that have something to do before it may go. */
async function setFinalizers(object: string, finalizers: readonly string[]): Promise<void> {
  if (finalizers.length > 0) kept.add(object);
  else kept.delete(object);
  await world.api.kubectl(["patch", object, "--type=merge", "-p", JSON.stringify({ metadata: { finalizers } })]);
}

test("a pool goes although another program's finalizer keeps an empty block of it for a while (needs cluster)", async () => {
  await world.done(["ipam", "release", `--ip=${await give("web-0", "n1", "10.65.0.7")}`]);
  const [block] = await readBlocks();
  const object = `ipamblock/${block?.metadata.name ?? ""}`;
  await setFinalizers(object, ["example.com/kept"]);
  expect(await world.done(["delete", "ippool", "pods"])).toBe(
    "ippool/pods deleted; 1 block is being deleted: other programs have yet to remove their finalizers\n",
  );
  expect(await readIpamProblems(world)).toEqual([
    expect.stringMatching(
      /^corrupt-block 10\.65\.0\.0\/26: .*somebody deleted it, and finalizers of other programs are all that keeps it$/,
    ),
  ]);
  await setFinalizers(object, []);
  expect(await readBlocks()).toEqual([]);
});

test("nor does a block in use stop it that somebody else deletes already (needs cluster)", async () => {
  await give("web-0", "n1", "10.65.0.7");
  await give("web-1", "n2", "10.65.0.70");
  const [first] = await readBlocks();
  const object = `ipamblock/${first?.metadata.name ?? ""}`;
  await setFinalizers(object, ["example.com/kept"]);
  await world.api.kubectl(["delete", object, "--wait=false"]);
  expect(await world.done(["delete", "ippool", "pods"])).toBe(
    "ippool/pods deleted; 1 block is being deleted: other programs have yet to remove their finalizers; " +
      "1 block with 1 address in use stays; once it is empty, create the pool again and delete it\n",
  );
  await setFinalizers(object, []);
});

test.each([
  ["ippool/pods", ["example.com/a", "example.com/b"], 'finalizers "example.com/a", "example.com/b" keep it until those are removed'],
  ["ipreservation/held", ["example.com/a"], 'finalizer "example.com/a" keeps it until that is removed'],
])("what finalizers keep is not called deleted: %s (needs cluster)", async (object, finalizers, why) => {
  await world.create(resourceYaml("IPReservation", "held", { reservedCIDRs: ["10.65.0.1"] }));
  await setFinalizers(object, finalizers);
  for (let times = 0; times < 2; times++) expect(await world.done(["delete", object])).toBe(`${object} is being deleted: ${why}\n`);
  const [kind = "", name = ""] = object.split("/");
  expect((await world.read<KubeObject>(kind, name)).metadata.deletionTimestamp).toBeDefined();
  const stored = await world.done(["get", kind, name, "-o", "yaml"]);
  const warning = `warning: ${object} is being deleted, and what is written to it goes with it: create it when it is gone\n`;
  for (const [outcome, text] of [
    ["unchanged", stored],
    ["configured", stored.replace("metadata:", "metadata:\n  labels: {a: b}")],
  ] as const) {
    const applied = await world.ctl(["apply", "-f", "-"], { stdin: text.replace(/^ *resourceVersion:.*\n/m, "") });
    expect([applied.stdout, applied.stderr]).toEqual([`${object} ${outcome}\n`, warning]);
  }
  const skipped = await world.ctl(["create", "--skip-exists", "-f", "-"], { stdin: stored });
  expect([skipped.status, skipped.stdout]).toEqual([0, `${object} exists\n`]);
  expect(skipped.stderr).toBe(`warning: ${object} is being deleted: create it when it is gone\n`);
  const refused = await world.ctl(["create", "-f", "-"], { stdin: stored });
  expect([refused.status, refused.stderr]).toEqual([1, expect.stringContaining(": it is being deleted; create it when it is gone\n")]);
  await setFinalizers(object, []);
  expect((await world.ctl(["delete", object])).status).toBe(1);
});

test("nor is a pool that was split, and until it goes the new ones give no addresses (needs cluster)", async () => {
  const setReady = (isReady: boolean): Promise<string> =>
    world.done(["patch", "clusterinfo", "default", "-p", JSON.stringify({ spec: { datastoreReady: isReady } })]);
  await setFinalizers("ippool/pods", ["example.com/a"]);
  await setReady(false);
  // The API server knows the age of a pool in whole seconds.
  const { creationTimestamp = "" } = (await world.read<KubeObject>("ippool", "pods")).metadata;
  await eventually(() => expect(Date.now()).toBeGreaterThan(Date.parse(creationTimestamp) + 1_000));
  expect(await world.done(["ipam", "split", "2", "--name", "pods"])).toContain(
    'ippool/pods is being deleted: finalizer "example.com/a" keeps it until that is removed; ' +
      "as long as it is there, the new ones, which it overlaps, give no addresses\n",
  );
  await setReady(true);
  expect((await world.ctl(["ipam", "show"])).stderr).toContain(
    '"split-pods-0": it overlaps the older pool "pods" (10.65.0.0/24): only that one is used',
  );
  await setFinalizers("ippool/pods", []);
  expect((await world.ctl(["ipam", "show"])).stderr).toBe("");
});
