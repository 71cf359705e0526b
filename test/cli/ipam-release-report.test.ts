/** `ipam release --from-report`: a whole report of leaks is released, and nothing that is no leak any more. */

import { beforeEach, expect, test } from "bun:test";
import { API_VERSION } from "../../src/api/resource.ts";
import { SILENT_SINCE } from "../../src/api/silent-node.ts";
import type { Datastore } from "../../src/datastore/datastore.ts";
import { deleteEmptyBlocks } from "../../src/ipam/gc.ts";
import { allocateFor, releaseOf } from "../support/cli/container-addresses.ts";
import { endpointName, poolYaml } from "../support/cli/documents.ts";
import { shareEtcdCliWorld } from "../support/cli/etcd-cli-world.ts";
import type { CliResult } from "../support/cli/in-process.ts";
import { readIpamReport } from "../support/cli/ipam-report.ts";
import { changedAfter, changedBefore, FaultyDatastore } from "../support/ipam/faulty-datastore.ts";
import { systemPorts } from "../support/ipam/system-ports.ts";

const world = shareEtcdCliWorld();
beforeEach(async () => {
  await world.reset();
  await world.createPool("blue", "10.65.0.0/24");
});

const LONG_AGO_MS = 120_000;

/** Gives an address to a container whose endpoint does not exist. */
async function leak(containerID: string, ip: string, agoMs: number = LONG_AGO_MS): Promise<void> {
  const owner = { endpoint: endpointName({ containerID, node: "n1" }), namespace: "default" };
  await allocateFor(world.datastore, containerID, "n1", { address: ip, owner, agoMs });
}

async function report(): Promise<string> {
  return (await world.ctl(["ipam", "check", "-o", "json"])).stdout;
}

async function leaked(): Promise<readonly string[]> {
  const { problems } = await readIpamReport(world);
  return problems.map((problem) => `${problem.class} ${problem.object}`);
}

async function release(stdin: string, instead?: (datastore: Datastore) => Datastore): Promise<CliResult> {
  return await world.ctl(["ipam", "release", "--from-report=-"], { stdin, ...(instead === undefined ? {} : { instead }) });
}

const lines = (text: string): readonly string[] => text.split("\n").slice(0, -1);

test("a lost node's addresses are released at once, and ipam check says how", async () => {
  const addresses = Array.from({ length: 70 }, (_, index) => `10.65.0.${index}`);
  for (const [index, ip] of addresses.entries()) await leak(`c${index}`, ip);
  const { status, stderr } = await world.ctl(["ipam", "check"]);
  expect([status, stderr]).toEqual([
    1,
    "next: if their containers are gone for good: netplugctl ipam check -o json | netplugctl ipam release --from-report=-\n",
  ]);
  const file = world.file("leaks.json", await report());
  const done = await world.done(["ipam", "release", `--from-report=${file}`]);
  expect(lines(done)).toHaveLength(71);
  expect(lines(done)[0]).toStartWith('10.65.0.0 released; it was allocated to container "c0"');
  expect(done).toEndWith("released 70 of 70 leaked addresses\n");
  expect(await leaked()).toEqual([]);
  expect(JSON.parse(await world.done(["ipam", "show", "-o", "json"]))).toMatchObject({ pools: [{ name: "blue", inUse: 0 }] });
});

test("a person at a terminal sees how far a long release is, until its last line", async () => {
  for (let index = 0; index < 33; index++) await leak(`c${index}`, `10.65.0.${index}`);
  const stdin = await report();
  const slow = (datastore: Datastore): Datastore => changedBefore(datastore, "update-block", () => Bun.sleep(2_100));
  const { stderr } = await world.ctl(["ipam", "release", "--from-report=-"], { stdin, instead: slow, isTerminal: true });
  expect(stderr).toMatch(/^\r\x1b\[K[^\r]*; released 1 of 33 \x1b\[\?7h\r\x1b\[K/);
  expect(stderr).toEndWith("\r\x1b[K");
});

test("what a Node copied from a Kubernetes datastore says of its kubelet keeps nothing: here nobody writes when that changes", async () => {
  const metadata = { name: "n1", annotations: { [SILENT_SINCE]: "2026-01-02T03:04:05Z" } };
  await world.done(["apply", "-f", "-"], { stdin: JSON.stringify({ apiVersion: API_VERSION, kind: "Node", metadata, spec: {} }) });
  await leak("c1", "10.65.0.1");
  expect(await report()).not.toContain("reported since");
  expect((await release(await report())).stdout).toEndWith("released 1 of 1 leaked address\n");
});

test("what is no leak any more is left, also the address of a container that has it since", async () => {
  await leak("gone", "10.65.0.1");
  await leak("other", "10.65.0.2");
  await leak("c3", "10.65.0.3");
  const before = await report();
  for (const name of ["gone", "other"]) await releaseOf(world.datastore, name, "n1");
  await leak("another", "10.65.0.2");
  const { status, stdout, stderr } = await release(before);
  expect(status).toBe(1);
  expect(lines(stdout)).toEqual([expect.stringMatching(/^10\.65\.0\.3 released; /), "released 1 of 3 leaked addresses"]);
  expect(lines(stderr)).toEqual([
    "10.65.0.1 left: it is not leaked any more",
    "10.65.0.2 left: it is leaked, but not as the report says: make another report",
  ]);
  expect(await leaked()).toEqual(["leaked-address 10.65.0.2"]);
});

test("a leak whose endpoint has gone since the report is the same leak still", async () => {
  await leak("c1", "10.65.0.1");
  const metadata = { name: "n1-cni-c1-eth0", namespace: "default" };
  const spec = { orchestrator: "cni", node: "n1", endpoint: "eth0", containerID: "c1", ipNetworks: [] };
  await world.datastore.commit([{ op: "create", resource: { apiVersion: API_VERSION, kind: "WorkloadEndpoint", metadata, spec } }]);
  const before = await report();
  expect(before).toContain("which has no address");
  await world.datastore.commit([{ op: "delete", ref: { kind: "WorkloadEndpoint", ...metadata } }]);
  expect(await release(before)).toMatchObject({ status: 0, stderr: "", stdout: expect.stringContaining("released 1 of 1 leaked address") });
});

test("what else a report says is left alone, and not counted", async () => {
  await leak("c1", "10.65.0.1");
  await world.etcd.ctl(["put", "/netplug/ipam/claims/4/010.065.000.128-26", JSON.stringify({ node: "n9" })]);
  const before = await report();
  expect(before).toContain("orphaned-block");
  const { status, stdout, stderr } = await release(before);
  expect([status, lines(stdout).at(-1), stderr]).toEqual([0, "released 1 of 1 leaked address", ""]);
});

test("nothing is wrong when all is over already", async () => {
  await leak("c1", "10.65.0.1");
  const before = await report();
  expect(await release(before)).toMatchObject({ status: 0 });
  expect(await release(before)).toEqual({
    status: 0,
    stdout: "released 0 of 1 leaked address\n",
    stderr: "10.65.0.1 left: it is not leaked any more\n",
  });
  expect(await release(await report())).toEqual({ status: 0, stdout: "released 0 of 0 leaked addresses\n", stderr: "" });
});

test("an address that was given a moment ago is left: its ADD may be about to record it", async () => {
  await leak("young", "10.65.0.1", 50_000);
  const { status, stderr } = await release(await report());
  expect([status, stderr]).toEqual([
    1,
    "10.65.0.1 left: it was given less than a minute ago, and an ADD may still be under way: try again\n",
  ]);
  expect(await leaked()).toEqual(["leaked-address 10.65.0.1"]);
});

test("an address that was given to another container a moment ago is not called leaked: its ADD may be about to record it", async () => {
  await leak("gone", "10.65.0.1");
  const before = await report();
  await releaseOf(world.datastore, "gone", "n1");
  await leak("another", "10.65.0.1", 1_000);
  const { status, stdout, stderr } = await release(before);
  expect([status, stdout, stderr]).toEqual([
    1,
    "released 0 of 1 leaked address\n",
    "10.65.0.1 left: it was given less than a minute ago, and an ADD may still be under way: try again\n",
  ]);
});

test("an address that was given in the future is left, because a clock is wrong", async () => {
  await leak("ahead", "10.65.0.1", -3_600_000);
  const { status, stderr } = await release(await report());
  expect([status, stderr]).toEqual([
    1,
    "10.65.0.1 left: it was given in the future, so the clock of its node was or is wrong, or this one is: release it by ipam release --ip\n",
  ]);
  await world.done(["ipam", "release", "--ip=10.65.0.1"]);
});

test.each(["c2", "c1"])("container %s, which gets the address between the look and the release, keeps it", async (next) => {
  await leak("c1", "10.65.0.1");
  const theirs = async (): Promise<void> => {
    await releaseOf(world.datastore, "c1", "n1");
    await leak(next, "10.65.0.1", LONG_AGO_MS / 2);
  };
  const { status, stdout } = await release(await report(), (datastore) => changedBefore(datastore, "update-block", theirs));
  // Whoever released it.
  expect([status, stdout]).toEqual([0, expect.stringContaining('10.65.0.1 released; it was allocated to container "c1"')]);
  expect(await world.done(["ipam", "show", "--ip=10.65.0.1"])).toContain(`is in use by container "${next}"`);
});

test.each([
  ["is somebody else's", async (): Promise<unknown> => await leak("c2", "10.65.0.1")],
  ["lies in no block any more", async (): Promise<unknown> => await deleteEmptyBlocks(systemPorts(world.datastore, -600_000), "n1")],
])("a leak that is over before its turn, because its address %s, does not keep the others from being released", async (_why, then) => {
  await leak("c1", "10.65.0.1");
  await leak("c9", "10.65.0.70");
  const theirs = async (): Promise<void> => {
    await releaseOf(world.datastore, "c1", "n1");
    await then();
  };
  const { status, stdout, stderr } = await release(await report(), (datastore) => changedAfter(datastore, "blocks-borrowed-by", theirs));
  expect([status, stderr]).toEqual([0, "10.65.0.1 left: it is not leaked any more\n"]);
  expect(lines(stdout)).toEqual([expect.stringMatching(/^10\.65\.0\.70 released; /), "released 1 of 2 leaked addresses"]);
});

test("what was released before a migration froze the datastore is told", async () => {
  for (let index = 0; index < 40; index++) await leak(`c${index}`, `10.65.0.${index}`);
  let commits = 0;
  const freezeBeforeSecond = async (): Promise<void> => {
    if (++commits === 2) await world.done(["patch", "clusterinfo", "default", "-p", "spec: {datastoreFrozen: true}"]);
  };
  const instead = (datastore: Datastore): Datastore => changedBefore(datastore, "update-block", freezeBeforeSecond, 2);
  const { status, stdout, stderr } = await release(await report(), instead);
  expect([status, lines(stdout).at(-1), stderr]).toEqual([
    1,
    "released 32 of 40 leaked addresses",
    expect.stringContaining("a migration has frozen it"),
  ]);
});

test("an address that a report names twice is one", async () => {
  await leak("c1", "10.65.0.1");
  const { problems } = await readIpamReport(world);
  const { status, stdout } = await release(JSON.stringify({ problems: [...problems, ...problems] }));
  expect([status, lines(stdout).slice(1)]).toEqual([0, ["released 1 of 1 leaked address"]]);
});

test("a release whose reply was lost counts as one", async () => {
  await leak("c1", "10.65.0.1");
  const lossy = (datastore: Datastore): Datastore => {
    const faulty = new FaultyDatastore(datastore);
    faulty.next = "applied, reply lost";
    return faulty.datastore;
  };
  const { status, stdout } = await release(await report(), lossy);
  expect([status, lines(stdout).at(-1)]).toEqual([0, "released 1 of 1 leaked address"]);
});

test("while an endpoint cannot be read, nobody knows what is leaked, and nothing is released", async () => {
  await leak("c1", "10.65.0.1");
  const before = await report();
  await world.etcd.ctl(["put", "/netplug/v3/workloadendpoints/default/broken", "{"]);
  const { status, stderr } = await release(before);
  expect([status, stderr]).toEqual([
    1,
    expect.stringContaining("release what is leaked: not all endpoints could be read, and nobody knows what these have"),
  ]);
  expect(stderr).toEndWith("next: netplugctl ipam check\n");
});

test.each([
  ["", "read stdin: got nothing, want a report of ipam check"],
  ["[]", "read stdin: got something else, want a report of ipam check"],
  [poolYaml("a", "10.66.0.0/24"), "read stdin: got something else, want a report of ipam check"],
  ['{"problems": []}\n{"problems": []}', "read stdin: got something else, want a report of ipam check"],
  ['{"problems": [{"class": 1}]}', "read stdin: got something else, want a report of ipam check"],
  ["{", "read stdin: "],
])("%j is no report", async (text, said) => {
  await leak("c1", "10.65.0.1");
  const { status, stdout, stderr } = await release(text);
  expect([status, stdout, stderr]).toEqual([1, "", expect.stringContaining(said)]);
});

test.each([
  [[], "choose what to release: want either --ip or --from-report"],
  [["--ip=10.65.0.1", "--from-report=-"], "choose what to release: want either --ip or --from-report"],
])("release %j is wrong usage", async (flags, said) => {
  const { status, stderr } = await world.ctl(["ipam", "release", ...flags]);
  expect([status, stderr]).toEqual([2, expect.stringContaining(said)]);
});

test("a file that is not there is named", async () => {
  const { status, stderr } = await world.ctl(["ipam", "release", "--from-report=/nowhere/leaks.json"]);
  expect([status, stderr]).toEqual([1, expect.stringContaining('read "/nowhere/leaks.json": there is no such file')]);
});
