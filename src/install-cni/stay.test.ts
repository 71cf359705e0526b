import { describe, expect, test } from "bun:test";
import { type FakeClock, fakeClock } from "../../test/support/time/fake-clock.ts";
import { NetplugError } from "../lib/errors.ts";
import { createLog, type LogRecord } from "../lib/log/log.ts";
import { requestFirstToken } from "./account/first-token.ts";
import type { Grant } from "./account/plugin-account.ts";
import { stay } from "./stay.ts";

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const OUTAGE = new NetplugError("tryAgainLater", "connection refused");
const REFUSAL = new NetplugError("accessDenied", "not permitted");

interface Kept extends AsyncDisposable {
  readonly clock: FakeClock;
  readonly log: readonly LogRecord[];
  /** When tokens were renewed, in milliseconds from the start. */
  readonly renewals: readonly number[];
  /** How often the API server was asked whether it takes the token. */
  readonly asks: number;
  readonly reconciliations: number;
  /** What those heard who ask whether the node is ready, each once. */
  readonly reasons: readonly (string | undefined)[];
  fail(what: Failures): void;
}

interface Failures {
  readonly renewing?: Error;
  readonly reconciling?: Error;
  readonly telling?: Error;
  readonly isTokenRefused?: boolean;
}

/** Stays until it is disposed of. */
function keep(grant: Grant | undefined, clock: FakeClock = fakeClock(), random = 0, tokenRefreshMs = Infinity): Kept {
  const records: LogRecord[] = [];
  const renewals: number[] = [];
  const stop = new AbortController();
  let failures: Failures = {};
  let reconciliations = 0;
  let asks = 0;
  const installation = {
    grant,
    renewToken: async () => {
      if (failures.renewing !== undefined) throw failures.renewing;
      renewals.push(clock.monotonic());
      await Promise.resolve();
    },
    isTokenAccepted: async () => {
      asks++;
      return await Promise.resolve(failures.isTokenRefused !== true);
    },
    followRuntime: async () => await Promise.resolve(),
    reconcile: async () => {
      reconciliations++;
      if (failures.reconciling !== undefined) throw failures.reconciling;
      await Promise.resolve();
    },
  };
  const log = createLog({ clock, level: "INFO", sinks: [{ write: (record) => records.push(record) }] });
  const reasons: (string | undefined)[] = [];
  const state = {
    report: (reason: string | undefined) => {
      if (failures.telling !== undefined) throw failures.telling;
      if (reasons.length === 0 || reasons.at(-1) !== reason) reasons.push(reason);
    },
  };
  const ended = stay(installation, { tokenRefreshMs, state }, { clock, random: () => random, stopped: stop.signal }, log);
  return {
    clock,
    log: records,
    renewals,
    reasons,
    get asks() {
      return asks;
    },
    get reconciliations() {
      return reconciliations;
    },
    fail: (what) => void (failures = what),
    async [Symbol.asyncDispose]() {
      stop.abort(new Error("over"));
      await ended;
    },
  };
}

describe("a token", () => {
  test.each([
    [DAY, 0, 12],
    [DAY, 1, 10.8],
    [HOUR, 0, 0.5],
  ])("that was granted for %p ms is renewed at half of that, or a little earlier: %p", async (lifeMs, random, hours) => {
    await using kept = keep({ token: "t", lifeMs }, fakeClock(), random);
    await kept.clock.advance(hours * HOUR - 1);
    expect(kept.renewals).toEqual([]);
    await kept.clock.advance(1);
    expect(kept.renewals).toEqual([hours * HOUR]);
    await kept.clock.advance(3 * hours * HOUR);
    expect(kept.renewals).toHaveLength(4);
  });

  test("is renewed at once when the machine slept through half of its life", async () => {
    let sleptMs = 0;
    const clock = fakeClock();
    await using kept = keep({ token: "t", lifeMs: DAY }, { ...clock, now: () => clock.now() + sleptMs });
    await clock.advance(HOUR);
    sleptMs = 20 * HOUR;
    await clock.advance(10_000);
    expect(kept.renewals).toHaveLength(1);
  });

  test("does not live longer for a clock that is set back", async () => {
    let backMs = 0;
    const clock = fakeClock();
    await using kept = keep({ token: "t", lifeMs: DAY }, { ...clock, now: () => clock.now() - backMs });
    await clock.advance(HOUR);
    backMs = 100 * HOUR;
    await clock.advance(11 * HOUR);
    expect(kept.renewals).toEqual([12 * HOUR]);
  });

  test("that cannot be renewed is tried again, less and less often; what follows is said, and louder once it has expired", async () => {
    await using kept = keep({ token: "t", lifeMs: DAY }, fakeClock(), 0);
    kept.fail({ renewing: OUTAGE });
    await kept.clock.advance(12 * HOUR + 120_000);
    const soon = kept.log.length;
    expect(kept.log.map(({ level }) => level)).toEqual(Array.from({ length: soon }, () => "WARNING"));
    expect(kept.log[0]).toMatchObject({
      msg: "token cannot be renewed now, trying again",
      fields: { reason: "connection refused", expires: new Date(1_700_000_000_000 + DAY).toISOString() },
    });
    expect(soon).toBeGreaterThan(3);
    await kept.clock.advance(HOUR);
    // At most every two and a half minutes.
    expect(kept.log.length - soon).toBeLessThan(25);
    await kept.clock.advance(12 * HOUR);
    expect(kept.log.at(-1)).toMatchObject({
      level: "ERROR",
      msg: "pods get no network on this node",
      fields: {
        reason: "token has expired and cannot be renewed: connection refused",
        expires: new Date(1_700_000_000_000 + DAY).toISOString(),
      },
    });
    expect(kept.reasons).toEqual([undefined, "token has expired and cannot be renewed: connection refused"]);
    kept.fail({});
    await kept.clock.advance(300_000);
    expect(kept.renewals).toHaveLength(1);
    expect(kept.log.at(-1)).toMatchObject({ level: "INFO", msg: "token renewed" });
    expect(kept.reasons.at(-1)).toBeUndefined();
  });

  test("is renewed as often as somebody wants it, but not later than at half of its life", async () => {
    await using often = keep({ token: "t", lifeMs: DAY }, fakeClock(), 0, HOUR);
    await often.clock.advance(3 * HOUR);
    expect(often.renewals).toEqual([HOUR, 2 * HOUR, 3 * HOUR]);
    await using seldom = keep({ token: "t", lifeMs: DAY }, fakeClock(), 0, 13 * HOUR);
    await seldom.clock.advance(12 * HOUR);
    expect(seldom.renewals).toEqual([12 * HOUR]);
  });

  test("that the API server does not take any more is replaced within five minutes", async () => {
    await using kept = keep({ token: "t", lifeMs: DAY });
    await kept.clock.advance(HOUR);
    kept.fail({ isTokenRefused: true });
    await kept.clock.advance(300_000);
    kept.fail({});
    await kept.clock.advance(HOUR);
    expect(kept.renewals).toHaveLength(1);
    expect(kept.log[0]).toMatchObject({ level: "WARNING", msg: "the API server does not take the token any more, asking for another" });
  });

  test("that the API server does not take any more is replaced as soon after a renewal that came late", async () => {
    await using kept = keep({ token: "t", lifeMs: DAY });
    kept.fail({ renewing: OUTAGE });
    await kept.clock.advance(12 * HOUR + 60_000);
    kept.fail({});
    await kept.clock.advance(300_000);
    expect(kept.renewals).toHaveLength(1);
    kept.fail({ isTokenRefused: true });
    await kept.clock.advance(300_000);
    kept.fail({});
    await kept.clock.advance(HOUR);
    expect(kept.renewals).toHaveLength(2);
  });

  test.each([0, 0.25, 0.5])("is asked about every five minutes from a time on that is its node's own: %d", async (random) => {
    await using kept = keep({ token: "t", lifeMs: DAY }, fakeClock(), random);
    await kept.clock.advance(300_000 * (1 - random) + 9_999);
    expect(kept.asks).toBe(1);
    await kept.clock.advance(290_000);
    expect(kept.asks).toBe(1);
    await kept.clock.advance(20_001);
    expect(kept.asks).toBe(2);
  });

  test("that is refused by a server that gives no other is asked for no more often than one that cannot be renewed", async () => {
    await using kept = keep({ token: "t", lifeMs: DAY });
    kept.fail({ isTokenRefused: true, renewing: REFUSAL });
    await kept.clock.advance(2 * HOUR);
    expect(kept.log.length).toBeLessThan(2 * 25 + 10);
    expect(kept.log.filter(({ msg }) => msg.startsWith("the API server"))).toHaveLength(1);
    const reason = "token is not accepted any more and cannot be renewed: not permitted";
    expect(kept.log.at(-1)).toMatchObject({ level: "ERROR", msg: "pods get no network on this node", fields: { reason } });
    expect(kept.reasons).toEqual([undefined, reason]);
    kept.fail({});
    await kept.clock.advance(300_000);
    expect(kept.reasons.at(-1)).toBeUndefined();
  });

  test("that is refused and cannot be renewed makes the node not ready with the first try that fails, until it is accepted again", async () => {
    await using kept = keep({ token: "t", lifeMs: DAY }, fakeClock(), 0, 30_000);
    kept.fail({ isTokenRefused: true, renewing: new NetplugError("notInitialised", "no account") });
    await kept.clock.advance(30_000);
    expect(kept.reasons).toEqual([undefined, "token is not accepted any more and cannot be renewed: no account"]);
    kept.fail({ renewing: REFUSAL });
    await kept.clock.advance(300_000);
    expect([kept.reasons.at(-1), kept.renewals]).toEqual([undefined, []]);
  });

  test("that was refused for a while makes the node not ready for no more than 40 s longer, however seldom it is asked for by then", async () => {
    await using kept = keep({ token: "t", lifeMs: DAY }, fakeClock(), 1);
    kept.fail({ isTokenRefused: true, renewing: OUTAGE });
    await kept.clock.advance(2 * HOUR);
    const { asks } = kept;
    await kept.clock.advance(HOUR);
    // Twice a minute, and once for each renewal that fails.
    expect(kept.asks - asks).toBeLessThan(120 + 25);
    for (const { length } = kept.log; kept.log.length === length;) await kept.clock.advance(10_000);
    expect(kept.reasons.at(-1)).toBe("token is not accepted any more and cannot be renewed: connection refused");
    kept.fail({ renewing: OUTAGE });
    await kept.clock.advance(40_000);
    expect(kept.reasons.at(-1)).toBeUndefined();
  });

  test("is not renewed where there is none", async () => {
    await using kept = keep(undefined);
    await kept.clock.advance(2 * DAY);
    expect(kept.renewals).toEqual([]);
  });
});

describe("files", () => {
  test("are looked at every ten seconds, and not once more after the end", async () => {
    const kept = keep(undefined);
    await kept.clock.advance(60_000);
    expect(kept.reconciliations).toBe(6);
    await kept[Symbol.asyncDispose]();
    await kept.clock.advance(60_000);
    expect([kept.reconciliations, kept.clock.sleepers]).toEqual([6, 0]);
  });

  test("that cannot be kept are said once, and again after it was better", async () => {
    await using kept = keep(undefined);
    const reconciling = new NetplugError("ioFailure", "EROFS");
    kept.fail({ reconciling });
    await kept.clock.advance(60_000);
    expect(kept.log.map(({ msg, fields }) => [msg, fields["reason"]])).toEqual([["cannot keep files in place, trying again", "EROFS"]]);
    kept.fail({});
    await kept.clock.advance(10_000);
    kept.fail({ reconciling });
    await kept.clock.advance(10_000);
    expect(kept.log).toHaveLength(2);
    const reason = "files cannot be kept in place: EROFS";
    expect(kept.reasons).toEqual([reason, undefined, reason]);
  });

  test("are kept also when nobody can be told so: that is said once", async () => {
    await using kept = keep(undefined);
    kept.fail({ telling: new NetplugError("ioFailure", "ENOSPC"), reconciling: new NetplugError("ioFailure", "ENOSPC") });
    await kept.clock.advance(30_000);
    kept.fail({ telling: new NetplugError("ioFailure", "ENOSPC") });
    await kept.clock.advance(30_000);
    expect([kept.reconciliations, kept.log.map(({ fields }) => fields["reason"])]).toEqual([6, ["ENOSPC"]]);
  });
});

describe("the first token", () => {
  interface Answer {
    readonly outcome: string;
    readonly atMs: number;
    /** When it was asked for, in milliseconds from the start. */
    readonly asks: readonly number[];
  }

  /** Asks an account that fails for some time; tells when it had an answer, in milliseconds. */
  async function ask(failure: Error, failsMs: number, isOnce: boolean): Promise<Answer> {
    const clock = fakeClock();
    // The monotonic clock counts from the start of the machine.
    await clock.advance(DAY);
    const start = clock.monotonic();
    const log = createLog({ clock, level: "INFO", sinks: [] });
    const asks: number[] = [];
    const account = {
      requestToken: async (): Promise<Grant> => {
        asks.push(clock.monotonic() - start);
        await Promise.resolve();
        if (clock.monotonic() - start < failsMs) throw failure;
        return { token: "t", lifeMs: DAY };
      },
    };
    const ends: Answer[] = [];
    requestFirstToken(account, isOnce, { clock, random: () => 1, stopped: new AbortController().signal }, log).then(
      () => void ends.push({ outcome: "granted", atMs: clock.monotonic() - start, asks }),
      (thrown: Error) => void ends.push({ outcome: thrown.message, atMs: clock.monotonic() - start, asks }),
    );
    for (let i = 0; i < 10_000 && ends.length === 0; i++) await clock.advance(1_000);
    return ends[0] ?? { outcome: "nothing", atMs: clock.monotonic() - start, asks };
  }

  test("is waited for as long as it takes by who stays", async () => {
    const { outcome, atMs } = await ask(OUTAGE, HOUR, false);
    expect(outcome).toBe("granted");
    expect(atMs - HOUR).toBeLessThan(10_001);
  });

  test("is asked for soon after the first failure, then less and less often: all nodes ask while an API server is away", async () => {
    const { asks } = await ask(OUTAGE, HOUR, false);
    const within = (fromMs: number, toMs: number): number => asks.filter((atMs) => atMs > fromMs && atMs <= toMs).length;
    expect([within(0, 1_000), within(0, 60_000), within(60_000, HOUR)]).toEqual([1, 9, 354]);
  });

  test.each<[what: string, requestToken: (stopped: AbortSignal) => Promise<Grant>]>([
    ["the next try", async () => await Promise.reject(OUTAGE)],
    [
      "an answer",
      async (stopped) => await new Promise((_, reject) => stopped.addEventListener("abort", () => reject(stopped.reason as Error))),
    ],
  ])("is waited for no longer, be it for %s, once the process is asked to end", async (_what, requestToken) => {
    const clock = fakeClock();
    const stop = new AbortController();
    const log = createLog({ clock, level: "INFO", sinks: [] });
    const asking = requestFirstToken({ requestToken }, false, { clock, random: () => 1, stopped: stop.signal }, log);
    await clock.advance(100_000);
    stop.abort(new Error("asked to end"));
    expect(await asking.catch((thrown: Error) => thrown.message)).toBe("asked to end");
  });

  test("is waited for a minute by who does not", async () => {
    expect(await ask(OUTAGE, 45_000, true)).toMatchObject({ outcome: "granted" });
    const { outcome, atMs } = await ask(OUTAGE, HOUR, true);
    expect(outcome).toBe("connection refused");
    expect(atMs).toBeLessThan(61_000);
  });

  test.each([true, false])("that is refused is asked for again for five seconds only (once: %p)", async (isOnce) => {
    expect(await ask(REFUSAL, 2_000, isOnce)).toMatchObject({ outcome: "granted" });
    const { outcome, atMs } = await ask(REFUSAL, HOUR, isOnce);
    expect(outcome).toBe("not permitted");
    expect(atMs).toBeLessThan(6_000);
  });

  test("that fails by a defect of ours, or whose account is missing, is not asked for again", async () => {
    expect(await ask(new TypeError("not a function"), HOUR, false)).toMatchObject({ outcome: "not a function", asks: [0] });
    expect(await ask(new NetplugError("notInitialised", "no account"), HOUR, false)).toMatchObject({ outcome: "no account", asks: [0] });
  });
});
