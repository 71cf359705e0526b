/** What a test and its fault proxy tell each other. */

import type { Refusal } from "../../support/servers/refusal.ts";

/** What happens to one request. */
export type Fault =
  /** It is not carried out: the connection breaks, with all other requests on it. */
  | "lose-request"
  /** It is carried out; the connection breaks before its answer. */
  | "lose-reply"
  /** It comes so much later. */
  | { readonly delayMs: number }
  /** This is the answer, and nothing was done; or, with `isDone`, all was done. */
  | (Refusal & { readonly isDone?: true });

export interface FaultPlan {
  /** Met in turn, by reads and by writes apart. */
  readonly faults: readonly Fault[];
  /** Each so many-th request meets one. */
  readonly every: number;
  /** How often each is met; then everything passes. */
  readonly times: number;
}

/** How many faults there have been. */
export interface Met {
  readonly reads: number;
  readonly writes: number;
}

/** What the program of a proxy is told, as JSON, by its one argument. */
export interface ProxyArguments {
  readonly port: number;
  readonly certFile: string;
  readonly keyFile: string;
  /** Unix socket by which plans come, and what was met is told. */
  readonly control: string;
  readonly target: { readonly url: string; readonly caFile: string };
}
