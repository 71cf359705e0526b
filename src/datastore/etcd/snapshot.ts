/** Reads of any size from one revision. */

import type { CallOptions, EtcdClient } from "./client/client.ts";
import type { ReadPage } from "./further-pages.ts";
import { blockRange } from "./layout/keys.ts";
import { MAX_TXN_OPS } from "./plans/writes.ts";
import { classify, EtcdFailure } from "./protocol/failure.ts";
import type { RangeReply, RangeRequest, ReadReply } from "./protocol/rpc.ts";

/** Keys per page, at most. */
const PAGE_SIZE = 1_000;

/** Keys on the first page of all blocks: even full blocks of the largest size, 400 kB each, are read well within the time of a request. */
const FIRST_BLOCKS = 32;

const ALL_BLOCKS = blockRange();

/** How often a read that lost its revision to a compaction begins anew. */
const TRIES = 3;

/** Reads all ranges from one snapshot: one round trip, unless there are too many of them or too much in them. */
export async function readSnapshot(client: EtcdClient, ranges: readonly RangeRequest[], options: CallOptions): Promise<ReadReply> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await readOnce(client, ranges, options);
    } catch (thrown) {
      const { cause } = thrown as { cause?: unknown };
      if (attempt === TRIES || !(cause instanceof EtcdFailure) || classify(cause) !== "compacted") throw thrown;
    }
  }
}

/** A range as it is asked for first. */
export function toFirstPage(range: RangeRequest): RangeRequest {
  if (range.end === undefined || range.limit !== undefined || range.countOnly === true) return range;
  return { ...range, limit: range.key === ALL_BLOCKS.key && range.keysOnly !== true ? FIRST_BLOCKS : PAGE_SIZE };
}

/** Fetches what is missing of ranges that were asked for without a limit of their own. */
export async function completePages(
  client: EtcdClient,
  ranges: readonly RangeRequest[],
  firstPages: readonly RangeReply[],
  revision: string,
  options: CallOptions,
): Promise<readonly RangeReply[]> {
  const isIncomplete = (reply: RangeReply, index: number): boolean => reply.more && ranges[index]?.limit === undefined;
  if (!firstPages.some(isIncomplete)) return firstPages;
  const { completeRange } = await import("./further-pages.ts");
  const readPage: ReadPage = async (range) => (await client.read({ ranges: [range], revision }, options)).ranges[0];
  return await Promise.all(
    firstPages.map(async (reply, index) => {
      const range = ranges[index];
      return range !== undefined && isIncomplete(reply, index) ? await completeRange(range, reply, PAGE_SIZE, readPage) : reply;
    }),
  );
}

async function readOnce(client: EtcdClient, ranges: readonly RangeRequest[], options: CallOptions): Promise<ReadReply> {
  const { revision, ranges: head } = await client.read({ ranges: ranges.slice(0, MAX_TXN_OPS).map(toFirstPage) }, options);
  const rest: Promise<ReadReply>[] = [];
  for (let start = MAX_TXN_OPS; start < ranges.length; start += MAX_TXN_OPS) {
    rest.push(client.read({ ranges: ranges.slice(start, start + MAX_TXN_OPS).map(toFirstPage), revision }, options));
  }
  const tail = (await Promise.all(rest)).flatMap((reply) => reply.ranges);
  return { revision, ranges: await completePages(client, ranges, [...head, ...tail], revision, options) };
}
