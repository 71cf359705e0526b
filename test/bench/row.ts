/** What a benchmark yields: one row of the table, with its target. */

import type { Summary } from "./summary.ts";

export interface BenchRow {
  readonly what: string;
  /** As the table shows it: `≤ 1.3 × ptp + host-local`. */
  readonly target: string;
  /** As the table shows it. */
  readonly measured: string;
  /** undefined: reported only. */
  readonly met: boolean | undefined;
  /** The figures behind it, for the JSON file. */
  readonly figures: Readonly<Record<string, Summary | number | string>>;
}

/** What a file `test/bench/ipam-*.ts` exports as `bench`: it measures `ipam/` on the etcd given. */
export type IpamBench = (context: IpamBenchContext) => Promise<readonly BenchRow[]>;

export interface IpamBenchContext {
  /** `http://127.0.0.1:port` of an empty etcd that is this benchmark's alone. */
  readonly etcdEndpoint: string;
}
