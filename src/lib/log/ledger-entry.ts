/** The startup ledger's entry: where the time of one ADD or DEL went, as the log has it and as it is read back. */

/** The message of a ledger line in the log. */
export const LEDGER_MESSAGE = "ledger";

/** One part of an operation. Parts may overlap: their sum can be more, or less, than the total. */
interface LedgerPhase {
  readonly name: string;
  /** Milliseconds from the start of the process to the phase's first moment. */
  readonly startMs: number;
  /** Milliseconds during which at least one span of this phase was open. */
  readonly ms: number;
}

/** The whole of one ADD or DEL. Times are milliseconds. */
export interface LedgerEntry {
  /** When the line was written: ISO 8601, UTC. */
  readonly time: string;
  /** Namespace and name, as every line of the log of its call names it; "" when the runtime named none. */
  readonly pod: string;
  /** `ADD` or `DEL`. */
  readonly verb: string;
  readonly containerID: string;
  readonly ifName: string;
  readonly network: string;
  /** 0, or the CNI code that the operation ended with. */
  readonly code: number;
  /** Milliseconds from the start of the process to the end of the operation. */
  readonly totalMs: number;
  /** Sequential round trips to the datastore, retries included. */
  readonly roundTrips: number;
  readonly retries: number;
  /** In the order in which they began. The line has two tables by name: `phaseMs` and `phaseStartMs`. */
  readonly phases: readonly LedgerPhase[];
}
