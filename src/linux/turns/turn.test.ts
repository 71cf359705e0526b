import { afterAll, afterEach, describe, expect, test } from "bun:test";
import {
  closeSync,
  constants,
  existsSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { standStill } from "../../../test/support/programs/stand-still.ts";
import { durationOf } from "../../../test/support/time/duration.ts";
import { eventually } from "../../../test/support/time/eventually.ts";
import { systemClock } from "../../lib/clock.ts";
import type { Clock } from "../../lib/ports.ts";
import { Fd } from "../fd.ts";
import { type TurnOptions, waitInQueue } from "./queue.ts";
import { countWork } from "./queue-files.ts";
import { type QueuedRequest, requestsIn } from "./queued-requests.ts";
import { takeTurn } from "./turn.ts";

const folder = mkdtempSync(join(tmpdir(), "npgt-turn-"));
afterAll(() => rmSync(folder, { recursive: true }));

const take = (path: string, stallMs: number) => takeWith(path, { stallMs, clock: systemClock });
/** A call that waits stands in the queue when this returns: `takeTurn()` would load `queue.ts` first. */
async function takeWith(path: string, options: TurnOptions): Promise<Disposable | undefined> {
  const turn = options.stallMs === 0 ? await takeTurn(path, options) : await waitInQueue(path, options);
  if (turn === "served") throw new Error("served, but nothing was asked for");
  return turn;
}
const inQueue = (path: string): readonly string[] => (existsSync(`${path}.line`) ? readdirSync(`${path}.line`).sort() : []);

/** Longer than a test may take: who gets a turn was woken. */
const LONG_MS = 60_000;

interface TakerOptions {
  /** Left in the queue. */
  readonly request?: string;
  /** How long it keeps its turn. */
  readonly keepMs?: number;
  /** How many times as slow its clock is. @default 1 */
  readonly slowness?: number;
}

/** Another process that notes its name in `log` while it has its turn, or when its request was served. */
function startTaker(path: string, name: string, log: string, { request, keepMs = 0, slowness = 1 }: TakerOptions = {}): Bun.Subprocess {
  const program = `
    import { appendFileSync } from "node:fs";
    const { takeTurn } = await import(${JSON.stringify(join(import.meta.dir, "turn.ts"))});
    const { systemClock } = await import(${JSON.stringify(join(import.meta.dir, "../../lib/clock.ts"))});
    const clock = { ...systemClock, monotonic: () => systemClock.monotonic() / ${slowness} };
    const request = () => ${JSON.stringify(request)};
    const turn = await takeTurn(${JSON.stringify(path)}, { stallMs: ${LONG_MS}, clock, request });
    if (turn === undefined) throw new Error("no turn");
    appendFileSync(${JSON.stringify(log)}, ${JSON.stringify(name)} + (turn === "served" ? " served" : "") + "\\n");
    if (turn !== "served") {
      await Bun.sleep(${keepMs});
      turn[Symbol.dispose]();
    }`;
  const taker = Bun.spawn([process.execPath, "-e", program], { stdin: "ignore", stdout: "ignore", stderr: "inherit" });
  started.push(taker);
  return taker;
}

const started: Bun.Subprocess[] = [];
/** Also where a test fails while they stand still. */
afterEach(async () => {
  for (const taker of started) taker.kill("SIGKILL");
  await Promise.all(started.splice(0).map(({ exited }) => exited));
});

/** A place is one once it is held open: whoever looks before that takes it for a dead one's. */
async function untilInQueue(path: string, pid: number): Promise<void> {
  const stands = (): boolean => inQueue(path).some((place) => place.split("-")[1] === String(pid) && isHeldOpen(`${path}.line/${place}`));
  for (const end = performance.now() + 10_000; !stands(); await Bun.sleep(2)) {
    if (performance.now() > end) throw new Error(`${pid} does not stand in the queue`);
  }
}

/** Whether somebody has a named pipe open for writing. */
function isHeldOpen(pipe: string): boolean {
  if (!existsSync(pipe)) return false;
  const fd = openSync(pipe, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    return readSync(fd, new Uint8Array(1)) !== 0;
  } catch (thrown) {
    return (thrown as NodeJS.ErrnoException).code === "EAGAIN";
  } finally {
    closeSync(fd);
  }
}

test("those who wait have their turns in the order in which they came, and leave nothing behind", async () => {
  const path = join(folder, "order", "lock");
  const held = await take(path, 0);
  const openBefore = Fd.openCount();
  const order: number[] = [];
  const waiting = [0, 1, 2, 3, 4].map(async (number) => {
    using turn = await take(path, LONG_MS);
    expect(turn).toBeDefined();
    order.push(number);
  });
  expect(inQueue(path)).toHaveLength(5);
  held?.[Symbol.dispose]();
  await Promise.all(waiting);
  expect(order).toEqual([0, 1, 2, 3, 4]);
  expect(inQueue(path)).toEqual([]);
  expect(Fd.openCount()).toBe(openBefore - 1);
});

test("somebody who sets the clock back does not come before those who wait", async () => {
  const path = join(folder, "clock");
  const held = await take(path, 0);
  const first = take(path, LONG_MS);
  held?.[Symbol.dispose]();
  const turn = await first;
  const order: string[] = [];
  const stand = async (name: string, clock: Clock): Promise<void> => {
    using _turn = await takeWith(path, { stallMs: LONG_MS, clock });
    order.push(name);
  };
  const waiting = [stand("before", systemClock), stand("after", { ...systemClock, now: () => Date.now() - 3_600_000 })];
  turn?.[Symbol.dispose]();
  await Promise.all(waiting);
  expect(order).toEqual(["before", "after"]);
});

test("the processes of a host too; one that is killed in the queue is passed over", async () => {
  const [path, log] = [join(folder, "processes"), join(folder, "processes.log")];
  const held = await take(path, 0);
  const takers: Bun.Subprocess[] = [];
  for (const name of ["first", "killed", "third", "fourth"]) {
    const taker = startTaker(path, name, log);
    takers.push(taker);
    await untilInQueue(path, taker.pid);
  }
  takers[1]?.kill("SIGKILL");
  await takers[1]?.exited;
  held?.[Symbol.dispose]();
  await Promise.all(takers.map(({ exited }) => exited));
  expect(readFileSync(log, "utf8")).toBe("first\nthird\nfourth\n");
  expect(inQueue(path)).toEqual([]);
});

test("one that is stopped in the queue holds the others up for a second only", async () => {
  const [path, log] = [join(folder, "stopped"), join(folder, "stopped.log")];
  const held = await take(path, 0);
  const stopped = startTaker(path, "stopped", log);
  await untilInQueue(path, stopped.pid);
  await standStill(stopped.pid);
  const waiting = take(path, LONG_MS);
  held?.[Symbol.dispose]();
  const turn = await waiting;
  expect(turn).toBeDefined();
  turn?.[Symbol.dispose]();
  stopped.kill("SIGCONT");
  expect(await stopped.exited).toBe(0);
  expect(readFileSync(log, "utf8")).toBe("stopped\n");
});

/** Of a clock by which a second is so long that a stall of this machine is not taken for a second look. */
const SLOWNESS = 4;

test("and for that second only once, be it one or two: those behind tell each other", async () => {
  await Promise.all([1, 2].map((count) => passStopped(count)));
});

/** So many are stopped before four others, which have their turns one soon after the other. */
async function passStopped(count: number): Promise<void> {
  const [path, log] = [join(folder, `behind-${count}`), join(folder, `behind-${count}.log`)];
  const held = await take(path, 0);
  const takers: Bun.Subprocess[] = [];
  for (const name of [...Array.from({ length: count }, () => "stopped"), "second", "third", "fourth", "fifth"]) {
    const taker = startTaker(path, name, log, { slowness: SLOWNESS });
    takers.push(taker);
    await untilInQueue(path, taker.pid);
    if (name === "stopped") await standStill(taker.pid);
  }
  const [stopped, behind] = [takers.slice(0, count), takers.slice(count)];
  held?.[Symbol.dispose]();
  await Promise.race(behind.map(({ exited }) => exited));
  const since = performance.now();
  await Promise.all(behind.map(({ exited }) => exited));
  const tookMs = (performance.now() - since) / SLOWNESS;
  for (const taker of stopped) taker.kill("SIGCONT");
  await Promise.all(stopped.map(({ exited }) => exited));
  // a second each would be two at least
  expect(tookMs).toBeLessThan(1_500);
  expect(readFileSync(log, "utf8")).toBe(`second\nthird\nfourth\nfifth\n${"stopped\n".repeat(count)}`);
}

test("a free lock is left to those before, for a second for each of them", async () => {
  const path = join(folder, "left");
  const held = await take(path, 0);
  const stopped = ["a", "b", "c"].map((name) => startTaker(path, name, join(folder, "left.log")));
  for (const taker of stopped) {
    await untilInQueue(path, taker.pid);
    await standStill(taker.pid);
  }
  const waiting = take(path, LONG_MS);
  held?.[Symbol.dispose]();
  const has = async (turn: ReturnType<typeof take>): Promise<void> => {
    using had = await turn;
    expect(had).toBeDefined();
  };
  expect(await durationOf(() => has(waiting))).toBeWithin(2_500, 4_500);
  // At the end of his time nobody leaves it to others.
  expect(await durationOf(() => has(take(path, 300)))).toBeWithin(290, 1_000);
  for (const taker of stopped) taker.kill("SIGCONT");
  for (const taker of stopped) expect(await taker.exited).toBe(0);
});

test("whoever waits too long leaves the queue; the one behind is not held up", async () => {
  const path = join(folder, "late");
  const held = await take(path, 0);
  const [tooLate, last] = [take(path, 60), take(path, LONG_MS)];
  expect(await tooLate).toBeUndefined();
  expect(inQueue(path)).toHaveLength(1);
  held?.[Symbol.dispose]();
  const turn = await last;
  expect(inQueue(path)).toHaveLength(1);
  turn?.[Symbol.dispose]();
  expect(turn).toBeDefined();
  expect(inQueue(path)).toEqual([]);
});

test("who has the turn keeps the place in the queue until it is over, and who waits stands still all the while", async () => {
  const path = join(folder, "still");
  const held = await take(path, 0);
  const first = take(path, LONG_MS);
  held?.[Symbol.dispose]();
  const turn = await first;
  expect(inQueue(path)).toHaveLength(1);

  let sleeps = 0;
  const clock = { ...systemClock, sleep: (ms: number, signal?: AbortSignal) => (sleeps++, systemClock.sleep(ms, signal)) };
  const waiting = takeWith(path, { stallMs: LONG_MS, clock });
  setTimeout(() => turn?.[Symbol.dispose](), 300);
  using next = await waiting;
  expect(next).toBeDefined();
  // after 4, 20, 84 and 340 ms
  expect(sleeps).toBeLessThanOrEqual(4);
});

test("a queue that moves is waited for, up to the longest time; one that stands still is not", async () => {
  const [path, log] = [join(folder, "moving"), join(folder, "moving.log")];
  const held = await take(path, 0);
  for (const name of ["a", "b", "c"]) await untilInQueue(path, startTaker(path, name, log, { keepMs: 1_000 }).pid);
  const until = (stallMs: number, maxMs: number) =>
    durationOf(async () => expect(await takeWith(path, { stallMs, maxMs, clock: systemClock })).toBeUndefined());
  expect(await until(200, LONG_MS)).toBeWithin(190, 1_000);
  held?.[Symbol.dispose]();
  // At the end of our time we take a lock that is free: let somebody have it.
  await eventually(() => expect(readFileSync(log, "utf8")).toBe("a\n"));
  expect(await until(1_500, 300)).toBeWithin(290, 900);
  using last = await takeWith(path, { stallMs: 1_500, maxMs: LONG_MS, clock: systemClock });
  expect(last).toBeDefined();
  expect(readFileSync(log, "utf8")).toBe("a\nb\nc\n");
});

describe("what those in the queue ask for", () => {
  test("is read by whoever has the turn; who gets it leaves the queue without a turn, and nothing is left", async () => {
    const [path, log] = [join(folder, "asked"), join(folder, "asked.log")];
    const held = await take(path, 0);
    const takers = ["a", "b", "c", "d"].map((name) => ({ name, request: name === "b" ? {} : { request: `for ${name}` } }));
    for (const { name, request } of takers) await untilInQueue(path, startTaker(path, name, log, request).pid);
    const queue = requestsIn(path, 0);
    const requests = await eventually(() => allOf(queue.read(), 3));
    expect(requests.map(({ text }) => text)).toEqual(["for a", "for c", "for d"]);
    queue.tellServed(requests.slice(0, 2));
    held?.[Symbol.dispose]();
    await Promise.all(started.map(({ exited }) => exited));
    expect(readFileSync(log, "utf8").split("\n").sort()).toEqual(["", "a served", "b", "c served", "d"]);
    expect(inQueue(path)).toEqual([]);
    expect(readdirSync(`${path}.requests`)).toEqual([]);
  });

  test("whoever gets it waits neither for one before who stands still, nor for the turn's end", async () => {
    const [path, log] = [join(folder, "asked-still"), join(folder, "asked-still.log")];
    using _held = await take(path, 0);
    const stopped = startTaker(path, "stopped", log);
    await untilInQueue(path, stopped.pid);
    await standStill(stopped.pid);
    const asking = startTaker(path, "asking", log, { request: "for it" });
    await untilInQueue(path, asking.pid);
    const queue = requestsIn(path, 0);
    queue.tellServed(await eventually(() => allOf(queue.read(), 1)));
    // It looks up from its wait once a second.
    expect(await durationOf(() => asking.exited)).toBeWithin(0, 3_000);
    expect(readFileSync(log, "utf8")).toBe("asking served\n");
  });

  test("is not read of the dead, and cleared away; nor what lies there otherwise", async () => {
    const [path, log] = [join(folder, "asked-dead"), join(folder, "asked-dead.log")];
    const held = await take(path, 0);
    const dead = startTaker(path, "dead", log, { request: "for the dead" });
    await untilInQueue(path, dead.pid);
    const living = startTaker(path, "living", log, { request: "for the living" });
    await untilInQueue(path, living.pid);
    const queue = requestsIn(path, 0);
    await eventually(() => allOf(queue.read(), 2));
    dead.kill("SIGKILL");
    await dead.exited;
    for (const name of ["junk", "0000000000000000001-1-000000", "0000000000000000001-1-000000.met"]) {
      writeFileSync(join(`${path}.requests`, name), "for nobody");
    }
    expect(queue.read().map(({ text }) => text)).toEqual(["for the living"]);
    expect(readdirSync(`${path}.requests`)).toHaveLength(1);
    held?.[Symbol.dispose]();
    await living.exited;
    expect(readFileSync(log, "utf8")).toBe("living\n");
  });

  test("a later turn knows whether it may have been done since somebody looked", async () => {
    const [path, log] = [join(folder, "asked-when"), join(folder, "asked-when.log")];
    const countInTurn = async (): Promise<number | undefined> => {
      using turn = await takeTurn(path, { stallMs: 0, clock: systemClock });
      return turn?.workCount;
    };
    const held = await takeTurn(path, { stallMs: 0, clock: systemClock });
    expect(held).toMatchObject({ queue: undefined, workCount: 0 });
    await untilInQueue(path, startTaker(path, "a", log, { request: "for a" }).pid);
    held?.[Symbol.dispose]();
    await Promise.all(started.map(({ exited }) => exited));
    // Nobody has looked at what it wanted.
    expect(await countInTurn()).toBe(0);

    const busy = await takeTurn(path, { stallMs: 0, clock: systemClock });
    const asking = startTaker(path, "b", log, { request: "for b" });
    await untilInQueue(path, asking.pid);
    await eventually(() => allOf(requestsIn(path, 0).read(), 1));
    const meanwhile = countWork(path);
    busy?.[Symbol.dispose]();
    await asking.exited;
    expect([meanwhile, await countInTurn(), countWork(path)]).toEqual([1, 2, 2]);
  });
});

/** Requests are made, and then written, a moment after the place is taken. */
function allOf(requests: readonly QueuedRequest[], count: number): Promise<readonly QueuedRequest[]> {
  const written = requests.filter(({ text }) => text !== "");
  return written.length === count ? Promise.resolve(requests) : Promise.reject(new Error(`${requests.length} requests`));
}

test("who does not want to wait does not stand in the queue", async () => {
  const path = join(folder, "at-once");
  using held = await take(path, 0);
  expect(held).toBeDefined();
  expect(await take(path, 0)).toBeUndefined();
  expect(existsSync(`${path}.line`)).toBe(false);
});

test("where no queue can be made the lock is waited for all the same", async () => {
  const path = join(folder, "no-queue");
  writeFileSync(`${path}.line`, "a file where the folder would be");
  const held = await take(path, 0);
  const waiting = take(path, LONG_MS);
  held?.[Symbol.dispose]();
  using turn = await waiting;
  expect(turn).toBeDefined();
});

test("places of the dead, and what is no place, hold nobody up", async () => {
  const path = join(folder, "dead");
  const held = await take(path, 0);
  (await take(path, 20))?.[Symbol.dispose](); // makes the folder
  Bun.spawnSync(["mkfifo", join(`${path}.line`, "0000000000000001-1-0")]);
  writeFileSync(join(`${path}.line`, "0000000000000002"), "");
  const waiting = take(path, LONG_MS);
  held?.[Symbol.dispose]();
  const turn = await waiting;
  turn?.[Symbol.dispose]();
  expect(turn).toBeDefined();
  expect(inQueue(path)).toEqual([]);
});
