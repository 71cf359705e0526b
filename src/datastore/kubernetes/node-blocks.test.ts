import { expect, test } from "bun:test";
import { makeBlock } from "../../../test/datastore/blocks.ts";
import { CorruptBlock } from "../../api/ipam-block-codec.ts";
import type { Block } from "../../api/ipam-block.ts";
import { NetplugError } from "../../lib/errors.ts";
import { parsePrefix, toPrefixText } from "../../lib/ip/prefix.ts";
import type { Batch, ListRequest } from "./batch.ts";
import type { BlockHints } from "./block-hints.ts";
import { toBlockObject } from "./block-object.ts";
import { type NodeBlocks, readNodeBlocks } from "./node-blocks.ts";
import type { BlockObject } from "./resource-types.ts";

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

interface Note {
  readonly cluster: string;
  readonly blocks: readonly string[];
}

interface World {
  readonly objects?: readonly BlockObject[];
  readonly note?: Note;
  /** Whether the note is that of n1; without hints: whether there are any. */
  readonly notes?: "n1" | "n2" | "none";
}

/** What n1 has, what was asked for it, and what was noted. */
async function read({ objects = [], note, notes = "n1" }: World): Promise<{
  readonly found: NodeBlocks;
  readonly asked: readonly string[];
  readonly noted: readonly string[] | undefined;
}> {
  const asked: string[] = [];
  let noted: readonly string[] | undefined;
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
  const hints = {
    isAbout: (node: string) => node === notes,
    read: () => note && { cluster: note.cluster, blocks: note.blocks.map(parsePrefix) },
    replace: async (cluster: string, blocks: Parameters<BlockHints["replace"]>[1]) => {
      noted = [cluster, ...blocks.map(toPrefixText)];
    },
  } as BlockHints;
  const found = await readNodeBlocks("n1", {
    batch,
    hints: notes === "none" ? undefined : hints,
    readCluster: () => Promise.resolve("u1"),
    onAnotherRound: () => asked.push("another round"),
  });
  return { found, asked, noted };
}

function textsOf({ own, borrowed }: NodeBlocks): object {
  if (own instanceof CorruptBlock) return { own, borrowed: borrowed.map(({ ref }) => toPrefixText(ref.cidr)) };
  return {
    own: own.map(({ value }) => toPrefixText(value.cidr)),
    borrowed: borrowed.map(({ ref, stored }) => `${toPrefixText(ref.cidr)}${stored === undefined ? " without its record" : ""}`),
  };
}

const ALL = { own: ["10.65.0.0/26", "10.65.0.64/26"], borrowed: ["10.65.1.0/26", "10.65.1.64/26"] };
const OBJECTS = [OWN, LENT, EMPTY, LENT_TOO].map(toObject);
const NOTED = ["10.65.0.64/26", "10.65.1.64/26", "10.65.0.0/26", "10.65.1.0/26"];

test.each(["none", "n2"] as const)("where the note is of %s one list by label tells, and nothing is noted", async (notes) => {
  const { found, asked, noted } = await read({ objects: OBJECTS, notes });
  expect(textsOf(found)).toEqual(ALL);
  expect([asked, noted]).toEqual([["holder.netplug.io/n1"], undefined]);
});

test("without a note that list tells, and is noted", async () => {
  const { found, asked, noted } = await read({ objects: OBJECTS });
  expect(textsOf(found)).toEqual(ALL);
  expect([asked, noted]).toEqual([["holder.netplug.io/n1"], ["u1", ...NOTED]]);
});

test("with a note each block is asked for by its name; one that is gone, or nobody's here, is left out", async () => {
  const note = { cluster: "u1", blocks: [...NOTED, "10.65.3.0/26", "10.65.2.0/26"] };
  const { found, asked, noted } = await read({ objects: [...OBJECTS, toObject(FOREIGN)], note });
  expect(textsOf(found)).toEqual(ALL);
  expect(asked).toHaveLength(6);
  expect(asked).toContain("010-065-003-000-26");
  expect(noted).toBeUndefined();
});

test("a note of another cluster costs a second round, and is replaced", async () => {
  const { found, asked, noted } = await read({ objects: OBJECTS, note: { cluster: "u0", blocks: [] } });
  expect(textsOf(found)).toEqual(ALL);
  expect([asked, noted]).toEqual([
    ["another round", "holder.netplug.io/n1"],
    ["u1", ...NOTED],
  ]);
});

/** Of so many blocks in a row what read() is given and the note says; what it asks and notes. */
async function readMany(stored: number, noted: number, cluster: string): Promise<readonly [asked: string, isNoted: boolean]> {
  const cidrs = Array.from({ length: Math.max(stored, noted) }, (_, i) => `10.66.${i}.0/26`);
  const objects = cidrs.slice(0, stored).map((cidr) => toObject(makeBlock(cidr, "n1")));
  const note = { cluster, blocks: cidrs.slice(0, noted) };
  const { found, asked, noted: written } = await read({ objects, note });
  expect(found.own).toHaveLength(stored);
  expect(written?.length ?? stored + 1).toBe(stored + 1);
  return [asked.every((one) => one.startsWith("010-")) ? "names" : asked.join(), written !== undefined];
}

test("more than 16 blocks that are noted are listed, and noted again when they are another cluster's or have become few", async () => {
  const list = "holder.netplug.io/n1";
  expect(await readMany(16, 16, "u1")).toEqual(["names", false]);
  expect(await readMany(17, 17, "u1")).toEqual([list, false]);
  expect(await readMany(17, 17, "u0")).toEqual([list, true]);
  expect(await readMany(16, 17, "u1")).toEqual([list, true]);
});

test("an own record that cannot be read is the failure of all own blocks, the first of several", async () => {
  const { found } = await read({ objects: [corrupt(OWN), corrupt(EMPTY), toObject(LENT)] });
  expect(textsOf(found)).toEqual({ own: expect.any(CorruptBlock), borrowed: ["10.65.1.64/26"] });
  expect(found.own).toMatchObject({ message: expect.stringContaining("10.65.0.64/26") });
});

test("a block of another node whose record cannot be read is borrowed where its label says so", async () => {
  const note = { cluster: "u1", blocks: ["10.65.1.64/26", "10.65.2.0/26"] };
  const { found } = await read({ objects: [corrupt(LENT), corrupt(FOREIGN)], note });
  expect(textsOf(found)).toEqual({ own: [], borrowed: ["10.65.1.64/26 without its record"] });
});

test("an object that is no block at all is nobody's to pass over", async () => {
  const { metadata } = toObject(OWN);
  expect(await read({ objects: [{ metadata }] }).catch((thrown: unknown) => thrown)).toBeInstanceOf(NetplugError);
});
