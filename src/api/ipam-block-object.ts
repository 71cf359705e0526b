/** A block as an object of the Kubernetes API: its record as one text, beside what the API server and people must see of it. */

/** The spec of `ipamblocks.netplug.io`. */
export interface IPAMBlockSpec {
  /** Cannot be changed: the object's name is a function of it. */
  readonly cidr: string;
  /** The node that owns the block; changes when another node takes it over. */
  readonly node: string;
  /** What `encodeBlock` writes: one text, so that two writers never merge halves of it. */
  readonly allocations: string;
}
