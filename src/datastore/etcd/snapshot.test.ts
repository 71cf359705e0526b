import { expect, test } from "bun:test";
import type { EtcdClient } from "./client/client.ts";
import { NetplugError } from "../../lib/errors.ts";
import { blockRange, resourceRange } from "./layout/keys.ts";
import { EtcdFailure, STATUS } from "./protocol/failure.ts";
import type { RangeReply, RangeRequest, ReadReply, ReadRequest } from "./protocol/rpc.ts";
import { readSnapshot } from "./snapshot.ts";

/** An etcd that holds values of these sizes, under keys in their order. */
async function pagesOf(range: RangeRequest, sizes: readonly number[]) {
  const kvs = sizes.map((size, i) => ({ key: `${range.key}${String(i).padStart(6, "0")}`, value: "x".repeat(size), modRevision: "1" }));
  const pages: { readonly limit: number | undefined; readonly chars: number }[] = [];
  const read = async ({ ranges }: ReadRequest): Promise<ReadReply> => {
    const answers = ranges.map(({ key, limit }): RangeReply => {
      const rest = kvs.filter((kv) => kv.key >= key);
      const page = rest.slice(0, limit);
      pages.push({ limit, chars: page.reduce((sum, { value }) => sum + value.length, 0) });
      return { kvs: page, count: kvs.length, more: page.length < rest.length };
    });
    return { revision: "1", ranges: answers };
  };
  const snapshot = await readSnapshot({ read } as unknown as EtcdClient, [range], {});
  expect(snapshot.ranges[0]?.kvs.map(({ key }) => key)).toEqual(kvs.map(({ key }) => key));
  return pages;
}

const many = (count: number, size: number): readonly number[] => Array.from({ length: count }, () => size);

test("all blocks come in pages whose length follows from their size", async () => {
  for (const page of await pagesOf(blockRange(), many(100, 400_000))) expect(page.chars).toBeLessThan(13_000_000);
  const pages = await pagesOf(blockRange(), many(1_000, 40_000));
  expect(pages.map(({ limit }) => limit).slice(0, 4)).toEqual([32, 64, 99, 99]);
  const small = await pagesOf(blockRange(), many(3_000, 300));
  expect(small.map(({ limit }) => limit)).toEqual([32, 64, 128, 256, 512, 1_000, 1_000, 1_000]);
});

test("blocks that become large behind small ones do not make a page that is too long", async () => {
  for (const page of await pagesOf(blockRange(), [...many(32, 300), ...many(200, 400_000)])) expect(page.chars).toBeLessThan(26_000_000);
});

test("what is small or a node's own is read at once", async () => {
  expect(await pagesOf(blockRange("node-a"), many(110, 10_000))).toHaveLength(1);
  expect(await pagesOf({ ...blockRange(), keysOnly: true }, many(900, 0))).toHaveLength(1);
  expect(await pagesOf(resourceRange("IPPool"), many(1_000, 900))).toHaveLength(1);
});

/** An etcd whose first reads fail like this. */
function failingReads(count: number, message: string) {
  let reads = 0;
  const read = async (): Promise<ReadReply> => {
    if (++reads > count) return { revision: "7", ranges: [] };
    const cause = new EtcdFailure("refused", message, STATUS.outOfRange);
    throw new NetplugError("tryAgainLater", "read from etcd: failed", { cause });
  };
  return { client: { read } as unknown as EtcdClient, readCount: () => reads };
}

const COMPACTED = "etcdserver: mvcc: required revision has been compacted";

test.each([
  ["lost its revision to a compaction begins anew", COMPACTED, 2, "7", 3],
  ["loses its revision again and again ends", COMPACTED, 3, "failed", 3],
  ["fails otherwise ends", "etcdserver: permission denied", 1, "failed", 1],
])("a read that %s", async (_what, message, failures, outcome, reads) => {
  const { client, readCount } = failingReads(failures, message);
  const result = await readSnapshot(client, [blockRange()], {}).then(
    ({ revision }) => revision,
    (thrown: NetplugError) => thrown.message.replace("read from etcd: ", ""),
  );
  expect(result).toBe(outcome);
  expect(readCount()).toBe(reads);
});

test("ranges that are too many for one request are all read from the revision of the first, a page of each", async () => {
  const requests: ReadRequest[] = [];
  const read = async (request: ReadRequest): Promise<ReadReply> => {
    requests.push(request);
    return {
      revision: "7",
      ranges: request.ranges.map(({ key }) => ({ kvs: [{ key, value: "", modRevision: "1" }], count: 1, more: false })),
    };
  };
  const ranges = Array.from({ length: 200 }, (_, i) => ({ ...resourceRange("IPPool"), key: String(i) }));
  const snapshot = await readSnapshot({ read } as unknown as EtcdClient, ranges, {});
  expect(snapshot.ranges.map(({ kvs }) => kvs[0]?.key)).toEqual(ranges.map(({ key }) => key));
  expect(requests.map((request) => [request.ranges.length, request.revision])).toEqual([
    [128, undefined],
    [72, "7"],
  ]);
  for (const { limit } of requests.flatMap((request) => request.ranges)) expect(limit).toBe(1_000);
});

test("what is missing of one range is fetched; one that was asked for with a limit stays as short as it is", async () => {
  const requests: ReadRequest[] = [];
  const kv = (key: string) => ({ key, value: "", modRevision: "1" });
  const read = async (request: ReadRequest): Promise<ReadReply> => {
    requests.push(request);
    const first = [
      { kvs: [kv("a")], count: 2, more: true },
      { kvs: [kv("x")], count: 9, more: true },
      { kvs: [kv("m")], count: 1, more: false },
    ];
    return { revision: "7", ranges: requests.length === 1 ? first : [{ kvs: [kv("b")], count: 2, more: false }] };
  };
  const whole = { key: "a", end: "c" };
  const snapshot = await readSnapshot(
    { read } as unknown as EtcdClient,
    [whole, { key: "x", end: "z", limit: 1 }, { key: "m", end: "n" }],
    {},
  );
  expect(snapshot.ranges.map(({ kvs }) => kvs.map(({ key }) => key))).toEqual([["a", "b"], ["x"], ["m"]]);
  expect(requests.slice(1)).toEqual([{ ranges: [{ key: "a\0", end: "c", limit: 2 }], revision: "7" }]);
});
