/** How much of a datastore a command has read: it may be much, and a person waits. */

import type { Answers, Datastore, Query, ReadOptions } from "../../datastore/datastore.ts";
import { inFrontOf } from "../../datastore/in-front-of.ts";
import type { Progress } from "../io.ts";
import { toNumberText } from "../output/count.ts";

/** The same datastore, which tells how much of it was read; what is read twice counts twice. */
export function tellingReads(inner: Datastore, progress: Progress | undefined): Datastore {
  if (progress === undefined) return inner;
  const counts = { IPAMBlock: 0, WorkloadEndpoint: 0 };
  const add = (kind: string, number: number): void => {
    if (number === 0 || (kind !== "IPAMBlock" && kind !== "WorkloadEndpoint")) return;
    counts[kind] += number;
    const texts = [toCountText(counts.IPAMBlock, "block"), toCountText(counts.WorkloadEndpoint, "endpoint")].filter((text) => text !== "");
    progress.tell("read", texts.length === 0 ? "" : `read ${texts.join(", ")}`);
  };
  const read: Datastore["read"] = async (queries, options) => {
    /** What pages have told of, which the answers tell of again. */
    const early = new Map<string, number>();
    const onPage: ReadOptions["onPage"] = (kind, number) => {
      early.set(kind, (early.get(kind) ?? 0) + number);
      add(kind, number);
    };
    const answers = await inner.read(queries, { ...options, onPage });
    const late = Map.groupBy(queries.entries(), ([, query]) => (query.type === "list" ? query.kind : "IPAMBlock"));
    for (const [kind, asked] of late)
      add(kind, asked.reduce((sum, [at, query]) => sum + sizeOf(query, answers, at), 0) - (early.get(kind) ?? 0));
    return answers;
  };
  return inFrontOf(inner, { read });
}

function toCountText(number: number, thing: string): string {
  return number === 0 ? "" : `${toNumberText(number)} ${thing}${number === 1 ? "" : "s"}`;
}

/** How many records are in an answer; places and names of blocks are none. */
function sizeOf(query: Query, answers: Answers<readonly Query[]>, at: number): number {
  switch (query.type) {
    case "list":
    case "all-blocks":
    case "blocks-of-node":
      return (answers[at] as Answers<readonly [typeof query]>[0]).length;
    case "block-page":
      return (answers[at] as Answers<readonly [typeof query]>[0]).blocks.length;
    case "block":
      return answers[at] === undefined ? 0 : 1;
    default:
      return 0;
  }
}
