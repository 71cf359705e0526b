/** Somebody else writes between a command's read and its write: nothing of theirs is lost, and what the command says is so. */

import { beforeEach, expect, test } from "bun:test";
import type { Datastore, Query, Write } from "../../src/datastore/datastore.ts";
import { allocateFor, releaseOf } from "../support/cli/container-addresses.ts";
import { poolYaml, resourceYaml } from "../support/cli/documents.ts";
import { shareEtcdCliWorld } from "../support/cli/etcd-cli-world.ts";
import { changedAfter, changedBefore, type Fault, FaultyDatastore } from "../support/ipam/faulty-datastore.ts";

const world = shareEtcdCliWorld();
beforeEach(async () => {
  await world.reset();
  await world.create(poolYaml("blue", "10.65.0.0/24"), resourceYaml("Node", "n1"));
});

const RED = poolYaml("red", "10.66.0.0/24");
const NAT = poolYaml("blue", "10.65.0.0/24", { natOutgoing: true });

/** The labels and some fields of what is stored; undefined when it is not. */
async function stored(path: string): Promise<object | undefined> {
  const { [`/netplug/v3/${path}`]: object } = (await world.stored(`/netplug/v3/${path}`)) as Record<
    string,
    { metadata: object; spec?: object }
  >;
  return object;
}

const labelled = (labels: object): object => expect.objectContaining({ metadata: expect.objectContaining({ labels }) }) as object;
const withSpec = (spec: object): object => expect.objectContaining({ spec: expect.objectContaining(spec) }) as object;

/** What they do, what we do, at which of our writes they are quicker, and what comes of it. */
type Race = [
  theirs: readonly [argv: string[], stdin?: string],
  ours: readonly [argv: string[], stdin?: string],
  at: Write["op"],
  said: string,
  path: string,
  left: object | undefined,
];

const LABEL = ["label", "ippool/blue", "a=1"];
const SPLIT = [["ipam", "split", "2", "--name=blue"]] as const satisfies Race[1];
const LOCK = ["patch", "clusterinfo", "default", "-p", "spec: {datastoreReady: false}"];

test.each<Race>([
  [[LABEL], [["label", "ippool/blue", "b=2"]], "update", "ippool/blue labelled", "ippools/blue", labelled({ a: "1", b: "2" })],
  [
    [LABEL],
    [["patch", "ippool/blue", "-p", "spec: {disabled: true}"]],
    "update",
    "ippool/blue patched",
    "ippools/blue",
    labelled({ a: "1" }),
  ],
  [[LABEL], [LABEL], "update", "ippool/blue unchanged", "ippools/blue", labelled({ a: "1" })],
  [
    [["label", "ippool/blue", "b=1"]],
    [["label", "ippool/blue", "b=2"]],
    "update",
    '"b" is "1" already; give --overwrite',
    "ippools/blue",
    labelled({ b: "1" }),
  ],
  [[LABEL], [["delete", "ippool", "blue"]], "update", "ippool/blue deleted", "ippools/blue", undefined],
  [[LABEL], [["delete", "ippool", "blue"]], "delete", "ippool/blue deleted", "ippools/blue", undefined],
  [
    [["delete", "ippool", "blue"]],
    [["delete", "ippool", "blue"]],
    "update",
    'find ippool "blue": there is none',
    "ippools/blue",
    undefined,
  ],
  [
    [["delete", "ippool", "blue"]],
    [["delete", "ippool", "blue"]],
    "delete",
    'find ippool "blue": there is none',
    "ippools/blue",
    undefined,
  ],
  [[["label", "node/n1", "a=1"]], [["delete", "node", "n1"]], "delete", "node/n1 deleted", "nodes/n1", undefined],
  [[["delete", "node", "n1"]], [["delete", "node", "n1"]], "delete", 'find node "n1": there is none', "nodes/n1", undefined],
  [
    [["create", "-f", "-"], RED],
    [["create", "-f", "-"], RED],
    "create",
    'create ippool "red": it exists',
    "ippools/red",
    withSpec({ cidr: "10.66.0.0/24" }),
  ],
  [
    [["create", "-f", "-"], RED],
    [["apply", "-f", "-"], RED],
    "create",
    "ippool/red unchanged",
    "ippools/red",
    withSpec({ cidr: "10.66.0.0/24" }),
  ],
  [[["delete", "node", "n1"]], [["label", "node/n1", "a=1"]], "update", 'find node "n1": there is none', "nodes/n1", undefined],
  [
    [["delete", "ippool", "blue"]],
    [["apply", "-f", "-"], NAT],
    "update",
    "ippool/blue created",
    "ippools/blue",
    withSpec({ natOutgoing: true }),
  ],
  [
    [["delete", "node", "n1"]],
    [["apply", "-f", "-"], resourceYaml("Node", "n1", { podCIDRs: ["10.1.0.0/24"] })],
    "update",
    "node/n1 created",
    "nodes/n1",
    withSpec({ podCIDRs: ["10.1.0.0/24"] }),
  ],
  [[["delete", "ippool", "blue"]], [["replace", "-f", "-"], NAT], "update", 'find ippool "blue": there is none', "ippools/blue", undefined],
  [
    [["ipam", "configure", "--strict-affinity=true"]],
    [["ipam", "configure", "--max-blocks-per-host=3"]],
    "create",
    "maxBlocksPerHost: 3",
    "ipamconfigurations/default",
    withSpec({ strictAffinity: true, maxBlocksPerHost: 3 }),
  ],
  [[LABEL], SPLIT, "create", "ippool/blue deleted", "ippools/split-blue-1", labelled({ a: "1" })],
  [[["delete", "ippool", "blue"]], SPLIT, "create", 'split pool "blue": there is none', "ippools/split-blue-1", undefined],
])("%j, and meanwhile %j before its %s: %s", async ([theirs, theirInput = ""], [ours, ourInput = ""], at, said, path, left) => {
  if (ours.includes("split")) await world.done(LOCK);
  let isQuicker = false;
  const interfere = async (): Promise<void> => {
    await world.done([...theirs], { stdin: theirInput });
    isQuicker = true;
  };
  const { stdout, stderr } = await world.ctl([...ours], {
    stdin: ourInput,
    instead: (datastore) => changedBefore(datastore, at, interfere),
  });
  expect([isQuicker, `${stdout}${stderr}`]).toEqual([true, expect.stringContaining(said)]);
  expect(await stored(path)).toEqual(left as object);
});

test.each([
  [19, 0, "ippool/blue labelled\n", ""],
  [Infinity, 1, "", 'netplugctl: change ippool "blue": others keep changing it\nnext: netplugctl version\n'],
])("a change before which others are quicker %d times", async (times, status, stdout, stderr) => {
  let others = 0;
  const change = async (): Promise<string> => await world.done(["label", "--overwrite", "ippool/blue", `other=${++others}`]);
  const instead = (datastore: Datastore): Datastore => changedBefore(datastore, "update", change, times);
  expect(await world.ctl(LABEL, { instead })).toEqual({ status, stdout, stderr });
  expect(await stored("ippools/blue")).toEqual(labelled({ other: String(others), ...(status === 0 && { a: "1" }) }));
});

test.each<[when: string, instead: (datastore: Datastore, change: () => Promise<void>) => Datastore]>([
  ["after they were listed", (datastore, change) => changedAfter(datastore, "empty-blocks", change)],
  ["before one is deleted", (datastore, change) => changedBefore(datastore, "delete-block", change)],
])("two who delete a pool with empty blocks do not stumble over each other: %s", async (_when, instead) => {
  await allocateFor(world.datastore, "c1", "n1");
  await releaseOf(world.datastore, "c1", "n1");
  let first = "";
  const interfere = async (): Promise<void> => void (first = await world.done(["delete", "ippool", "blue"]));
  const second = await world.ctl(["delete", "ippool", "blue"], { instead: (datastore) => instead(datastore, interfere) });
  expect(first).toBe("ippool/blue deleted; 1 empty block released\n");
  expect(second).toMatchObject({ status: 1, stderr: expect.stringContaining('find ippool "blue": there is none') });
  expect(Object.keys(await world.stored("/netplug/ipam/blocks/"))).toEqual([]);
});

/** Makes a pool of which an ADD gets an address once more. */
const ENABLE = ["patch", "ippool/blue", "-p", "spec: {disabled: false}"];

test.each<[when: string, at: Write["op"] | Query["type"]]>([
  ["before its empty blocks are looked for", "empty-blocks"],
  ["when addresses in use were counted", "claimed-blocks"],
  ["just before it is deleted", "delete"],
])("a pool that somebody enables while it is being deleted is not deleted with an address that nobody counted: %s", async (_when, at) => {
  const enable = async (): Promise<void> => {
    await world.done(ENABLE);
    await allocateFor(world.datastore, "c1", "n1");
  };
  const instead = (datastore: Datastore): Datastore =>
    at === "delete" ? changedBefore(datastore, at, enable) : changedAfter(datastore, at as Query["type"], enable);
  expect(await world.done(["delete", "ippool", "blue"], { instead })).toBe(
    "ippool/blue deleted; 1 block with 1 address in use stays; once it is empty, create the pool again and delete it\n",
  );
  expect(await stored("ippools/blue")).toBeUndefined();
});

test("a pool that others go on enabling is not deleted, and empty blocks that were released are released", async () => {
  await allocateFor(world.datastore, "c1", "n1");
  await releaseOf(world.datastore, "c1", "n1");
  const instead = (datastore: Datastore): Datastore => changedBefore(datastore, "delete", () => world.done(ENABLE), Infinity);
  const { status, stdout, stderr } = await world.ctl(["delete", "ippool", "blue"], { instead });
  expect([status, stdout, stderr]).toEqual([1, "", expect.stringContaining('delete ippool "blue": others keep changing it')]);
  expect(await stored("ippools/blue")).toEqual(withSpec({ disabled: false }));
});

test.each<[fault: Fault, left: object | undefined]>([
  ["applied, reply lost", undefined],
  ["not applied, reply lost", withSpec({ disabled: true })],
])("of a pool whose deletion was %s nobody says that it is there", async (fault, left) => {
  const instead = (datastore: Datastore): Datastore => {
    const faulty = new FaultyDatastore(datastore);
    return changedBefore(faulty.datastore, "delete", async () => void (faulty.next = fault));
  };
  const { status, stderr } = await world.ctl(["delete", "ippool", "blue"], { instead });
  const warning = "warning: ippool/blue was disabled, so that it could be deleted, and stays so if it is still there; to enable it again: ";
  expect([status, stderr]).toEqual([1, expect.stringContaining(warning)]);
  expect(await stored("ippools/blue")).toEqual(left as object);
});

test("blocks that were released before somebody enabled the pool are counted too", async () => {
  await allocateFor(world.datastore, "c1", "n1");
  await releaseOf(world.datastore, "c1", "n1");
  const instead = (datastore: Datastore): Datastore => changedBefore(datastore, "delete", () => world.done(ENABLE));
  expect(await world.done(["delete", "ippool", "blue"], { instead })).toBe("ippool/blue deleted; 1 empty block released\n");
});

const FREEZE = ["patch", "clusterinfo", "default", "-p", "spec: {datastoreFrozen: true}"];

test.each<[at: Write["op"], ours: readonly string[], stdin?: string]>([
  ["create", ["create", "-f", "-"], RED],
  ["update", ["apply", "-f", "-"], NAT],
  ["delete", ["delete", "node", "n1"]],
  ["update", ["delete", "ippool", "blue"]],
  ["delete-block", ["delete", "ippool", "blue"]],
  ["delete", ["delete", "ippool", "blue"]],
  ["create", ["ipam", "configure", "--strict-affinity=true"]],
  ["create", ["ipam", "split", "2", "--name=blue"]],
  ["update-block", ["ipam", "release", "--ip=10.65.0.7"]],
])("a migration that freezes the datastore before the %s of %j finds what it began with", async (at, ours, stdin = "") => {
  await allocateFor(world.datastore, "c1", "n1");
  await releaseOf(world.datastore, "c1", "n1");
  await allocateFor(world.datastore, "c2", "n2", { address: "10.65.0.7" });
  if (ours.includes("split")) await world.done(LOCK);
  let begunWith: Readonly<Record<string, unknown>> = {};
  const freeze = async (): Promise<void> => {
    await world.done(FREEZE);
    begunWith = await world.stored("/netplug/");
  };
  const { status, stderr } = await world.ctl(ours, { stdin, instead: (datastore) => changedBefore(datastore, at, freeze) });
  expect([status, stderr]).toEqual([1, expect.stringContaining("a migration has frozen it")]);
  expect(await world.stored("/netplug/")).toEqual(begunWith);
});
