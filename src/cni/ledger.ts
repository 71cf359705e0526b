/** Measures where the time of one ADD or DEL goes, and leaves it as one line in the log. */

import { LEDGER_MESSAGE } from "../lib/log/ledger-entry.ts";
import type { Log } from "../lib/log/log.ts";
import type { Clock } from "../lib/ports.ts";

/** What an operation's time goes to. */
export type LedgerPhaseName =
  /** From the start of the process to its first line of ours. */
  | "start"
  /** Environment, stdin and network config. */
  | "parse"
  | "datastore"
  | "plan"
  | "kernel"
  | "delegate"
  /** Readiness gates. */
  | "gates"
  /** Programming of policy. */
  | "policy"
  /** Pod, namespace and node, as the Kubernetes API tells them. */
  | "kubernetes"
  /** Undoing after a failure. */
  | "undo";

/** What an ended operation tells besides its times. */
export interface LedgerOutcome {
  readonly verb: string;
  readonly containerID: string;
  readonly ifName: string;
  readonly network: string;
  /** 0, or the CNI code of the failure. */
  readonly code: number;
  readonly roundTrips: number;
  readonly retries: number;
}

/**
 * The times of one operation. Spans may nest and overlap: a phase counts wall time while at least one of its spans is open, so
 * two parallel spans of one phase count once, and spans of two phases each count for theirs.
 */
export interface Ledger {
  /** Opens a span that ends at the end of the block: `using _ = ledger.phase("kernel");` */
  phase(name: LedgerPhaseName): Disposable;
  /** Runs `work`, synchronous or not, inside a span. */
  time<T>(name: LedgerPhaseName, work: () => T): T;
  /** Writes the one line; spans still open count up to now. */
  write(log: Log, outcome: LedgerOutcome): void;
}

interface Phase {
  readonly name: string;
  readonly startMs: number;
  ms: number;
  openSpans: number;
  openedAt: number;
}

/**
 * Starts a ledger.
 *
 * @param processStart when the process began, in milliseconds of `clock.monotonic()`; what lies before this call is the phase `start`
 *
 * ```ts
 * const ledger = startLedger(clock, 0);
 * const facts = await ledger.time("datastore", () => store.read(queries));
 * ledger.write(log, { verb: "ADD", containerID, ifName, network, code: 0, ...store.requests });
 * ```
 */
export function startLedger(clock: Pick<Clock, "monotonic">, processStart: number): Ledger {
  // A list: there are fewer than ten, and a process that runs one verb pays for the first use of everything that is cleverer.
  const phases: Phase[] = [];
  const entered = clock.monotonic();
  if (entered > processStart) phases.push({ name: "start", startMs: 0, ms: entered - processStart, openSpans: 0, openedAt: 0 });

  const open = (name: string): Phase => {
    const now = clock.monotonic();
    let phase: Phase | undefined;
    for (const known of phases) if (known.name === name) phase = known;
    if (phase === undefined) {
      phase = { name, startMs: now - processStart, ms: 0, openSpans: 0, openedAt: now };
      phases.push(phase);
    }
    if (phase.openSpans++ === 0) phase.openedAt = now;
    return phase;
  };
  const close = (phase: Phase): void => {
    if (--phase.openSpans === 0) phase.ms += clock.monotonic() - phase.openedAt;
  };

  return {
    phase(name) {
      const phase = open(name);
      let isOpen = true;
      return {
        [Symbol.dispose]() {
          if (isOpen) close(phase);
          isOpen = false;
        },
      };
    },
    time<T>(name: LedgerPhaseName, work: () => T): T {
      const phase = open(name);
      let result: T;
      try {
        result = work();
      } catch (thrown) {
        close(phase);
        throw thrown;
      }
      if (!(result instanceof Promise)) {
        close(phase);
        return result;
      }
      // T is a promise here; `finally` gives one of the same type.
      return result.finally(() => close(phase)) as T;
    },
    write(log, outcome) {
      const now = clock.monotonic();
      const phaseMs: Record<string, number> = {};
      const phaseStartMs: Record<string, number> = {};
      for (const { name, startMs, ms, openSpans, openedAt } of phases) {
        phaseMs[name] = round(ms + (openSpans > 0 ? now - openedAt : 0));
        phaseStartMs[name] = round(startMs);
      }
      log.info(LEDGER_MESSAGE, { ...outcome, totalMs: round(now - processStart), phaseMs, phaseStartMs });
    },
  };
}

/** Microseconds are as fine as the clock is. */
function round(ms: number): number {
  return Math.round(ms * 1000) / 1000;
}
