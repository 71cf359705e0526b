/** What a consistency check can find. */

/** In the order in which they are reported. */
export const PROBLEM_CLASSES = {
  "corrupt-block": "a block cannot be read, overlaps another, is not listed as what it is, or lies where no block can",
  "orphaned-block": "a block lies in no pool, has no record or no claim, or belongs to a node that is gone",
  "outside-pool": "an address in use lies in no pool",
  "duplicate-address": "an address is used or recorded twice",
  "unallocated-in-use": "an endpoint has an address that is not allocated",
  "unrecorded-in-use": "a pod that runs has an address that is allocated to it, but has no record of it, or one of another container",
  "misnamed-node": "an address is allocated to a container on another node than its record says",
  "leaked-address": "an address is allocated for an endpoint that does not have it, or for a pod that is gone",
} as const;

/** What `ipam check` prints as the class; docs/address-repair.md says what to do about each. */
export type ProblemClass = keyof typeof PROBLEM_CLASSES;

/** A finding of `ipam check`: two things that the datastore says contradict each other. */
export interface Inconsistency {
  readonly class: ProblemClass;
  /** The address or CIDR. */
  readonly object: string;
  readonly detail: string;
}

/** What the checks of `ipam check` make a finding with. */
export function problem(problemClass: ProblemClass, object: string, detail: string): Inconsistency {
  return { class: problemClass, object, detail };
}
