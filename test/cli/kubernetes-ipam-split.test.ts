/** `ipam split` on a real API server, where each pool is a request of its own: it may be interrupted in between. */

import { beforeEach, expect } from "bun:test";
import { shareKubernetesCliWorld } from "../support/cli/kubernetes-cli-world.ts";
import { changedBefore, FaultyDatastore } from "../support/ipam/faulty-datastore.ts";
import { NetplugError } from "../../src/lib/errors.ts";
import type { Datastore, Write } from "../../src/datastore/datastore.ts";

const [test, world] = shareKubernetesCliWorld(async (world) => void (await world.done(["init"])));

const setReady = (isReady: boolean): Promise<string> =>
  world.done(["patch", "clusterinfo", "default", "-p", JSON.stringify({ spec: { datastoreReady: isReady } })]);

beforeEach(async () => {
  await world.api.kubectl(["delete", "ippools", "--all"]);
  await world.createPool("pods", "10.65.0.0/24", { nodeSelector: "rack == 'r2'" });
  await setReady(false);
});

/** A split that is as if it was killed when it had made the first part and this one: when that is cannot be chosen from outside. */
const killedAfter = async (part: string, parts: number): Promise<number> => {
  const instead = (datastore: Datastore): Datastore =>
    changedBefore(datastore, "delete", async (writes) => {
      await datastore.commit(writes.filter((write) => write.op === "create" && write.resource.metadata.name === part));
      throw new Error("killed");
    });
  return (await world.ctl(split(parts), { instead })).status;
};

const split = (parts: number): readonly string[] => ["ipam", "split", `${parts}`, "--name=pods"];

/** What is said of a part that is in the way. */
const refused = (part: string, cidr: string, why: string) => ({
  status: 1,
  stdout: "",
  stderr: `netplugctl: split pool "pods": ippool "${part}" exists (${cidr}), and ${why}\nnext: netplugctl get ippool ${part}\n`,
});

test("one that was interrupted is finished by the same command, and by no other (needs cluster)", async () => {
  expect(await killedAfter("split-pods-2", 4)).toBe(1);
  expect(await world.ctl(split(2))).toEqual(refused("split-pods-0", "10.65.0.0/26", "is not what this split makes"));
  expect(await world.done(split(4))).toStartWith(
    "ippool/split-pods-0 exists (10.65.0.0/26)\nippool/split-pods-1 created (10.65.0.64/26)\n" +
      "ippool/split-pods-2 exists (10.65.0.128/26)\nippool/split-pods-3 created (10.65.0.192/26)\nippool/pods deleted\n",
  );
  expect(await world.done(["ipam", "check"])).toBe("checked 4 pools, 0 blocks, 0 allocations, 0 endpoints\nfound 0 problems\n");
});

test("what another number of parts has left is in the way also where this one makes no part of its name (needs cluster)", async () => {
  expect(await killedAfter("split-pods-3", 4)).toBe(1);
  await world.done(["delete", "ippool", "split-pods-0"]);
  expect(await world.ctl(split(2))).toEqual(refused("split-pods-3", "10.65.0.192/26", "is not what this split makes"));
  expect(await world.done(["get", "ippools", "-o", "name"])).toBe("ippool/pods\nippool/split-pods-3\n");
  await world.done(["delete", "ippool", "split-pods-3"]);
  await world.createPool("split-pods-5", "10.66.0.0/26");
  expect(await world.done(split(2))).toContain("ippool/pods deleted\n");
});

test("a part that is being deleted is not taken for made: its range would have no pool then (needs cluster)", async () => {
  expect(await killedAfter("split-pods-1", 2)).toBe(1);
  const setFinalizers = (finalizers: readonly string[]): Promise<string> =>
    world.api.kubectl(["patch", "ippool", "split-pods-1", "--type=merge", "-p", JSON.stringify({ metadata: { finalizers } })]);
  await setFinalizers(["example.com/backup"]);
  await world.api.kubectl(["delete", "ippool", "split-pods-1", "--wait=false"]);
  expect(await world.ctl(split(2))).toEqual(refused("split-pods-1", "10.65.0.128/25", "is being deleted"));
  await setFinalizers([]);
  expect(await world.done(split(2))).toStartWith(
    "ippool/split-pods-0 exists (10.65.0.0/25)\nippool/split-pods-1 created (10.65.0.128/25)\nippool/pods deleted\n",
  );
});

test("one into another number of parts that began meanwhile leaves nothing in its way (needs cluster)", async () => {
  const begin = () => killedAfter("split-pods-1", 2);
  expect(await world.ctl(split(4), { instead: (datastore) => changedBefore(datastore, "create", begin) })).toEqual(
    refused("split-pods-0", "10.65.0.0/25", "is not what this split makes"),
  );
  expect(await world.done(["get", "ippools", "-o", "name"])).toBe("ippool/pods\nippool/split-pods-0\nippool/split-pods-1\n");
  expect(await world.done(split(2))).toContain("ippool/pods deleted\n");
});

test("one that has to begin again, as somebody labels the pool meanwhile, says of the parts which it made that it did (needs cluster)", async () => {
  const label = () => world.done(["label", "ippool", "pods", "team=a"]);
  const instead = (datastore: Datastore): Datastore => changedBefore(datastore, "delete", label);
  const { status, stdout } = await world.ctl(split(2), { instead });
  expect([status, stdout]).toEqual([
    0,
    expect.stringMatching(
      /^ippool\/split-pods-0 created \(10\.65\.0\.0\/25\)\nippool\/split-pods-1 created \(10\.65\.0\.128\/25\)\nippool\/pods deleted\n/,
    ),
  ]);
});

test("one that somebody else makes meanwhile, into as many parts, is not said to be made by this one (needs cluster)", async () => {
  const begin = () => killedAfter("split-pods-1", 2);
  const { stdout } = await world.ctl(split(2), { instead: (datastore) => changedBefore(datastore, "create", begin) });
  expect(stdout).toMatch(/^ippool\/split-pods-0 exists \(10\.65\.0\.0\/25\)\nippool\/split-pods-1 exists .*\nippool\/pods deleted\n/);
});

test("a datastore that somebody unlocks while the first part is made is not split any further (needs cluster)", async () => {
  const unlock = () => setReady(true);
  const { status, stderr } = await world.ctl(split(4), { instead: (datastore) => changedBefore(datastore, "create", unlock) });
  expect([status, stderr]).toEqual([1, expect.stringContaining("the datastore is not locked; lock it first\n")]);
  expect(await world.done(["get", "ippools", "-o", "name"])).toBe("ippool/pods\nippool/split-pods-0\n");
  await setReady(false);
  expect(await world.done(split(4))).toContain("ippool/pods deleted\n");
});

/** What is said of a split whose failure may have left parts. */
const BEGUN =
  'warning: the split may be half done: "netplugctl get ippools" shows which of the pools "split-pods-0" to "split-pods-3" are there; ' +
  'once the cause is removed, the same command finishes it, as long as "pods" is there, too\n';

test("one that fails on its way says which parts may be there, and that the same command finishes it (needs cluster)", async () => {
  const fail = () => Promise.reject(new NetplugError("tryAgainLater", "connection refused"));
  const failing = (op: Write["op"]) => world.ctl(split(4), { instead: (datastore) => changedBefore(datastore, op, fail) });
  const failure = "netplugctl: connection refused\nnext: netplugctl version\n";
  expect((await failing("create")).stderr).toBe(failure);
  expect((await failing("delete")).stderr).toBe(BEGUN + failure);
  expect(await world.done(["get", "ippools", "-o", "name"])).toBe("ippool/pods\nippool/split-pods-0\n");
  expect((await failing("delete")).stderr).toBe(BEGUN + failure);
  expect(await world.done(split(4))).toContain("ippool/pods deleted\n");
});

test("one that does not hear what became of its first part, or of all, says the same, which is true of both (needs cluster)", async () => {
  const unheard = async (op: Write["op"]) => {
    const instead = (datastore: Datastore): Datastore => {
      const faulty = new FaultyDatastore(datastore);
      return changedBefore(faulty.datastore, op, async () => void (faulty.next = "applied, reply lost"));
    };
    return [(await world.ctl(split(4), { instead })).stderr, await world.done(["get", "ippools", "-o", "name"])];
  };
  const said = expect.stringMatching(new RegExp(`^${BEGUN}netplugctl: commit: the reply never came\n`));
  const parts = [0, 1, 2, 3].map((part) => `ippool/split-pods-${part}\n`);
  expect(await unheard("create")).toEqual([said, `ippool/pods\n${parts[0]}`]);
  expect(await unheard("delete")).toEqual([said, parts.join("")]);
});
