/** One request to rtnetlink, as plain data. */

/** What to ask, and how to name it when the kernel refuses. */
export interface NetlinkRequest {
  /** Beginning of the error's sentence: `create veth`. */
  readonly operation: string;
  /** On what: an interface's name, an address, a route. */
  readonly object: string;
  /** `RTM_…`. */
  readonly type: number;
  /** `NLM_F_…` besides those that the socket adds: request, acknowledgement, dump. */
  readonly flags: number;
  readonly payload: Uint8Array;
}
