/** The list of blocks that have unallocated addresses, as both datastores tell it. */

import { expect, test } from "bun:test";
import type { Block } from "../../src/api/ipam-block.ts";
import type { Datastore } from "../../src/datastore/datastore.ts";
import { MemoryDatastore } from "../../src/datastore/memory/memory-datastore.ts";
import { parsePrefix } from "../../src/lib/ip/prefix.ts";
import { startEtcd } from "../support/servers/etcd.ts";
import { share } from "../support/share.ts";
import { makeBlock } from "./blocks.ts";
import { openEtcd } from "./open-etcd.ts";

const CIDR = "10.65.0.64/26";
const KEY = "/netplug/ipam/spare/4/010.065.000.064-26";

const etcd = share(() => startEtcd({ quick: true }));
const datastore = share(() => openEtcd({ endpoints: [etcd.endpoint] }));

/** A block of which the last `free` addresses are unallocated; `released` of them, in this order, are next. */
function blockWith(free: number, released: readonly (readonly [ordinal: number, at: number])[] = []): Block {
  const block = makeBlock(CIDR, "n1", Object.fromEntries(Array.from({ length: 64 - free }, (_, ordinal) => [ordinal, "n1"])));
  const ordinals = released.map(([ordinal]) => ordinal);
  return { ...block, free: [...ordinals, ...block.free.filter((ordinal) => !ordinals.includes(ordinal))], releasedAt: new Map(released) };
}

/** The only spare block, as a datastore tells it after the block became so. */
async function spareOf(store: Datastore, block: Block): Promise<unknown> {
  const [[previous]] = await store.read([{ type: "blocks-of-node", node: "n1" }]);
  const write = previous === undefined ? ({ op: "create-block", block } as const) : ({ op: "update-block", block, previous } as const);
  expect(await store.commit([write])).toMatchObject({ committed: true });
  const [spare] = await store.read([{ type: "spare-blocks", within: parsePrefix("10.65.0.0/16"), limit: 9 }]);
  return spare;
}

const place = { cidr: parsePrefix(CIDR), node: "n1" };

test("a list of blocks with unallocated addresses says what is next where few are left, or some were used before", async () => {
  const memory = new MemoryDatastore();
  const never = (ordinals: readonly number[]) => ordinals.map((ordinal) => [ordinal, 0]);
  for (const [block, wanted] of [
    [blockWith(64), [place]],
    [blockWith(9), [place]],
    [blockWith(8), [{ ...place, next: { listed: never([56, 57, 58, 59, 60, 61, 62, 63]), isAll: true } }]],
    [blockWith(1), [{ ...place, next: { listed: never([63]), isAll: true } }]],
    [
      blockWith(2, [[63, 1_700]]),
      [
        {
          ...place,
          next: {
            listed: [
              [63, 1_700],
              [62, 0],
            ],
            isAll: true,
          },
        },
      ],
    ],
    [
      blockWith(10, [
        [60, 1_700],
        [54, 1_800],
      ]),
      [{ ...place, next: { listed: [[60, 1_700], [54, 1_800], ...never([55, 56, 57, 58, 59, 61])], isAll: false } }],
    ],
    [blockWith(0), []],
    [blockWith(20), [place]],
  ] as const) {
    expect(await spareOf(memory, block)).toEqual(wanted);
    expect(await spareOf(datastore, block)).toEqual(wanted);
    const stored = await etcd.ctl(["get", KEY, "--print-value-only"]);
    const [entry] = wanted;
    if (entry === undefined) expect(stored).toBe("");
    else expect(JSON.parse(stored)).toEqual({ node: "n1", ...("next" in entry ? { next: entry.next } : {}) });
  }
});

test.each([
  '{"node":"n1","next":[]}',
  '{"node":"n1","next":{"listed":[[1]],"isAll":true}}',
  '{"node":"n1","next":{"listed":[["1",2]],"isAll":true}}',
  '{"node":"n1","next":7}',
])("an entry that is damaged says nothing, so that the block is read: %s", async (value) => {
  await spareOf(datastore, blockWith(3));
  await etcd.ctl(["put", KEY, value]);
  const [spare] = await datastore.read([{ type: "spare-blocks", within: parsePrefix("10.65.0.0/16"), limit: 9 }]);
  expect(spare).toEqual([place]);
});
