import { expect, test } from "bun:test";
import { makeBlock } from "../../../../test/datastore/blocks.ts";
import { CorruptBlock } from "../../../api/ipam-block-codec.ts";
import type { Block } from "../../../api/ipam-block.ts";
import { NetplugError } from "../../../lib/errors.ts";
import { parsePrefix, toPrefixText } from "../../../lib/ip/prefix.ts";
import { toBlockObject } from "../objects/block-object.ts";
import type { BlockObject } from "../objects/resource-types.ts";
import type { BlockHints, FoundHint } from "../state/block-hints.ts";
import type { Batch, ListRequest } from "./batch.ts";
import { type NodeBlocks, readNodeBlocks } from "./node-blocks.ts";

const OWN = makeBlock("10.65.0.64/26", "n1", { 0: "n1" });
const EMPTY = makeBlock("10.65.0.0/26", "n1");
const LENT = makeBlock("10.65.1.64/26", "n2", { 0: "n2", 7: "n1" });
const LENT_TOO = makeBlock("10.65.1.0/26", "n3", { 7: "n1" });
const FOREIGN = makeBlock("10.65.2.0/26", "n2", { 0: "n2" });

const toObject = (block: Block): BlockObject => toBlockObject(block);
const corrupt = (block: Block): BlockObject => {
  const object = toBlockObject(block);
  return { ...object, spec: { ...object.spec, allocations: "x" } };
};

interface Hinted {
  readonly cluster: string;
  readonly blocks: readonly string[];
}

interface World {
  readonly objects?: readonly BlockObject[];
  readonly hint?: Hinted;
  /** Whose hint there is. */
  readonly hintOf?: "n1" | "n2" | "nobody";
}

/** What n1 has, what was asked for it, and what was written into the hint. */
async function read({ objects = [], hint, hintOf = "n1" }: World): Promise<{
  readonly found: NodeBlocks;
  readonly asked: readonly string[];
  readonly written: readonly string[] | undefined;
}> {
  const asked: string[] = [];
  let written: readonly string[] | undefined;
  const batch = {
    async get(_type: unknown, { name }: { readonly name: string }) {
      asked.push(name);
      return objects.find(({ metadata }) => metadata.name === name);
    },
    async list(_type: unknown, { labelSelector = "" }: ListRequest) {
      asked.push(labelSelector);
      return objects.filter(({ metadata }) => metadata.labels?.[labelSelector] !== undefined);
    },
  } as unknown as Batch; // nothing else of it is used
  const trusted = hint && { cluster: hint.cluster, blocks: hint.blocks.map(parsePrefix) };
  const before: FoundHint = { trusted, hint: undefined, foundAt: 0 };
  const hints = {
    node: hintOf,
    read: () => before,
    replace: async (given: FoundHint, cluster: string, blocks: Parameters<BlockHints["replace"]>[2]) => {
      expect(given).toBe(before);
      written = [cluster, ...blocks.map(toPrefixText)];
    },
  } as BlockHints;
  const found = await readNodeBlocks("n1", {
    batch,
    hints: hintOf === "nobody" ? undefined : hints,
    readCluster: () => Promise.resolve("u1"),
    onRound: () => asked.push("another round"),
    options: {},
  });
  return { found, asked, written };
}

function textsOf({ own, borrowed }: NodeBlocks): object {
  return {
    own: own.map(({ value }) => toPrefixText(value.cidr)),
    borrowed: borrowed.map(({ ref, stored }) => `${toPrefixText(ref.cidr)}${stored === undefined ? " without its record" : ""}`),
  };
}

const ALL = { own: ["10.65.0.0/26", "10.65.0.64/26"], borrowed: ["10.65.1.0/26", "10.65.1.64/26"] };
const OBJECTS = [OWN, LENT, EMPTY, LENT_TOO].map(toObject);
const WRITTEN = ["10.65.0.64/26", "10.65.1.64/26", "10.65.0.0/26", "10.65.1.0/26"];

test.each(["nobody", "n2"] as const)("where the hint is of %s one list by label tells, and nothing is written", async (hintOf) => {
  const { found, asked, written } = await read({ objects: OBJECTS, hintOf });
  expect(textsOf(found)).toEqual(ALL);
  expect([asked, written]).toEqual([["holder.netplug.io/n1"], undefined]);
});

test("without a hint that list tells, and is written into one", async () => {
  const { found, asked, written } = await read({ objects: OBJECTS });
  expect(textsOf(found)).toEqual(ALL);
  expect([asked, written]).toEqual([["holder.netplug.io/n1"], ["u1", ...WRITTEN]]);
});

test("what has a name that no block can have is nobody's, whatever its labels say, and comes into no hint", async () => {
  const copy = toObject(OWN);
  const { found, written } = await read({ objects: [...OBJECTS, { ...copy, metadata: { ...copy.metadata, name: "garbage" } }] });
  expect(textsOf(found)).toEqual(ALL);
  expect(written).toEqual(["u1", ...WRITTEN]);
});

test("a block that is being deleted counts as gone, whether it is found by label or by name", async () => {
  const ending = [OWN, LENT].map((block) => {
    const object = toObject(block);
    return { ...object, metadata: { ...object.metadata, deletionTimestamp: "2026-01-02T03:04:05Z" } };
  });
  const objects = [...ending, ...[EMPTY, LENT_TOO].map(toObject)];
  const left = { own: ["10.65.0.0/26"], borrowed: ["10.65.1.0/26"] };
  expect(textsOf((await read({ objects })).found)).toEqual(left);
  expect(textsOf((await read({ objects, hint: { cluster: "u1", blocks: WRITTEN } })).found)).toEqual(left);
});

test("with a hint each block is asked for by its name; one that is gone, or nobody's here, is left out", async () => {
  const hint = { cluster: "u1", blocks: [...WRITTEN, "10.65.3.0/26", "10.65.2.0/26"] };
  const { found, asked, written } = await read({ objects: [...OBJECTS, toObject(FOREIGN)], hint });
  expect(textsOf(found)).toEqual(ALL);
  expect(asked).toHaveLength(6);
  expect(asked).toContain("010-065-003-000-26");
  expect(written).toBeUndefined();
});

test("a hint of another cluster costs a second round, and is replaced", async () => {
  const { found, asked, written } = await read({ objects: OBJECTS, hint: { cluster: "u0", blocks: [] } });
  expect(textsOf(found)).toEqual(ALL);
  expect([asked, written]).toEqual([
    ["another round", "holder.netplug.io/n1"],
    ["u1", ...WRITTEN],
  ]);
});

/** Of so many blocks in a row what read() is given and the hint names; what it asks and writes. */
async function readMany(stored: number, named: number, cluster: string): Promise<readonly [asked: string, isWritten: boolean]> {
  const cidrs = Array.from({ length: Math.max(stored, named) }, (_, i) => `10.66.${i}.0/26`);
  const objects = cidrs.slice(0, stored).map((cidr) => toObject(makeBlock(cidr, "n1")));
  const hint = { cluster, blocks: cidrs.slice(0, named) };
  const { found, asked, written } = await read({ objects, hint });
  expect(found.own).toHaveLength(stored);
  expect(written?.length ?? stored + 1).toBe(stored + 1);
  return [asked.every((one) => one.startsWith("010-")) ? "names" : asked.join(), written !== undefined];
}

test("more than 16 blocks that are named are listed, and written again when they are another cluster's or have become few", async () => {
  const list = "holder.netplug.io/n1";
  expect(await readMany(16, 16, "u1")).toEqual(["names", false]);
  expect(await readMany(17, 17, "u1")).toEqual([list, false]);
  expect(await readMany(17, 17, "u0")).toEqual([list, true]);
  expect(await readMany(16, 17, "u1")).toEqual([list, true]);
});

test("an own record that cannot be read is the failure of all own blocks, the first of several", async () => {
  const { found } = await read({ objects: [corrupt(OWN), corrupt(EMPTY), toObject(LENT)] });
  expect(textsOf(found)).toEqual({ own: [], borrowed: ["10.65.1.64/26"] });
  expect(found.corrupt).toBeInstanceOf(CorruptBlock);
  expect(found.corrupt).toMatchObject({ message: expect.stringContaining("10.65.0.64/26") });
});

test("a block of another node whose record cannot be read is borrowed where its label says so", async () => {
  const hint = { cluster: "u1", blocks: ["10.65.1.64/26", "10.65.2.0/26"] };
  const { found } = await read({ objects: [corrupt(LENT), corrupt(FOREIGN)], hint });
  expect(textsOf(found)).toEqual({ own: [], borrowed: ["10.65.1.64/26 without its record"] });
});

test("an object that is no block at all is nobody's to pass over", async () => {
  const { metadata } = toObject(OWN);
  expect(await read({ objects: [{ metadata }] }).catch((thrown: unknown) => thrown)).toBeInstanceOf(NetplugError);
});
