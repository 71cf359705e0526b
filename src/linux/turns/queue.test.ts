/** What a process in the queue does at each moment of its wait: others, the lock and time are as the test says. `turn.test.ts` has real processes. */

import { afterAll, afterEach, beforeEach, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { systemClock } from "../../lib/clock.ts";
import { Fd } from "../fd.ts";
import { openLock, tryLock } from "../flock.ts";
import { type Place, saysPassing, takePlace } from "./place.ts";
import { type TurnOptions, waitInQueue } from "./queue.ts";
import { queueOf } from "./queue-files.ts";
import { requestsIn } from "./queued-requests.ts";

const folder = mkdtempSync(join(tmpdir(), "npgt-queue-"));
afterAll(() => rmSync(folder, { recursive: true }));

let path = "";
let tests = 0;
let openBefore = 0;
beforeEach(() => {
  path = join(folder, `lock-${tests++}`);
  openBefore = Fd.openCount();
});
afterEach(() => expect(Fd.openCount()).toBe(openBefore));

/** More than any test needs. */
const LONG_MS = 60_000;
/** Between looks at the lock from behind others. */
const LOOK_MS = 1_000;

/**
 * What happens the next time that the event loop runs.
 *
 * @param reads how often the clock was read until then
 * @returns how many milliseconds are over then, beside those that really are
 */
type Event = (reads: number) => number;

interface Wait {
  readonly outcome: "locked" | "served" | undefined;
  /** How many of the events have happened by then. */
  readonly events: number;
  /** By the clock that was moved. */
  readonly ms: number;
}

/** Has one wait in the queue. Events come after 4, 20, 84 and 340 ms of real time. @param onLocked for while it has the lock */
async function waitThrough(
  events: readonly Event[],
  { stallMs = LONG_MS, ...options }: Partial<TurnOptions> = {},
  onLocked: (turn: Disposable) => void = () => undefined,
): Promise<Wait> {
  let [happened, addedMs, reads] = [0, 0, 0];
  const clock = {
    monotonic: () => (reads++, systemClock.monotonic() + addedMs),
    sleep: async (ms: number) => {
      await systemClock.sleep(ms);
      addedMs += events[happened]?.(reads) ?? 0;
      happened++;
    },
  };
  const start = clock.monotonic();
  const outcome = await waitInQueue(path, { stallMs, clock, ...options });
  const wait = { events: happened, ms: clock.monotonic() - start };
  if (outcome === "served" || outcome === undefined) return { ...wait, outcome };
  using turn = outcome;
  expect(isFree()).toBe(false);
  onLocked(turn);
  return { ...wait, outcome: "locked" };
}

const pass =
  (ms: number): Event =>
  () =>
    ms;

/** Time until a look. */
const untilLook = pass(LOOK_MS);

/** Those who stand in the queue and do nothing, as stopped processes do: the first of them first. */
class Others implements Disposable {
  readonly #places = new Map<number, Place>();

  constructor(count: number) {
    for (let index = 0; index < count; index++) this.#places.set(index, take());
  }

  leave(index: number): void {
    this.#places.get(index)?.[Symbol.dispose]();
    this.#places.delete(index);
  }

  /** Leaves as one that had its turn before those before it. */
  leavePassing(index: number): void {
    this.#places.get(index)?.pass();
    this.leave(index);
  }

  [Symbol.dispose](): void {
    for (const index of this.#places.keys()) this.leave(index);
  }
}

function take(): Place {
  const place = takePlace(queueOf(path));
  if (place === undefined) throw new Error("no place in the queue");
  return place;
}

/** Has the lock, as somebody without a place in the queue. */
function holdLock(): Fd {
  const lock = openLock(path);
  expect(tryLock(lock, path)).toBe(true);
  return lock;
}

function isFree(): boolean {
  using lock = openLock(path);
  return tryLock(lock, path);
}

/** Whether one behind is told by the end of a turn that others were passed. */
function isTold(turn: Disposable): boolean {
  using behind = take();
  using pipe = behind.findBefore();
  turn[Symbol.dispose]();
  return pipe !== undefined && saysPassing(pipe);
}

const request = (): string => "for it";

/** Serves all requests, as whoever has the turn. */
function serve(): void {
  const queue = requestsIn(path, 0);
  queue.tellServed(queue.read());
}

describe("behind others who do not take a free lock", () => {
  test("it is taken at as many looks as there are others, a second apart, and who comes next is told", async () => {
    using _others = new Others(3);
    let told = false;
    const wait = await waitThrough([untilLook, untilLook, untilLook], {}, (turn) => (told = isTold(turn)));
    expect(wait).toMatchObject({ outcome: "locked", events: 3 });
    expect(told).toBe(true);
  });

  test("looks that find it taken do not count", async () => {
    using _others = new Others(2);
    using lock = holdLock();
    const free = (): number => (lock[Symbol.dispose](), LOOK_MS);
    expect(await waitThrough([untilLook, free, untilLook])).toMatchObject({ outcome: "locked", events: 3 });
  });

  test("whoever is told that they were passed looks soon, and takes it at once", async () => {
    using others = new Others(4);
    let told = false;
    const leave = (): number => (others.leavePassing(3), 0);
    const wait = await waitThrough([leave], {}, (turn) => (told = isTold(turn)));
    expect(wait.outcome).toBe("locked");
    expect(wait.ms).toBeWithin(20, 500);
    expect(told).toBe(true);
  });

  test("whoever is told so, and finds it taken, waits for others as if nothing had been told", async () => {
    using others = new Others(3);
    using lock = holdLock();
    const leave = (): number => (others.leavePassing(2), 0);
    const free = (): number => (lock[Symbol.dispose](), LOOK_MS);
    expect(await waitThrough([leave, pass(20), free, untilLook])).toMatchObject({ outcome: "locked", events: 4 });
  });

  test("whoever sees one leave that passed nobody waits for the others", async () => {
    using others = new Others(3);
    const leave = (): number => (others.leave(2), 0);
    expect(await waitThrough([leave, untilLook, untilLook])).toMatchObject({ outcome: "locked", events: 3 });
  });

  test("it is taken at the end of the time, however many there are", async () => {
    using _others = new Others(3);
    expect(await waitThrough([pass(500)], { stallMs: 500 })).toMatchObject({ outcome: "locked", events: 1 });
  });
});

describe("the wait ends without the lock", () => {
  test("when the queue has not moved for so long", async () => {
    using _others = new Others(1);
    using _lock = holdLock();
    const wait = await waitThrough([untilLook, untilLook], { stallMs: 1_500, maxMs: LONG_MS });
    expect(wait).toMatchObject({ outcome: undefined, events: 2 });
  });

  test("so long after one at the front has left", async () => {
    using others = new Others(3);
    using _lock = holdLock();
    const leave = (): number => (others.leave(0), LOOK_MS);
    const wait = await waitThrough([untilLook, leave, untilLook, untilLook], { stallMs: 1_500, maxMs: LONG_MS });
    expect(wait).toMatchObject({ outcome: undefined, events: 4 });
  });

  test("so long after the one right before has left", async () => {
    using others = new Others(3);
    using _lock = holdLock();
    const leave = (): number => (others.leave(2), 400);
    const wait = await waitThrough([untilLook, leave, pass(1_600)], { stallMs: 1_500, maxMs: LONG_MS });
    expect(wait).toMatchObject({ outcome: undefined, events: 3 });
  });

  test("so long after the last one before has left", async () => {
    using others = new Others(1);
    using _lock = holdLock();
    const leave = (): number => (others.leave(0), 900);
    const wait = await waitThrough([leave, pass(1_000), pass(1_000)], { stallMs: 1_500, maxMs: LONG_MS });
    expect(wait).toMatchObject({ outcome: undefined, events: 3 });
  });

  test("at the longest time, even if the queue moves", async () => {
    using others = new Others(3);
    using _lock = holdLock();
    const leave = [0, 1, 2].map((index) => () => (others.leave(index), LOOK_MS));
    expect(await waitThrough(leave, { stallMs: 1_500, maxMs: 2_500 })).toMatchObject({ outcome: undefined, events: 3 });
  });

  test("after the time for which the queue may stand still, where there is no other longest time", async () => {
    using others = new Others(2);
    using _lock = holdLock();
    const leave = (): number => (others.leave(0), LOOK_MS);
    expect(await waitThrough([leave, untilLook], { stallMs: 1_500 })).toMatchObject({ outcome: undefined, events: 2 });
  });
});

describe("first in the queue", () => {
  test("it takes the lock once that is free, and tells nobody of passing", async () => {
    using lock = holdLock();
    let told = true;
    const free = (): number => (lock[Symbol.dispose](), 0);
    const wait = await waitThrough([free], {}, (turn) => (told = isTold(turn)));
    expect(wait.outcome).toBe("locked");
    expect(wait.ms).toBeLessThan(LOOK_MS);
    expect(told).toBe(false);
  });

  test("a lock that becomes free at the end of its time is taken", async () => {
    using lock = holdLock();
    const free = (): number => (lock[Symbol.dispose](), 500);
    expect(await waitThrough([free], { stallMs: 500 })).toMatchObject({ outcome: "locked", events: 1 });
  });

  test("it looks at the lock every 8 ms, more often only at first", async () => {
    using lock = holdLock();
    // It reads the clock a few times at each look.
    const counts: number[] = [];
    const count = (reads: number): number => (counts.push(reads), 0);
    const countAndFree = (reads: number): number => (lock[Symbol.dispose](), count(reads));
    await waitThrough([pass(0), pass(0), count, countAndFree]);
    const [before = 0, after = 0] = counts;
    // in 256 ms
    expect(after - before).toBeWithin(16, 150);
  });
});

describe("whoever is served", () => {
  test("behind one that stands still leaves at the next look, and leaves a free lock to others", async () => {
    using _others = new Others(1);
    const onServed = (): number => (serve(), LOOK_MS);
    expect(await waitThrough([onServed], { request })).toMatchObject({ outcome: "served", events: 1 });
    expect(isFree()).toBe(true);
  });

  test("leaves when the one right before leaves, whoever else is before", async () => {
    using others = new Others(2);
    const leave = (): number => (serve(), others.leave(1), 0);
    const wait = await waitThrough([leave], { request });
    expect(wait.outcome).toBe("served");
    expect(wait.ms).toBeLessThan(LOOK_MS);
  });

  test("before the lock is free needs no turn, and has none", async () => {
    using lock = holdLock();
    const free = (): number => (serve(), lock[Symbol.dispose](), 0);
    expect((await waitThrough([free], { request })).outcome).toBe("served");
    expect(isFree()).toBe(true);
  });

  test("leaves also at the end of the time, instead of as one that got nothing", async () => {
    using _others = new Others(1);
    using _lock = holdLock();
    const onServed = (): number => (serve(), 500);
    expect(await waitThrough([onServed], { request, stallMs: 500 })).toMatchObject({ outcome: "served", events: 1 });
  });
});
