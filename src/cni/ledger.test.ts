import { expect, test } from "bun:test";
import type { LedgerEntry } from "../lib/log/ledger-entry.ts";
import { readLedger } from "../lib/log/read-ledger.ts";
import { jsonSink, textSink } from "../lib/log/format.ts";
import { createLog } from "../lib/log/log.ts";
import type { Log } from "../lib/log/log.ts";
import { startLedger } from "./ledger.ts";
import type { Ledger, LedgerOutcome } from "./ledger.ts";

const OUTCOME: LedgerOutcome = { verb: "ADD", containerID: "abc", ifName: "eth0", network: "net", code: 0, roundTrips: 2, retries: 0 };

/** A clock that moves only when told. */
function handClock(start = 0): { monotonic: () => number; now: () => number; to: (ms: number) => void } {
  let time = start;
  return { monotonic: () => time, now: () => 0, to: (ms) => void (time = ms) };
}

function logTo(lines: string[]): Log {
  return createLog({
    clock: { now: () => Date.UTC(2026, 0, 2) },
    level: "INFO",
    sinks: [jsonSink((line) => lines.push(line))],
    fields: { containerID: "abc", pod: "default/web" },
  });
}

/** What the line says that it writes. */
function written(ledger: Ledger): LedgerEntry | undefined {
  const lines: string[] = [];
  ledger.write(logTo(lines), OUTCOME);
  expect(lines).toHaveLength(1);
  return readLedger(lines)[0];
}

test("what lies before the entry is the phase start, and each phase counts its own wall time", () => {
  const clock = handClock(5);
  const ledger = startLedger(clock, 1);
  ledger.time("parse", () => clock.to(6));
  {
    using _ = ledger.phase("kernel");
    clock.to(8.5);
  }
  clock.to(9);
  expect(written(ledger)).toMatchObject({
    ...OUTCOME,
    totalMs: 8,
    phases: [
      { name: "start", startMs: 0, ms: 4 },
      { name: "parse", startMs: 4, ms: 1 },
      { name: "kernel", startMs: 5, ms: 2.5 },
    ],
  });
});

test("spans of one phase that nest or overlap count once, later ones are added, and two phases may run at the same time", async () => {
  const clock = handClock();
  const ledger = startLedger(clock, 0);
  const [first, second] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const reads = [ledger.time("datastore", () => first.promise), ledger.time("datastore", () => second.promise)];
  const gate = ledger.phase("gates");
  clock.to(10);
  first.resolve();
  await reads[0];
  clock.to(15);
  second.resolve();
  await reads[1];
  gate[Symbol.dispose]();
  gate[Symbol.dispose]();
  clock.to(20);
  ledger.time("datastore", () => ledger.time("datastore", () => clock.to(22)));
  expect(written(ledger)?.phases).toEqual([
    { name: "datastore", startMs: 0, ms: 17 },
    { name: "gates", startMs: 0, ms: 15 },
  ]);
});

test("a span ends when its work fails, now or later, and the failure is passed on", async () => {
  const clock = handClock();
  const ledger = startLedger(clock, 0);
  const fail = (): never => {
    clock.to(3);
    throw new Error("now");
  };
  expect(() => ledger.time("kernel", fail)).toThrow("now");
  const later = ledger.time("datastore", async () => {
    await Promise.resolve();
    throw new Error("later");
  });
  clock.to(7);
  expect(later).rejects.toThrow("later");
  await later.catch(() => {});
  clock.to(100);
  expect(written(ledger)?.phases).toEqual([
    { name: "kernel", startMs: 0, ms: 3 },
    { name: "datastore", startMs: 3, ms: 4 },
  ]);
});

test("a span that is still open counts up to now", () => {
  const clock = handClock();
  const ledger = startLedger(clock, 0);
  ledger.phase("policy");
  clock.to(4);
  expect(written(ledger)?.phases).toEqual([{ name: "policy", startMs: 0, ms: 4 }]);
});

test("what is written is read back, among whatever else stands in the log", () => {
  const clock = handClock(4.5);
  const lines: string[] = [
    "",
    "no json",
    '{"msg":"other"}',
    '{"msg":"ledger","verb":"ADD"',
    '{"msg":"ledger"}',
    '{"a":"\\"msg\\":\\"ledger\\""}',
    "null",
  ];
  const ledger = startLedger(clock, 0);
  ledger.time("kernel", () => clock.to(6.1234567));
  ledger.write(logTo(lines), OUTCOME);
  lines.push("2026-01-02T00:00:00.000Z INFO ledger", lines.at(-1)?.slice(0, 40) ?? "");
  expect(readLedger(lines)).toEqual([
    {
      ...OUTCOME,
      time: "2026-01-02T00:00:00.000Z",
      pod: "default/web",
      totalMs: 6.123,
      phases: [
        { name: "start", startMs: 0, ms: 4.5 },
        { name: "kernel", startMs: 4.5, ms: 1.623 },
      ],
    },
  ]);
});

test("an entry is read that stands right behind a line cut by a full disk", () => {
  const lines: string[] = [];
  startLedger(handClock(4.5), 0).write(logTo(lines), OUTCOME);
  const [whole = ""] = lines;
  const cut = Array.from({ length: whole.length - 1 }, (_, length) => whole.slice(0, length));
  expect(cut.flatMap((part) => readLedger([part]))).toEqual([]);
  for (const part of cut) expect(readLedger([part + whole])).toEqual(readLedger([whole]));
  expect(readLedger([whole])).toHaveLength(1);
});

test("a whole ledger costs less than 0.3 ms", () => {
  const monotonic = (): number => performance.now();
  const costs: number[] = [];
  const log = createLog({ clock: { now: () => Date.now() }, level: "INFO", sinks: [textSink(() => {}), jsonSink(() => {})] });
  for (let run = 0; run < 200; run++) {
    const began = monotonic();
    const ledger = startLedger({ monotonic }, began - 1);
    for (const name of ["parse", "datastore", "plan", "kernel", "delegate", "gates", "policy", "undo"] as const)
      ledger.time(name, () => {});
    ledger.write(log, OUTCOME);
    costs.push(monotonic() - began);
  }
  expect(costs.toSorted((a, b) => a - b)[100]).toBeLessThan(0.3);
});
