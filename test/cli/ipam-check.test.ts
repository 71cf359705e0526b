import { beforeEach, describe, expect, test } from "bun:test";

import type { Datastore } from "../../src/datastore/datastore.ts";
import { inFrontOf } from "../../src/datastore/in-front-of.ts";
import { blocksShown } from "../support/cli/blocks-shown.ts";
import { endpointName, endpointYaml, poolYaml, resourceYaml } from "../support/cli/documents.ts";
import { shareEtcdCliWorld } from "../support/cli/etcd-cli-world.ts";
import { type IpamReport, readIpamProblems, readIpamReport } from "../support/cli/ipam-report.ts";
import { allocateFor, releaseOf } from "../support/cli/container-addresses.ts";
import { changedAfter } from "../support/ipam/faulty-datastore.ts";
import { NETWORK } from "../support/ipam/ipam.ts";
import { releaseStale } from "../support/ipam/ipam-operations.ts";
import { systemPorts } from "../support/ipam/system-ports.ts";

const world = shareEtcdCliWorld();

/** Blocks of two addresses: n1 has .0 and .1, n2 has .2 and .3, and n3 borrows .3. */
beforeEach(async () => {
  await world.reset();
  await world.createPool("a", "10.65.0.0/30", { blockSize: 31 });
  for (const [containerID, node, address] of [
    ["c1", "n1", "10.65.0.0"],
    ["c2", "n2", "10.65.0.2"],
    ["c3", "n3", "10.65.0.3"],
  ] as const)
    await allocateFor(world.datastore, containerID, node, { address });
});

const check = (): Promise<IpamReport> => readIpamReport(world);
const problems = (): Promise<readonly string[]> => readIpamProblems(world);

/** What an ADD that ended before it recorded its endpoint has left. */
const leak = (containerID: string, address: string): Promise<string> =>
  allocateFor(world.datastore, containerID, "n1", {
    address,
    owner: { endpoint: endpointName({ containerID, node: "n1" }), namespace: "default" },
  });

const key = (tree: string, node: string, address: string): string => `/netplug/ipam/${tree}/${node}/010.065.000.00${address}-31`;

const SOUND = ["10.65.0.0/31", "10.65.0.2/31"];

const put = async (at: string, value: unknown): Promise<string> => await world.etcd.ctl(["put", at, JSON.stringify(value)]);

test("what to release is said of leaks alone, whatever else is wrong", async () => {
  await put("/netplug/ipam/claims/4/010.065.000.002-32", { node: "n9" });
  expect(await world.ctl(["ipam", "check"])).toMatchObject({ status: 1, stderr: "" });
  await leak("c9", "10.65.0.1");
  expect(await world.ctl(["ipam", "check"])).toMatchObject({
    status: 1,
    stderr: "next: if their containers are gone for good: netplugctl ipam check -o json | netplugctl ipam release --from-report=-\n",
  });
});

test("blocks whose entries are lost are looked at together", async () => {
  const countReads = async (problems: number): Promise<number> => {
    let reads = 0;
    const counting = (inner: Datastore): Datastore =>
      inFrontOf(inner, { read: (queries, options) => (reads++, inner.read(queries, options)) });
    const { stdout } = await world.ctl(["ipam", "check"], { instead: counting });
    expect(stdout).toEndWith(`\nfound ${problems} problem${problems === 1 ? "" : "s"}\n`);
    return reads;
  };
  await world.etcd.ctl(["del", "--prefix", "/netplug/ipam/spare/"]);
  const few = await countReads(1);
  await world.createPool("b", "10.66.0.0/26", { blockSize: 31 });
  for (let at = 0; at < 20; at++) await allocateFor(world.datastore, `b${at}`, "n1", { address: `10.66.0.${2 * at}` });
  await world.etcd.ctl(["del", "--prefix", "/netplug/ipam/spare/"]);
  expect(await countReads(21)).toBe(few);
});

describe("what was damaged by hand is found:", () => {
  test("a record without its claim", async () => {
    await world.etcd.ctl(["del", key("claims", "4", "0")]);
    expect(await problems()).toEqual([
      'corrupt-block 10.65.0.0/31: the list of blocks with unallocated addresses has it for node "n1", which is not so',
      'orphaned-block 10.65.0.0/31: has a record of node "n1", but its claim is gone: another node may claim it',
    ]);
  });

  test("several records without their claims, and what else is wrong with the same node's blocks", async () => {
    await world.createPool("b", "10.66.0.0/31", { blockSize: 31 });
    await allocateFor(world.datastore, "c5", "n1", { address: "10.66.0.0" });
    for (const at of ["claims/4/010.065.000.000", "claims/4/010.065.000.002", "spare/4/010.066.000.000", "spare/4/010.065.000.000"])
      await world.etcd.ctl(["del", `/netplug/ipam/${at}-31`]);
    await world.etcd.ctl(["del", key("borrowed", "n3", "2")]);
    expect(await problems()).toEqual([
      "corrupt-block 10.66.0.0/31: the list of blocks with unallocated addresses lacks it",
      ...["0", "2"].map((address) => expect.stringContaining(`orphaned-block 10.65.0.${address}/31: has a record of node`)),
    ]);
  });

  test("a claim without its record, and every command that needs it says so at once", async () => {
    await world.etcd.ctl(["del", key("blocks", "n1", "0")]);
    expect(await problems()).toEqual([
      'corrupt-block 10.65.0.0/31: the list of blocks with unallocated addresses has it for node "n1", which is not so',
      'orphaned-block 10.65.0.0/31: claimed by node "n1", but its record is gone',
    ]);
    for (const argv of [["show"], ["release"]]) {
      const { status, stderr } = await world.ctl(["ipam", ...argv, "--ip=10.65.0.1"]);
      expect([status, stderr]).toEqual([1, expect.stringContaining('it is claimed, but has no record; see "netplugctl ipam check"')]);
    }
    const allocating = allocateFor(world.datastore, "c4", "n2", { address: "10.65.0.1" });
    expect(await allocating.catch((thrown: unknown) => thrown)).toMatchObject({ kind: "ioFailure" });
  });

  test("a claim without its record inside of a block that has both", async () => {
    await put("/netplug/ipam/claims/4/010.065.000.002-32", { node: "n9" });
    const gone = 'claimed by node "n9", but its record is gone';
    expect(await problems()).toEqual([`orphaned-block 10.65.0.2/32: ${gone}`]);
    const { show } = await shown();
    const said = `block 10.65.0.2/32 is not counted: it is ${gone}\n`;
    expect([show.status, show.cidrs, show.stderr]).toEqual([1, SOUND, expect.stringContaining(said)]);
    expect(await world.ctl(["ipam", "show"])).toMatchObject({
      status: 1,
      stdout: expect.stringContaining("IP Pool    a "),
      stderr: show.stderr,
    });
    const borrowed = await world.ctl(["ipam", "show", "--show-borrowed"]);
    expect(borrowed).toMatchObject({ status: 1, stdout: expect.stringContaining("10.65.0.3 "), stderr: expect.stringContaining(said) });
  });

  test("a claim of another node than the record's", async () => {
    await put(key("claims", "4", "0"), { node: "n9" });
    expect(await problems()).toEqual([
      expect.stringContaining("corrupt-block 10.65.0.0/31: the list of blocks with unallocated addresses"),
      'orphaned-block 10.65.0.0/31: claimed by node "n9", but its record is gone',
      'orphaned-block 10.65.0.0/31: has a record of node "n1", but its claim is gone: another node may claim it',
    ]);
  });

  test("two nodes with the same block", async () => {
    const record = (await world.stored(key("blocks", "n1", "0")))[key("blocks", "n1", "0")] as object;
    await put(key("blocks", "n9", "0"), { ...record, node: "n9" });
    expect(await problems()).toEqual([
      expect.stringMatching(
        /^corrupt-block 10\.65\.0\.0\/31: belongs to node "n[19]", and overlaps block 10\.65\.0\.0\/31 of node "n[19]"$/,
      ),
      expect.stringContaining('orphaned-block 10.65.0.0/31: has a record of node "n9"'),
      expect.stringContaining("duplicate-address 10.65.0.0: allocated to"),
    ]);
  });

  test("two records of one block that cannot be read", async () => {
    for (const node of ["n1", "n9"]) await put(key("blocks", node, "0"), {});
    const faults = ["n1", "n9"].map((node) =>
      expect.stringContaining(`corrupt-block 10.65.0.0/31: read block "10.65.0.0/31" of node "${node}"`),
    );
    expect(await problems()).toEqual(faults);
    expect((await check()).blocks).toBe(2);
  });

  test("a block that is not listed among those with unallocated addresses, or is without having any", async () => {
    await world.etcd.ctl(["del", key("spare", "4", "0")]);
    await put(key("spare", "4", "2"), { node: "n2" });
    expect(await problems()).toEqual([
      "corrupt-block 10.65.0.0/31: the list of blocks with unallocated addresses lacks it",
      'corrupt-block 10.65.0.2/31: the list of blocks with unallocated addresses has it for node "n2", which is not so',
    ]);
  });

  test("a block of whose next addresses the list says something else", async () => {
    await put(key("spare", "4", "0"), { node: "n1", next: { listed: [[0, 0]], isAll: true } });
    expect(await problems()).toEqual([
      "corrupt-block 10.65.0.0/31: the list of blocks with unallocated addresses says something else of what is next in it",
    ]);
  });

  test("a block that is listed as empty and is not", async () => {
    await put(key("empty", "4", "0"), { node: "n1", since: 1 });
    expect(await problems()).toEqual(['corrupt-block 10.65.0.0/31: the list of empty blocks has it for node "n1", which is not so']);
  });

  test("a block that a list has for another node", async () => {
    for (const [address, node] of [
      ["2", "n9"],
      ["0", "n2"],
    ] as const)
      await put(key("empty", "4", address), { node, since: 1 });
    for (const address of ["0", "2"]) await put(key("spare", "4", address), { node: "n2" });
    expect(await problems()).toEqual([
      'corrupt-block 10.65.0.0/31: the list of blocks with unallocated addresses names node "n2", want "n1"',
      'corrupt-block 10.65.0.0/31: the list of empty blocks has it for node "n2", which is not so',
      'corrupt-block 10.65.0.2/31: the list of blocks with unallocated addresses has it for node "n2", which is not so',
      'corrupt-block 10.65.0.2/31: the list of empty blocks has it for node "n9", which is not so',
    ]);
  });

  test("a node without a block that seems to borrow, and one that borrows from two", async () => {
    // More than are asked at once, and the one that matters behind them.
    await world.create(resourceYaml("Node", "n7"), ...Array.from({ length: 70 }, (_, i) => resourceYaml("Node", `n6-${i}`)));
    await allocateFor(world.datastore, "c4", "n3", { address: "10.65.0.1" });
    expect(await problems()).toEqual([]);
    await put(key("borrowed", "n7", "2"), { node: "n2" });
    expect(await problems()).toEqual([
      'corrupt-block 10.65.0.2/31: the list of blocks that node "n7" borrows of has it for node "n2", which is not so',
    ]);
  });

  test("a borrowed address that its borrower does not find, and one that a node only seems to borrow", async () => {
    await world.etcd.ctl(["del", key("borrowed", "n3", "2")]);
    await put(key("borrowed", "n1", "2"), { node: "n2" });
    expect(await problems()).toEqual([
      'corrupt-block 10.65.0.2/31: the list of blocks that node "n1" borrows of has it for node "n2", which is not so',
      'corrupt-block 10.65.0.2/31: the list of blocks that node "n3" borrows of lacks it',
    ]);
  });

  test("a record that cannot be read, and the rest in spite of it", async () => {
    await put(key("blocks", "n2", "2"), {});
    await world.etcd.ctl(["put", "/netplug/ipam/blocks/n1/garbage", "{}"]);
    await world.etcd.ctl(["del", key("spare", "4", "0")]);
    await world.create(endpointYaml({ containerID: "c9", node: "n1", ipNetworks: ["10.65.0.1/32", "10.65.0.2/32"] }));
    expect(await problems()).toEqual([
      expect.stringMatching(/^corrupt-block \/netplug\/ipam\/blocks\/n1\/garbage: read /),
      expect.stringMatching(/^corrupt-block 10\.65\.0\.2\/31: read block "10\.65\.0\.2\/31" of node "n2"/),
      "corrupt-block 10.65.0.0/31: the list of blocks with unallocated addresses lacks it",
      // who has 10.65.0.2 is not known
      expect.stringContaining("unallocated-in-use 10.65.0.1: "),
    ]);
    const { show } = await shown();
    expect(show.stderr).toContain('block 10.65.0.2/31 is not counted: read block "10.65.0.2/31" of node "n2": ');
  });
});

const shown = () => blocksShown((args) => world.ctl(args));

describe("what stands in the place of blocks and cannot be read is named, and the rest as well:", () => {
  const OTHER = "/netplug/ipam/blocks/n1/010.065.000.064-26";

  test.each([
    ["{}", "got nothing as its CIDR"],
    ["{", "its record of 1 characters is no JSON"],
    ["", "its record of 0 characters is no JSON"],
    ['{"cidr":"10.65.9.0/26"}', 'got "10.65.9.0/26" as its CIDR'],
    ['{"cidr":"10.65.0.64/26","node":"n1","free":"0-62,62.5"}', 'got "0-62,62.5" as its free addresses'],
  ])("%p without a claim", async (value, fault) => {
    await world.etcd.ctl(["put", OTHER, value]);
    const { problems: found, blocks } = await check();
    expect(found.map(({ class: name, object }) => [name, object])).toEqual([["corrupt-block", "10.65.0.64/26"]]);
    expect(found[0]?.detail).toStartWith('read block "10.65.0.64/26" of node "n1": ');
    expect(found[0]?.detail).toContain(fault);
    expect(blocks).toBe(3);
    const { show, get } = await shown();
    expect([show.status, show.cidrs, get.status, get.cidrs]).toEqual([1, SOUND, 1, SOUND]);
    expect(show.stderr).toContain('block 10.65.0.64/26 is not counted: node "n1" has not claimed it\n');
    expect(get.stderr).toContain('left out: read block "10.65.0.64/26" of node "n1": ');
    expect(await world.ctl(["get", "ipamblock", "10.65.0.0/31", "-o", "name"])).toMatchObject({ status: 0, stderr: "" });
    expect(await world.ctl(["get", "ipamblock", "10.65.0.64/26"])).toMatchObject({
      status: 1,
      stderr: expect.stringContaining("left out"),
    });
  });

  test.each(["garbage", "010.065.000.064-26x", "010.065.000.064-26.5", "010.065.000.065-26", "10.65.0.64-26", "x/y"])(
    "a key that no block can have, %p; its node works on",
    async (end) => {
      const garbage = `/netplug/ipam/blocks/n1/${end}`;
      await world.etcd.ctl(["put", garbage, "{}"]);
      const { problems: found, blocks } = await check();
      expect(found.map(({ class: name, object }) => [name, object])).toEqual([["corrupt-block", garbage]]);
      expect(found[0]?.detail).toContain(`read "${garbage}" in etcd: the value is not what netplug writes there`);
      expect(blocks).toBe(3);
      const { show, get } = await shown();
      expect([show.status, show.cidrs, get.status, get.cidrs]).toEqual([1, SOUND, 1, SOUND]);
      for (const { stderr } of [show, get]) expect(stderr).toContain(garbage);
      const text = await world.ctl(["ipam", "check"]);
      expect([text.status, text.stdout]).toEqual([1, expect.stringContaining(garbage)]);
      expect(await allocateFor(world.datastore, "c9", "n1")).toBe("10.65.0.1");
      expect((await releaseOf(world.datastore, "c9", "n1")).length).toBe(1);
      expect((await releaseStale(systemPorts(world.datastore), { node: "n1", network: NETWORK, valid: [] })).length).toBe(1);
    },
  );

  test.each([
    ["claims", "4", "0", ["10.65.0.2/31"]],
    ["spare", "4", "0", SOUND],
    ["empty", "4", "0", SOUND],
    ["borrowed", "n3", "2", SOUND],
  ])("an entry of %p that is none", async (tree, node, address, counted) => {
    const entry = key(tree, node, address);
    await world.etcd.ctl(["put", entry, "x"]);
    const { problems: found, blocks } = await check();
    expect(blocks).toBe(2);
    expect(found).toEqual([
      { class: "corrupt-block", object: `10.65.0.${address}/31`, detail: expect.stringContaining(`read "${entry}" in etcd`) },
    ]);
    const { show, get } = await shown();
    expect([show.cidrs, get.cidrs]).toEqual([counted, SOUND]);
    const said = `block 10.65.0.${address}/31 is not counted: ${found[0]?.detail}\nnext: netplugctl ipam check\n`;
    expect([show.status, show.stderr]).toEqual(tree === "claims" ? [1, said] : [0, ""]);
  });

  test.each(["claims/4", "spare/4", "empty/4", "borrowed/n3"])("an entry of %p whose key no block can have", async (tree) => {
    const entries = ["-26.5", "--1", "-22"].map((length) => `/netplug/ipam/${tree}/010.065.002.000${length}`);
    for (const entry of entries) await put(entry, { node: "n1", since: 1 });
    const { problems: found } = await check();
    const sorted = found.map(({ class: name, object, detail }) => [name, object, detail]).toSorted();
    expect(sorted).toEqual(
      entries.toSorted().map((entry) => ["corrupt-block", entry, expect.stringContaining(`read "${entry}" in etcd: the value is not`)]),
    );
    expect((await shown()).get.cidrs).toEqual(SOUND);
  });

  test("hundreds of claims that are none, and those behind them", async () => {
    const claims = Array.from({ length: 600 }, (_, i) => `put /netplug/ipam/claims/4/010.064.${pad(i >> 8)}.${pad(i & 255)}-32 x`);
    await world.etcd.ctl(["txn"], [], `\n${claims.slice(0, 100).join("\n")}\n\n\n`);
    for (let i = 100; i < claims.length; i += 100) await world.etcd.ctl(["txn"], [], `\n${claims.slice(i, i + 100).join("\n")}\n\n\n`);
    const { problems: found, blocks } = await check();
    expect(new Set(found.map(({ class: name }) => name))).toEqual(new Set(["corrupt-block"]));
    expect([found.length, blocks]).toEqual([600, 602]);
    expect((await shown()).show.cidrs).toEqual(SOUND);
  });
});

describe("a resource that cannot be read", () => {
  test.each([
    ["IPPool", "/netplug/v3/ippools/zzz", "x"],
    ["Node", "/netplug/v3/nodes/zzz", "[]"],
    ["WorkloadEndpoint", "/netplug/v3/workloadendpoints/default/zzz", "{}"],
  ])("is named, and hides no problem: %s", async (kind, at, value) => {
    await world.etcd.ctl(["put", at, value]);
    await put(key("empty", "4", "0"), { node: "n1", since: 1 });
    const { unread, problems: found } = await check();
    expect(unread).toEqual([{ kind, object: at, detail: expect.stringContaining(`read "${at}" in etcd`) }]);
    expect(found.map(({ class: name, object }) => [name, object])).toEqual([["corrupt-block", "10.65.0.0/31"]]);
    const { status, stdout, stderr } = await world.ctl(["ipam", "check"]);
    expect([status, stdout, stderr]).toEqual([1, expect.stringContaining("found 1 problem\n"), expect.stringContaining(at)]);
  });

  test.each([
    ["no problem", 0, 1, "found 0 problems\nthe check is not complete: 1 object could not be read\n"],
    ["a problem", 1, 2, "found 1 problem\nthe check is not complete: 2 objects could not be read\n"],
  ])("leaves no doubt whether everything was checked: %s", async (_found, damages, unreadable, end) => {
    if (damages > 0) await put(key("empty", "4", "0"), { node: "n1", since: 1 });
    for (let i = 0; i < unreadable; i++) await world.etcd.ctl(["put", `/netplug/v3/nodes/z${i}`, "x"]);
    const text = await world.ctl(["ipam", "check"]);
    expect([text.status, text.stdout]).toEqual([
      1,
      expect.stringMatching(new RegExp(`^checked 1 pool, 2 blocks, 3 allocations, 0 endpoints\\n(?:.*\\n)*${end}$`)),
    ]);
    const { status, stderr } = await world.ctl(["ipam", "check", "-o", "yaml"]);
    expect([status, stderr.trimEnd().split("\n").at(-1)]).toEqual([1, end.trimEnd().split("\n").at(-1)]);
  });

  test("is named also when it has become so while the check looked", async () => {
    await leak("lost", "10.65.0.1");
    const damage = async (): Promise<void> => void (await world.etcd.ctl(["put", "/netplug/v3/workloadendpoints/default/zzz", "x"]));
    const instead = (datastore: Datastore): Datastore => changedAfter(datastore, "list", damage);
    const { status, stdout } = await world.ctl(["ipam", "check", "-o", "json"], { instead });
    expect([status, JSON.parse(stdout)]).toMatchObject([1, { problems: [], unread: [{ kind: "WorkloadEndpoint" }] }]);
  });

  test.each([
    ["no resource", ["orphaned-block 10.65.0.0/31", "outside-pool 10.70.0.1", "leaked-address 10.65.0.1"]],
    ["/netplug/v3/ippools/a", ["orphaned-block 10.65.0.0/31", "leaked-address 10.65.0.1"]],
    ["/netplug/v3/nodes/zzz", ["outside-pool 10.70.0.1", "leaked-address 10.65.0.1"]],
    ["/netplug/v3/workloadendpoints/default/zzz", ["outside-pool 10.70.0.1"]],
  ])("leaves open what depends on it: %s", async (at, wanted) => {
    await world.create(
      poolYaml("b", "10.66.0.0/24"),
      resourceYaml("Node", "n8"),
      endpointYaml({ containerID: "c8", node: "n8", ipNetworks: ["10.70.0.1/32"] }),
    );
    await leak("lost", "10.65.0.1");
    if (at.startsWith("/")) await world.etcd.ctl(["put", at, "x"]);
    const { problems: found } = await check();
    expect(found.map(({ class: name, object }) => `${name} ${object}`)).toEqual(wanted);
  });

  test("is left out of what ipam show counts, and named there", async () => {
    for (const plural of ["ippools", "ipreservations"]) await world.etcd.ctl(["put", `/netplug/v3/${plural}/zzz`, "x"]);
    const { status, stdout, stderr } = await world.ctl(["ipam", "show", "-o", "json"]);
    const { pools } = JSON.parse(stdout) as { pools: { name: string }[] };
    expect([status, pools.map(({ name }) => name)]).toEqual([1, ["a"]]);
    for (const plural of ["ippools", "ipreservations"]) expect(stderr).toContain(`/netplug/v3/${plural}/zzz`);
  });
});

function pad(octet: number): string {
  return String(octet).padStart(3, "0");
}
