import { describe, expect, test } from "bun:test";
import { memoryFiles } from "../../../../test/support/memory-files.ts";
import { type FakeClock, fakeClock } from "../../../../test/support/time/fake-clock.ts";
import { NetplugError } from "../../../lib/errors.ts";
import { parsePrefix, toPrefixText } from "../../../lib/ip/prefix.ts";
import type { Files } from "../../../lib/ports.ts";
import { BlockHints, type HintPorts } from "./block-hints.ts";

const FILE = "/run/netplug/blocks.json";
const A = parsePrefix("10.65.0.0/26");
const B = parsePrefix("10.65.0.64/26");
const HOUR_MS = 3_600_000;

/** Of nobody else. */
const takeLock: HintPorts["takeLock"] = async () => ({ [Symbol.dispose]: () => undefined });

interface World {
  readonly hints: BlockHints;
  readonly clock: FakeClock;
  readonly contents: Record<string, string | null>;
}

function createWorld(ports: Partial<HintPorts> = {}, files: Partial<Files> = {}): World {
  const clock = fakeClock();
  const contents: Record<string, string | null> = {};
  const all = { clock, files: { ...memoryFiles(contents), ...files }, takeLock, ...ports };
  return { hints: new BlockHints({ file: FILE, node: "n1" }, all), clock, contents };
}

function blocksIn({ hints }: World): readonly string[] | undefined {
  return hints.read().trusted?.blocks.map(toPrefixText);
}

test("what was listed is known, with the cluster that it is of", async () => {
  const world = createWorld();
  expect(world.hints.read().trusted).toBeUndefined();
  await world.hints.replace(world.hints.read(), "u1", [A, B]);
  expect(world.hints.read().trusted).toEqual({ cluster: "u1", blocks: [A, B] });
  expect(world.hints.node).toBe("n1");
});

test("add() notes a block once, beside those that are noted already", async () => {
  const world = createWorld();
  await world.hints.replace(world.hints.read(), "u1", [A]);
  await world.hints.add("u1", [B, A]);
  expect(blocksIn(world)).toEqual(["10.65.0.0/26", "10.65.0.64/26"]);
});

describe("nothing is known", () => {
  test("an hour after the list, however much was named since", async () => {
    const world = createWorld();
    await world.hints.replace(world.hints.read(), "u1", [A]);
    await world.clock.advance(HOUR_MS - 1000);
    await world.hints.add("u1", [B]);
    expect(blocksIn(world)).toHaveLength(2);
    await world.clock.advance(1000);
    expect(blocksIn(world)).toBeUndefined();
  });

  test("where something was named and never listed", async () => {
    const world = createWorld();
    await world.hints.add("u1", [B]);
    expect(blocksIn(world)).toBeUndefined();
    await world.hints.replace(world.hints.read(), "u1", [A]);
    expect(blocksIn(world)).toEqual(["10.65.0.0/26", "10.65.0.64/26"]);
  });

  test("where something was named and never listed, also within an hour of 1970: a clock that was not set yet", async () => {
    const hints = new BlockHints({ file: FILE, node: "n1" }, { clock: fakeClock(0), files: memoryFiles({}), takeLock });
    await hints.add("u1", [B]);
    expect(hints.read().trusted).toBeUndefined();
  });

  test("when the list is from the future: somebody set the clock back", async () => {
    const world = createWorld();
    await world.hints.replace(world.hints.read(), "u1", [A]);
    const earlier = { ...world.clock, now: () => world.clock.now() - HOUR_MS };
    const hints = new BlockHints({ file: FILE, node: "n1" }, { clock: earlier, files: memoryFiles(world.contents), takeLock });
    expect(hints.read().trusted).toBeUndefined();
  });

  test.each([
    ["nothing", ""],
    ["what is no JSON", "{"],
    ["null", "null"],
    ["a list", "[]"],
    ["an empty hint", "{}"],
    ["one of no moment", '{"node":"n1","cluster":"u1","isComplete":true,"listedAt":"1","blocks":{}}'],
    ["one of no cluster", '{"node":"n1","cluster":5,"isComplete":true,"listedAt":1700000000,"blocks":{}}'],
    ["one that does not say whether it is complete", '{"node":"n1","cluster":"u1","isComplete":"no","listedAt":1700000000,"blocks":{}}'],
    ["another node's", '{"node":"n2","cluster":"u1","isComplete":true,"listedAt":1700000000,"blocks":{}}'],
    ["one with what is no block", '{"node":"n1","cluster":"u1","isComplete":true,"listedAt":1700000000,"blocks":{"x":0}}'],
    ["one without blocks", '{"node":"n1","cluster":"u1","isComplete":true,"listedAt":1700000000}'],
    ["one with a time that is none", '{"node":"n1","cluster":"u1","isComplete":true,"listedAt":1700000000,"blocks":{"10.65.0.0/26":"0"}}'],
    ["what cannot be read", null],
  ])("where the file holds %s", (_name, text) => {
    const world = createWorld();
    world.contents[FILE] = text;
    expect(blocksIn(world)).toBeUndefined();
  });
});

describe("a list", () => {
  const refuse = (): never => {
    throw new NetplugError("ioFailure", "no space");
  };

  test("keeps what somebody is about to claim, for two minutes", async () => {
    const world = createWorld();
    await world.hints.replace(world.hints.read(), "u1", [A]);
    await world.hints.add("u1", [B]);
    await world.clock.advance(119_000);
    await world.hints.replace(world.hints.read(), "u1", []);
    expect(blocksIn(world)).toEqual(["10.65.0.64/26"]);
    await world.clock.advance(1000);
    await world.hints.replace(world.hints.read(), "u1", []);
    expect(blocksIn(world)).toEqual([]);
  });

  test("of another cluster keeps nothing", async () => {
    const world = createWorld();
    await world.hints.add("u1", [B]);
    await world.hints.replace(world.hints.read(), "u2", [A]);
    expect(world.hints.read().trusted).toEqual({ cluster: "u2", blocks: [A] });
    await world.hints.add("u1", [B]);
    expect(world.hints.read().trusted).toBeUndefined();
  });

  test("that cannot be written, or not without waiting, is only not written", async () => {
    const full = createWorld({}, { writeAtomically: refuse });
    await full.hints.replace(full.hints.read(), "u1", [A]);
    expect(blocksIn(full)).toBeUndefined();
    const locked = createWorld({ takeLock: async () => undefined });
    await locked.hints.replace(locked.hints.read(), "u1", [A]);
    expect(blocksIn(locked)).toBeUndefined();
  });

  test.each<[string, Partial<HintPorts>, Partial<Files>, object]>([
    ["somebody keeps the lock", { takeLock: async () => undefined }, {}, { code: 11, message: expect.stringContaining("others hold it") }],
    ["the disk is full", {}, { writeAtomically: refuse }, { code: 5, message: "no space" }],
  ])("fails when the hint is doubted and %s: the plugin would trust it as it is", async (_name, ports, files, failure) => {
    const world = createWorld();
    await world.hints.replace(world.hints.read(), "u1", [A]);
    const all = { clock: world.clock, files: { ...memoryFiles(world.contents), ...files }, takeLock, ...ports };
    const doubting = new BlockHints({ file: FILE, node: "n1", isDoubted: true }, all);
    expect(doubting.read().trusted).toBeUndefined();
    expect(await doubting.replace(doubting.read(), "u1", [A, B]).catch((thrown: unknown) => thrown)).toMatchObject(failure);
    expect(blocksIn(world)).toEqual(["10.65.0.0/26"]);
  });
});

describe("a claim whose name cannot be written", () => {
  const full = (): never => {
    throw new NetplugError("ioFailure", "write: no space left");
  };

  test.each<[string, Partial<HintPorts>, Partial<Files>, object]>([
    ["somebody keeps the lock", { takeLock: async () => undefined }, {}, { code: 11, message: expect.stringContaining("others hold it") }],
    ["the lock cannot be made", { takeLock: async () => full() }, {}, { code: 5 }],
    ["the disk is full", {}, { writeAtomically: full }, { code: 5, message: "write: no space left" }],
  ])("is not made when %s, even where there is no hint", async (_name, ports, files, failure) => {
    const world = createWorld(ports, files);
    expect(await world.hints.add("u1", [A]).catch((thrown: unknown) => thrown)).toMatchObject(failure);
    expect(world.contents).toEqual({});
  });

  test("is not made, and the hint stays: with it would go the names of others, which a list on its way may lack", async () => {
    let isFull = false;
    const contents: Record<string, string | null> = {};
    const memory = memoryFiles(contents);
    const writeAtomically: Files["writeAtomically"] = (...args) => (isFull ? full() : memory.writeAtomically(...args));
    const hints = new BlockHints({ file: FILE, node: "n1" }, { clock: fakeClock(), files: { ...memory, writeAtomically }, takeLock });
    await hints.replace(hints.read(), "u1", []);
    const found = hints.read();
    await hints.add("u1", [A]);
    isFull = true;
    expect(await hints.add("u1", [B]).catch((thrown: unknown) => thrown)).toMatchObject({ code: 5 });
    isFull = false;
    await hints.replace(found, "u1", []);
    expect(hints.read().trusted?.blocks).toEqual([A]);
  });
});

describe("a list that was asked for before a claim", () => {
  test("keeps its name, however long it takes and whatever the clock does", async () => {
    for (const ms of [0, 10 * 60_000, -10 * 60_000]) {
      const world = createWorld();
      await world.hints.replace(world.hints.read(), "u1", [A]);
      const found = world.hints.read();
      await world.hints.add("u1", [B]);
      const clock = { ...world.clock, now: () => world.clock.now() + ms };
      const lister = new BlockHints({ file: FILE, node: "n1" }, { clock, files: memoryFiles(world.contents), takeLock });
      await lister.replace(found, "u1", [A]);
      expect(blocksIn(world)).toEqual(["10.65.0.0/26", "10.65.0.64/26"]);
    }
  });

  test("keeps the name of a block that was gone when it was listed, and is claimed again", async () => {
    const world = createWorld();
    await world.hints.replace(world.hints.read(), "u1", [A]);
    const found = world.hints.read();
    await world.hints.add("u1", [A]);
    await world.clock.advance(200_000);
    await world.hints.replace(found, "u1", []);
    expect(blocksIn(world)).toEqual(["10.65.0.0/26"]);
  });

  test("keeps what a later list has found", async () => {
    const world = createWorld();
    const found = world.hints.read();
    await world.hints.replace(world.hints.read(), "u1", [A]);
    await world.hints.replace(found, "u1", []);
    expect(blocksIn(world)).toEqual(["10.65.0.0/26"]);
  });

  test("counts from when it was asked for", async () => {
    const world = createWorld();
    const found = world.hints.read();
    await world.clock.advance(HOUR_MS / 2);
    await world.hints.replace(found, "u1", [A]);
    await world.clock.advance(HOUR_MS / 2);
    expect(blocksIn(world)).toBeUndefined();
  });
});

describe("a claim that was carried out", () => {
  test("is confirmed without a write", async () => {
    let writes = 0;
    const memory = memoryFiles({});
    const writeAtomically: Files["writeAtomically"] = (...args) => (writes++, memory.writeAtomically(...args));
    const hints = new BlockHints({ file: FILE, node: "n1" }, { clock: fakeClock(), files: { ...memory, writeAtomically }, takeLock });
    const claim = await hints.add("u1", [A, B]);
    expect(await hints.confirm(claim)).toBeUndefined();
    expect(writes).toBe(1);
  });

  test("is written once more when its name is gone: it was stopped for minutes, and somebody listed", async () => {
    const world = createWorld();
    const claim = await world.hints.add("u1", [A]);
    await world.clock.advance(120_000);
    await world.hints.replace(world.hints.read(), "u1", []);
    expect(blocksIn(world)).toEqual([]);
    expect(await world.hints.confirm(claim)).toBeUndefined();
    expect(blocksIn(world)).toEqual(["10.65.0.0/26"]);
  });

  test("is written once more when one of its names is gone", async () => {
    const world = createWorld();
    const claim = await world.hints.add("u1", [A, B]);
    await world.clock.advance(120_000);
    await world.hints.replace(world.hints.read(), "u1", [A]);
    expect(blocksIn(world)).toEqual(["10.65.0.0/26"]);
    // without the time that it took
    expect(await world.hints.confirm({ ...claim, hintedAt: Math.floor(world.clock.now() / 1000) })).toBeUndefined();
    expect(blocksIn(world)).toEqual(["10.65.0.0/26", "10.65.0.64/26"]);
  });

  test("is written once more when somebody has removed the file", async () => {
    const world = createWorld();
    const claim = await world.hints.add("u1", [A]);
    delete world.contents[FILE];
    expect(await world.hints.confirm(claim)).toBeUndefined();
    await world.hints.replace(world.hints.read(), "u1", []);
    expect(blocksIn(world)).toEqual(["10.65.0.0/26"]);
  });

  test.each([60_000, -1_000])("is written once more when it took %d ms: somebody may list now who does not see it", async (tookMs) => {
    const world = createWorld();
    const claim = await world.hints.add("u1", [A]);
    const clock = { ...world.clock, now: () => world.clock.now() + tookMs };
    const hints = new BlockHints({ file: FILE, node: "n1" }, { clock, files: memoryFiles(world.contents), takeLock });
    const found = hints.read();
    expect(await hints.confirm(claim)).toBeUndefined();
    await world.clock.advance(HOUR_MS);
    await hints.replace(found, "u1", []);
    expect(JSON.parse(world.contents[FILE] ?? "")).toMatchObject({ blocks: { "10.65.0.0/26": 1_700_000_000 + tookMs / 1000 } });
  });

  test("and cannot be written once more: this process trusts no hint until it could be", async () => {
    let isLocked = false;
    const world = createWorld({ takeLock: async () => (isLocked ? undefined : { [Symbol.dispose]: () => undefined }) });
    const claim = await world.hints.add("u1", [A]);
    await world.clock.advance(120_000);
    await world.hints.replace(world.hints.read(), "u1", []);
    isLocked = true;
    expect(await world.hints.confirm(claim)).toMatchObject({ code: 11 });
    expect(blocksIn(world)).toBeUndefined();
    isLocked = false;
    await world.hints.replace(world.hints.read(), "u1", [B]);
    expect(blocksIn(world)).toEqual(["10.65.0.64/26", "10.65.0.0/26"]);
  });
});

test("two that write at the same time lose nothing: one waits for the other", async () => {
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
  await Promise.all([world.hints.replace(world.hints.read(), "u1", [A]), world.hints.add("u1", [B])]);
  expect(most).toBe(1);
  expect(blocksIn(world)).toEqual(["10.65.0.0/26", "10.65.0.64/26"]);
});

test("a trial leaves what the file holds, also where it cannot be read at the moment", async () => {
  const contents: Record<string, string | null> = {};
  let isReadable = true;
  const readText = (path: string): string | undefined => {
    if (!isReadable) throw new NetplugError("ioFailure", `read "${path}": ENFILE`);
    return memoryFiles(contents).readText(path);
  };
  const hints = new BlockHints({ file: FILE, node: "n1" }, { clock: fakeClock(), files: { ...memoryFiles(contents), readText }, takeLock });
  expect([await hints.tryWrite(), contents[FILE]]).toEqual([undefined, "{}"]);
  await hints.replace(hints.read(), "u1", [A]);
  const before = contents[FILE];
  expect([await hints.tryWrite(), contents[FILE]]).toEqual([undefined, before]);
  isReadable = false;
  expect([(await hints.tryWrite())?.message, contents[FILE]]).toEqual([`read "${FILE}": ENFILE`, before]);
});

test("a trial writes nothing while another process writes", async () => {
  const world = createWorld({ takeLock: async () => undefined });
  expect(await world.hints.tryWrite()).toBeUndefined();
  expect(world.contents).toEqual({});
});
