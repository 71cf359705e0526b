/** The pages of a list after its first. Loaded only where a list has some, which the lists of an ADD hardly ever have. */

import type { KeyValue, RangeReply, RangeRequest } from "./protocol/rpc.ts";

/** What a further page is meant to hold, in characters of its values, judged by the one before. */
const PAGE_CHARS = 4_000_000;

/** A page may hold larger values than the one before it: its keys grow by this factor at most. */
const GROWTH = 2;

/** Reads one page, of the snapshot that the first one is of. */
export type ReadPage = (range: RangeRequest) => Promise<RangeReply | undefined>;

/** Completes a range of which the first page was read. @param maxKeys of a page */
export async function completeRange(range: RangeRequest, firstPage: RangeReply, maxKeys: number, readPage: ReadPage): Promise<RangeReply> {
  const kvs = [...firstPage.kvs];
  for (let page: RangeReply | undefined = firstPage; page?.more === true;) {
    const last = kvs.at(-1);
    const limit = Math.min(maxKeys, sizeAfter(page.kvs));
    page = await readPage({ ...range, key: last === undefined ? range.key : `${last.key}\0`, limit });
    kvs.push(...(page?.kvs ?? []));
  }
  return { kvs, count: firstPage.count, more: false };
}

/** How many keys the page after this one is asked for. */
function sizeAfter(kvs: readonly KeyValue[]): number {
  let chars = 1;
  for (const { value } of kvs) chars += value.length;
  return Math.max(1, Math.min(GROWTH * kvs.length, Math.floor((PAGE_CHARS * kvs.length) / chars)));
}
