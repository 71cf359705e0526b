/** For tests: a block as it is stored, in etcd and in the API server's objects, for whoever reads it without our code. */
export interface BlockRecord {
  readonly cidr: string;
  readonly node: string;
  readonly groups: readonly (readonly [network: string, ifName: string, node: string, form: string])[];
  /** One row for each address in use, in the order of addresses. */
  readonly allocations: readonly (string | readonly [group: number, seconds: number, containerID: string, ...rest: unknown[]])[];
  /** Ordinals, as ranges, in the order of reuse: `4-7,2`. */
  readonly free: string;
}
