import { describe, expect, test } from "bun:test";
import { memoryFiles } from "../../test/support/memory-files.ts";
import type { Query } from "../datastore/datastore.ts";
import { NetplugError } from "../lib/errors.ts";
import { parseAddress } from "../lib/ip/address.ts";
import { parsePrefix } from "../lib/ip/prefix.ts";
import { openPrefetchFile } from "./prefetch-file.ts";

const FILE = "/run/netplug/next-add.json";
const PLACES: Query = { type: "claimed-blocks", within: parsePrefix("10.65.0.0/20"), limit: 128 };
const POOL: Query = { type: "get", ref: { kind: "IPPool", name: "blue" } };

test("what one ADD leaves the next one reads, and takes away", () => {
  const contents: Record<string, string | null> = {};
  const files = memoryFiles(contents);
  openPrefetchFile(files, FILE).save([PLACES, POOL]);

  const next = openPrefetchFile(files, FILE);
  expect(next.load()).toEqual([PLACES, POOL]);
  next.save([]);
  expect(openPrefetchFile(files, FILE).load()).toEqual([]);
  expect(contents).toEqual({});
});

test("a call that has not looked takes it away too, and nothing is not an error", () => {
  const contents: Record<string, string | null> = {};
  const files = memoryFiles(contents);
  openPrefetchFile(files, FILE).save([]);
  openPrefetchFile(files, FILE).save([POOL]);
  openPrefetchFile(files, FILE).save([]);
  expect(contents).toEqual({});
});

test("what an ADD has read once it names again, for its answers are as old as its wait", () => {
  const files = memoryFiles({});
  openPrefetchFile(files, FILE).save([PLACES]);
  const waiting = openPrefetchFile(files, FILE);
  expect(waiting.load()).toEqual([PLACES]);
  openPrefetchFile(files, FILE).save([POOL]);
  expect(waiting.load()).toEqual([PLACES, POOL]);
});

test("only what is asked for before a block is claimed is left", () => {
  const files = memoryFiles({});
  openPrefetchFile(files, FILE).save([
    { type: "spare-blocks", within: parsePrefix("10.65.0.0/16"), limit: 64 },
    { type: "claimed-blocks", within: parsePrefix("10.65.0.0/16"), from: parseAddress("10.65.3.0"), limit: 64 },
    POOL,
  ]);
  expect(openPrefetchFile(files, FILE).load()).toEqual([POOL]);
});

test("of very many pools the first ones are left", () => {
  const files = memoryFiles({});
  const pools = Array.from({ length: 40 }, (_, i): Query => ({ type: "get", ref: { kind: "IPPool", name: `pool-${i}` } }));
  openPrefetchFile(files, FILE).save(pools.flatMap((pool) => [PLACES, pool]));
  expect(openPrefetchFile(files, FILE).load()).toEqual([PLACES, ...pools.slice(0, 32)]);
});

describe("a file that is not ours is as if it were not there:", () => {
  const long = JSON.stringify(Array.from({ length: 65 }, () => ({ pool: "blue" })));
  test.each([
    "",
    "[",
    "{}",
    "null",
    "[1,null,[]]",
    '[{"pool":""}]',
    '[{"pool":".."}]',
    '[{"pool":"a/b"}]',
    '[{"pool":"\\ud800"}]',
    JSON.stringify([{ pool: "x".repeat(254) }]),
    JSON.stringify([{ pool: "blue", more: "x".repeat(40_000) }]),
    '[{"within":"10.65.0.0/33","limit":1}]',
    '[{"within":"10.65.0.0/16","limit":1e9}]',
    '[{"within":"10.65.0.0/16","limit":0.5}]',
    '[{"within":"10.65.0.0/16"}]',
    long,
  ])("%j", (text) => expect(openPrefetchFile(memoryFiles({ [FILE]: text }), FILE).load()).toEqual([]));
});

test("a folder in which nothing can be read or written costs only the prefetch", () => {
  const refuse = (): never => {
    throw new NetplugError("ioFailure", "the disk is full");
  };
  const files = { ...memoryFiles({}), readText: refuse, writeAtomically: refuse, remove: refuse };
  const next = openPrefetchFile(files, FILE);
  expect(next.load()).toEqual([]);
  next.save([POOL]);
  next.save([]);
  expect(next.load()).toEqual([]);
});
