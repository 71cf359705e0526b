/** For tests: a block as it is stored, in etcd and in the API server's objects, for whoever reads it without our code. */

import { addressesIn } from "../ip-arithmetic.ts";

export interface BlockRecord {
  readonly cidr: string;
  readonly node: string;
  readonly groups: readonly (readonly [network: string, ifName: string, node: string, form: string])[];
  /** One row for each address in use, in the order of addresses. */
  readonly allocations: readonly (string | readonly [group: number, seconds: number, containerID: string, ...rest: unknown[]])[];
  /** Ordinals, as ranges, in the order of reuse: `4-7,2`. */
  readonly free: string;
}

/** The addresses of a block that are in use, in their order: all that are not free. */
export function addressesInUseOf({ cidr, free }: Pick<BlockRecord, "cidr" | "free">): readonly string[] {
  const unused = new Set(free === "" ? [] : free.split(",").flatMap(ordinalsOf));
  return addressesIn(cidr).filter((_, ordinal) => !unused.has(ordinal));
}

function ordinalsOf(range: string): readonly number[] {
  const [first = 0, last = first] = range.split("-").map(Number);
  return Array.from({ length: last - first + 1 }, (_, index) => first + index);
}
