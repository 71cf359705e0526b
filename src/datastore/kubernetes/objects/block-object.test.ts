import { describe, expect, test } from "bun:test";
import { makeBlock } from "../../../../test/datastore/blocks.ts";
import { CorruptBlock } from "../../../api/ipam-block-codec.ts";
import type { Block } from "../../../api/ipam-block.ts";
import { parsePrefix } from "../../../lib/ip/prefix.ts";
import type { Revision } from "../../datastore.ts";
import { holderLabel, refOfObject, toBlockEntry, toBlockObject, toStoredBlock } from "./block-object.ts";
import type { BlockObject } from "./resource-types.ts";

const LONG_NAME = `${"n".repeat(60)}.example`;
const HASH = `sha1-${new Bun.CryptoHasher("sha1").update(LONG_NAME).digest("hex")}`;
const FULL = makeBlock("10.65.0.64/30", "n1", { 0: "n1", 1: "n2", 2: "n2", 3: "n1" });

/** With this many addresses that were never given, at the end. */
function withSpare(count: number): Block {
  const allocated = Object.fromEntries(Array.from({ length: 64 - count }, (_, ordinal) => [ordinal, "n1"]));
  return makeBlock("10.65.0.0/26", "n1", allocated);
}

describe("the object of a block", () => {
  test("has a label for each thing that it is found by", () => {
    expect(toBlockObject(FULL).metadata).toEqual({
      name: "010-065-000-064-30",
      labels: { "netplug.io/cell": "010-065-000-000", "netplug.io/node": "n1", "holder.netplug.io/n1": "", "holder.netplug.io/n2": "" },
      annotations: {},
    });
    expect(toBlockObject(makeBlock("fd65::40/122", "n1")).metadata.labels).toEqual({
      "netplug.io/cell": "fd65-0000-0000-0000-0000-0000-0000-0000",
      "netplug.io/node": "n1",
      "holder.netplug.io/n1": "",
      "netplug.io/spare": "",
      "netplug.io/empty": "1000",
    });
  });

  test("says which addresses are next where they are few, or cool down after their release", () => {
    const nextOf = (block: Block): string | undefined => toBlockObject(block).metadata.annotations?.["netplug.io/next"];
    expect(nextOf(FULL)).toBeUndefined();
    expect(nextOf(withSpare(40))).toBeUndefined();
    expect(nextOf(withSpare(2))).toBe('{"listed":[[62,0],[63,0]],"isAll":true}');
    expect(nextOf({ ...withSpare(40), releasedAt: new Map([[24, 7]]) })).toStartWith('{"listed":[[24,7],[25,0]');
  });

  test("of a node whose name is no label has its hash, and the whole name beside", () => {
    const { metadata, spec } = toBlockObject(makeBlock("10.65.0.0/26", LONG_NAME, { 0: LONG_NAME }));
    expect(metadata.labels).toMatchObject({ "netplug.io/node": HASH, [`holder.netplug.io/${HASH}`]: "" });
    expect(metadata.annotations).toEqual({ "netplug.io/node": LONG_NAME });
    expect([spec?.node, holderLabel(LONG_NAME)]).toEqual([LONG_NAME, `holder.netplug.io/${HASH}`]);
  });

  test("names the revision that it replaces, and none when it is claimed", () => {
    expect(toBlockObject(FULL).metadata).not.toContainAnyKeys(["resourceVersion", "managedFields"]);
    expect(toBlockObject(FULL, "7" as Revision).metadata.resourceVersion).toBe("7");
  });

  test.each([FULL, withSpare(2), withSpare(64), makeBlock("fd65::/122", LONG_NAME, { 3: "n2" })])("is read back as it was", (block) => {
    const object = toBlockObject(block, "7" as Revision);
    expect(toStoredBlock(object)).toEqual({ value: block, revision: "7" as Revision });
    expect(refOfObject(object)).toEqual({ cidr: block.cidr, node: block.node });
  });
});

describe("an object that is no block of ours", () => {
  const good = toBlockObject(FULL);
  const spec = good.spec ?? {};
  const { allocations: _, ...withoutAllocations } = spec;
  const notOurs = { kind: "ioFailure", message: expect.stringContaining("it is not what netplug writes there; restore it or delete it") };

  test.each<[what: string, object: BlockObject, fault: object]>([
    ["without a spec", { metadata: good.metadata }, notOurs],
    ["without a CIDR", { ...good, spec: { ...spec, cidr: 7 as unknown as string } }, notOurs],
    ["with a CIDR that is none", { ...good, spec: { ...spec, cidr: "10.65.0.64" } }, notOurs],
    ["with the CIDR of another", { ...good, spec: { ...spec, cidr: "10.65.0.0/30" } }, notOurs],
    ["without a node", { ...good, spec: { ...spec, node: undefined as unknown as string } }, notOurs],
    ["without a name", { ...good, metadata: {} }, { ...notOurs, message: expect.stringContaining('read ipamblock ""') }],
    [
      "of which the CRD hides the record",
      { ...good, spec: withoutAllocations },
      {
        kind: "notInitialised",
        message:
          'read ipamblock "010-065-000-064-30": it comes without its allocations; the CRD of blocks is of another version: run "netplugctl init"',
      },
    ],
  ])("%s is said to be one", (_what, object, fault) => {
    for (const read of [toStoredBlock, refOfObject]) expect(errorOf(() => read(object))).toMatchObject(fault);
  });

  test("has a place also when its record cannot be read", () => {
    const object = { ...good, spec: { ...spec, allocations: "x" } };
    expect(errorOf(() => toStoredBlock(object))).toBeInstanceOf(CorruptBlock);
    expect(refOfObject(object).node).toBe("n1");
  });
});

test("an object that is being deleted keeps its place, and is neither written nor searched: finalizers would go with the next write", () => {
  const object = toBlockObject(withSpare(64), "7" as Revision);
  const ending = { ...object, metadata: { ...object.metadata, deletionTimestamp: "2026-01-02T03:04:05Z" } };
  expect(errorOf(() => toStoredBlock(ending))).toBeInstanceOf(CorruptBlock);
  const ref = { cidr: parsePrefix("10.65.0.0/26"), node: "n1" };
  expect(refOfObject(ending)).toEqual(ref);
  expect(toBlockEntry(ending.metadata)).toEqual({ ...ref, node: "", isSpare: false, emptySince: undefined });
});

describe("the metadata alone", () => {
  test("tell all that a search needs", () => {
    expect(toBlockEntry(toBlockObject(FULL).metadata)).toEqual({ cidr: FULL.cidr, node: "n1", isSpare: false, emptySince: undefined });
    expect(toBlockEntry(toBlockObject(makeBlock("10.65.0.0/26", LONG_NAME)).metadata)).toEqual({
      cidr: parsePrefix("10.65.0.0/26"),
      node: LONG_NAME,
      isSpare: true,
      emptySince: 1000,
    });
    expect(toBlockEntry(toBlockObject(withSpare(1)).metadata)?.next).toEqual({ listed: [[63, 0]], isAll: true });
  });

  test("of an object with another name, or of no node, tell nothing", () => {
    const { metadata } = toBlockObject(FULL);
    const { "netplug.io/node": _, ...labels } = metadata.labels ?? {};
    expect(toBlockEntry({ ...metadata, name: "10-65-0-64-30" })).toBeUndefined();
    expect(toBlockEntry({ ...metadata, labels })).toBeUndefined();
    expect(toBlockEntry({})).toBeUndefined();
  });

  test.each(["x", "{}", "7"])("with %s where the next addresses stand leave the block to be read", (text) => {
    const { metadata } = toBlockObject(withSpare(1));
    expect(toBlockEntry({ ...metadata, annotations: { "netplug.io/next": text } })).not.toHaveProperty("next");
  });
});

function errorOf(work: () => unknown): unknown {
  try {
    return { result: work() };
  } catch (thrown) {
    return thrown;
  }
}
