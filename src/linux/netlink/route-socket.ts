/** What a socket to rtnetlink can do, for whoever is handed one. */

import type { KernelError } from "../kernel-error.ts";
import type { NetlinkMessage } from "./codec.ts";
import type { NetlinkRequest } from "./request.ts";

/** What became of one request. */
export interface Outcome {
  /** What the kernel sent for it, acknowledgements left out. */
  readonly replies: readonly NetlinkMessage[];
  /** Why it was refused; undefined when it was carried out. */
  readonly error: KernelError | undefined;
}

/** A request on which the kernel works. */
export interface StartedRequest {
  /** To be called once. @throws {KernelError} when the socket is of no use; a refusal is in the outcome */
  finish(): Outcome;
}

/** What speaks rtnetlink in one network namespace. */
export interface RouteSocket extends Disposable {
  /**
   * Sends all requests at once. The kernel carries them out in order, and goes on behind one that it refuses.
   *
   * @returns one outcome per request
   */
  transact(requests: readonly NetlinkRequest[]): readonly Outcome[];
  /**
   * Hands one request to the kernel without waiting for it, if that can be done; until `finish` the socket is for nothing else.
   *
   * @returns what waits, and tells what became of it
   */
  start(request: NetlinkRequest): StartedRequest;
  /** All objects of a kind. @throws {KernelError} */
  dump(request: NetlinkRequest): readonly NetlinkMessage[];
}
