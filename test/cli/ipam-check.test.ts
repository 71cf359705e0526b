import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { allocate } from "../../src/ipam/store.ts";
import type { TransactPorts } from "../../src/ipam/transact.ts";
import { systemClock } from "../../src/lib/clock.ts";
import { startDeadline } from "../../src/lib/deadline.ts";
import { parseAddress } from "../../src/lib/ip/address.ts";
import { systemRandom } from "../../src/lib/random.ts";
import { type CliWorld, createCliWorld, poolYaml } from "../support/cli.ts";
import { requestFor } from "../support/ipam.ts";

let world: CliWorld;

beforeAll(async () => {
  world = await createCliWorld();
});

afterAll(() => world[Symbol.asyncDispose]());

/** Blocks of two addresses: n1 has .0 and .1, n2 has .2 and .3, and n3 borrows .3. */
beforeEach(async () => {
  await world.reset();
  await world.done(["create", "-f", "-"], { stdin: poolYaml("a", "10.65.0.0/30", { blockSize: 31 }) });
  for (const [name, node, ip] of [
    ["c1", "n1", "10.65.0.0"],
    ["c2", "n2", "10.65.0.2"],
    ["c3", "n3", "10.65.0.3"],
  ] as const) {
    await allocate(ports(), requestFor(name, node, { addresses: [parseAddress(ip)] }));
  }
});

function ports(): TransactPorts {
  return { datastore: world.datastore, clock: systemClock, random: systemRandom, deadline: startDeadline(systemClock, 5_000) };
}

async function problems(): Promise<readonly string[]> {
  const { status, stdout } = await world.ctl(["ipam", "check", "-o", "json"]);
  const { problems: found } = JSON.parse(stdout) as { problems: { class: string; object: string; detail: string }[] };
  expect(status).toBe(found.length === 0 ? 0 : 1);
  return found.map(({ class: name, object, detail }) => `${name} ${object}: ${detail}`);
}

const key = (tree: string, node: string, address: string): string => `/netplug/ipam/${tree}/${node}/010.065.000.00${address}-31`;

const put = async (at: string, value: unknown): Promise<string> => await world.etcd.ctl(["put", at, JSON.stringify(value)]);

test("a sound datastore has no problem", async () => {
  expect(await problems()).toEqual([]);
});

describe("what was damaged by hand is found:", () => {
  test("a record without its claim", async () => {
    await world.etcd.ctl(["del", key("claims", "4", "0")]);
    expect(await problems()).toEqual([
      'corrupt-block 10.65.0.0/31: the list of blocks with unallocated addresses has it for node "n1", which is not so',
      'orphaned-block 10.65.0.0/31: has a record of node "n1", but its claim is gone: another node may claim it',
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
      expect([status, stderr]).toEqual([1, expect.stringContaining('its claim stands without its record; see "netplugctl ipam check"')]);
    }
    const request = requestFor("c4", "n2", { addresses: [parseAddress("10.65.0.1")] });
    expect(await allocate(ports(), request).catch((thrown: unknown) => thrown)).toMatchObject({ kind: "ioFailure" });
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
    await world.etcd.ctl(["del", key("spare", "4", "0")]);
    expect(await problems()).toEqual([
      expect.stringMatching(/^corrupt-block 10\.65\.0\.2\/31: read block "10\.65\.0\.2\/31" of node "n2"/),
      "corrupt-block 10.65.0.0/31: the list of blocks with unallocated addresses lacks it",
    ]);
  });
});
