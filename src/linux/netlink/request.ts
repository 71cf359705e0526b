/** One request to rtnetlink, as plain data. */

import type { Prefix } from "../../lib/ip/prefix.ts";

/** What to ask, and how to name it when the kernel refuses. */
export interface NetlinkRequest {
  /** Beginning of the error's sentence: `create veth`. */
  readonly operation: string;
  /** On what: an interface's name, or an address or destination, which becomes text only when it is needed. */
  readonly object: string | Prefix;
  /** `RTM_…`. */
  readonly type: number;
  /** `NLM_F_…` besides those that the socket adds: request, acknowledgement, dump. */
  readonly flags: number;
  /** 32-bit words: a fixed structure, then attributes. */
  readonly payload: readonly number[];
}
