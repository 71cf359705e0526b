import { describe, expect, test } from "bun:test";
import { memoryFiles } from "../../../test/kube/support/memory-files.ts";
import { type FakeClock, fakeClock } from "../../../test/support/fake-clock.ts";
import { NetplugError } from "../../lib/errors.ts";
import { parsePrefix, toPrefixText } from "../../lib/ip/prefix.ts";
import type { Files } from "../../lib/ports.ts";
import { BlockHints, type HintPorts } from "./block-hints.ts";

const FILE = "/run/netplug/blocks.json";
const A = parsePrefix("10.65.0.0/26");
const B = parsePrefix("10.65.0.64/26");
const HOUR_MS = 3_600_000;

interface World {
  readonly hints: BlockHints;
  readonly clock: FakeClock;
  readonly contents: Record<string, string | null>;
}

function createWorld(ports: Partial<HintPorts> = {}, files: Partial<Files> = {}): World {
  const clock = fakeClock();
  const contents: Record<string, string | null> = {};
  const all = { clock, files: { ...memoryFiles(contents), ...files }, ...ports };
  return { hints: new BlockHints({ file: FILE, node: "n1" }, all), clock, contents };
}

function blocksIn({ hints }: World): readonly string[] | undefined {
  return hints.read()?.blocks.map(toPrefixText);
}

test("what was listed is known, with the cluster that it is of", async () => {
  const world = createWorld();
  expect(world.hints.read()).toBeUndefined();
  await world.hints.replace("u1", [A, B]);
  expect(world.hints.read()).toEqual({ cluster: "u1", blocks: [A, B] });
  expect(world.hints.isAbout("n1")).toBe(true);
  expect(world.hints.isAbout("n2")).toBe(false);
});

test("what is about to be claimed is known before", async () => {
  const world = createWorld();
  await world.hints.replace("u1", [A]);
  await world.hints.add("u1", [B, A]);
  expect(blocksIn(world)).toEqual(["10.65.0.0/26", "10.65.0.64/26"]);
});

describe("nothing is known", () => {
  test("an hour after the list, however much was noted since", async () => {
    const world = createWorld();
    await world.hints.replace("u1", [A]);
    await world.clock.advance(HOUR_MS - 1000);
    await world.hints.add("u1", [B]);
    expect(blocksIn(world)).toHaveLength(2);
    await world.clock.advance(1000);
    expect(blocksIn(world)).toBeUndefined();
  });

  test("where something was noted and never listed", async () => {
    const world = createWorld();
    await world.hints.add("u1", [B]);
    expect(blocksIn(world)).toBeUndefined();
    await world.hints.replace("u1", [A]);
    expect(blocksIn(world)).toEqual(["10.65.0.0/26", "10.65.0.64/26"]);
  });

  test("where something was noted and never listed, also within an hour of 1970: a clock that was not set yet", async () => {
    const hints = new BlockHints({ file: FILE, node: "n1" }, { clock: fakeClock(0), files: memoryFiles({}) });
    await hints.add("u1", [B]);
    expect(hints.read()).toBeUndefined();
  });

  test("when the list is from the future: somebody set the clock back", async () => {
    const world = createWorld();
    await world.hints.replace("u1", [A]);
    const earlier = { ...world.clock, now: () => world.clock.now() - HOUR_MS };
    const hints = new BlockHints({ file: FILE, node: "n1" }, { clock: earlier, files: memoryFiles(world.contents) });
    expect(hints.read()).toBeUndefined();
  });

  test.each(["", "{", "null", "[]", "{}", '{"node":"n1","cluster":"u1","isComplete":true,"listedAt":"1","blocks":{}}'])(
    "of a file with %j",
    (text) => {
      const world = createWorld();
      world.contents[FILE] = text;
      expect(blocksIn(world)).toBeUndefined();
    },
  );

  test.each([
    ["one of no cluster", '{"node":"n1","cluster":5,"isComplete":true,"listedAt":1700000000,"blocks":{}}'],
    ["one that does not say whether it is complete", '{"node":"n1","cluster":"u1","isComplete":"no","listedAt":1700000000,"blocks":{}}'],
    ["another node's", '{"node":"n2","cluster":"u1","isComplete":true,"listedAt":1700000000,"blocks":{}}'],
    ["one with what is no block", '{"node":"n1","cluster":"u1","isComplete":true,"listedAt":1700000000,"blocks":{"x":0}}'],
    ["one with a time that is none", '{"node":"n1","cluster":"u1","isComplete":true,"listedAt":1700000000,"blocks":{"10.65.0.0/26":"0"}}'],
  ])("of %s", (_name, text) => {
    const world = createWorld();
    world.contents[FILE] = text;
    expect(blocksIn(world)).toBeUndefined();
  });

  test("of a file that cannot be read", () => {
    const world = createWorld();
    world.contents[FILE] = null;
    expect(blocksIn(world)).toBeUndefined();
  });
});

describe("a list", () => {
  test("keeps what somebody is about to claim, for two minutes", async () => {
    const world = createWorld();
    await world.hints.replace("u1", [A]);
    await world.hints.add("u1", [B]);
    await world.clock.advance(119_000);
    await world.hints.replace("u1", []);
    expect(blocksIn(world)).toEqual(["10.65.0.64/26"]);
    await world.clock.advance(1000);
    await world.hints.replace("u1", []);
    expect(blocksIn(world)).toEqual([]);
  });

  test("of another cluster keeps nothing", async () => {
    const world = createWorld();
    await world.hints.add("u1", [B]);
    await world.hints.replace("u2", [A]);
    expect(world.hints.read()).toEqual({ cluster: "u2", blocks: [A] });
    await world.hints.add("u1", [B]);
    expect(world.hints.read()).toBeUndefined();
  });

  test("that cannot be written, or not without waiting, is only not noted", async () => {
    const refuse = (): never => {
      throw new NetplugError("ioFailure", "no space");
    };
    const full = createWorld({}, { writeAtomically: refuse });
    await full.hints.replace("u1", [A]);
    expect(blocksIn(full)).toBeUndefined();
    const locked = createWorld({ takeLock: async () => undefined });
    await locked.hints.replace("u1", [A]);
    expect(blocksIn(locked)).toBeUndefined();
  });
});

describe("a claim that cannot be noted", () => {
  test("goes on where nobody believes in a note", async () => {
    const world = createWorld({ takeLock: async () => undefined });
    await world.hints.add("u1", [A]);
  });

  test("removes the note that lacks it, else it fails", async () => {
    let isFull = false;
    let isReadOnly = false;
    const clock = fakeClock();
    const contents: Record<string, string | null> = {};
    const memory = memoryFiles(contents);
    const failWhen = (isFailing: boolean): void => {
      if (isFailing) throw new NetplugError("ioFailure", "write: no space left");
    };
    const files: Files = {
      ...memory,
      writeAtomically: (...args) => (failWhen(isFull), memory.writeAtomically(...args)),
      remove: (path) => (failWhen(isReadOnly), memory.remove(path)),
    };
    const hints = new BlockHints({ file: FILE, node: "n1" }, { clock, files });
    await hints.replace("u1", [A]);
    [isFull, isReadOnly] = [true, true];
    const failure = await hints.add("u1", [B]).catch((thrown: unknown) => thrown);
    expect(failure).toMatchObject({ code: 5, message: "write: no space left" });
    isReadOnly = false;
    await hints.add("u1", [B]);
    expect(hints.read()).toBeUndefined();
  });
});

test("two that note at the same time lose nothing: one waits for the other", async () => {
  let holders = 0;
  let most = 0;
  let last: Promise<void> = Promise.resolve();
  const takeLock = async (path: string): Promise<Disposable> => {
    expect(path).toBe(`${FILE}.lock`);
    const before = last;
    const done = Promise.withResolvers<void>();
    last = done.promise;
    await before;
    most = Math.max(most, ++holders);
    return {
      [Symbol.dispose]() {
        holders--;
        done.resolve();
      },
    };
  };
  const world = createWorld({ takeLock });
  await Promise.all([world.hints.replace("u1", [A]), world.hints.add("u1", [B])]);
  expect(most).toBe(1);
  expect(blocksIn(world)).toEqual(["10.65.0.0/26", "10.65.0.64/26"]);
});
