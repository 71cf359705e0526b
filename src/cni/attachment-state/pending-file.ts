/**
 * The file of a pending release. A runtime should repeat a DEL that fails, and call one for each ADD; containerd 2 does neither when the
 * container's ADD has failed. Then nobody else knows of the addresses, so a call leaves this file on the node. If it gets lost, GC releases them.
 *
 * ```
 *   a call writes it ──▶ pending ──┬── its writer has released everything itself ──▶ removed
 *                                  ├── an ADD has taken hold ──────────────────────▶ cancelled
 *                                  └── what it waits for is gone, and nobody holds the attachment ──▶ released
 *                                      (it stays pending after a failure, and until nothing may arrive that an ADD had sent)
 * ```
 *
 * Who releases writes the file, then looks who holds the attachment (`hold.ts`); an ADD takes hold, then looks for the file. So one of the two
 * sees the other, and a lock lets only one go on. How all of that is done: `../pending-release/`.
 */

import type { AttachmentId } from "../../api/ipam-block.ts";
import type { PodIdentity } from "../../endpoint/names.ts";
import { LONGEST_ADD_MS } from "../../ipam/longest-add.ts";
import { type Address, toAddressText, tryParseAddress } from "../../lib/ip/address.ts";
import type { LocalCall } from "../call.ts";
import { END_OF_PART, readNodeFile, writeNodeFile } from "./node-files.ts";

/** What a release waits for. */
export interface PendingRelease {
  /** Path of the network namespace that must be gone first; "": none must. */
  readonly path: string;
  /** Milliseconds since 1970: until then an ADD may run that removes the file itself, or what it has sent may arrive; 0: neither. */
  readonly until: number;
  /** Identity of that namespace. */
  readonly id: string;
  /** What the runtime remembers of the attachment's addresses: by them they are found where the node had another name. May be none. */
  readonly addresses: readonly Address[];
  /** The attachment's pod, if it has one: by it a record is found whose addresses are in no block. */
  readonly pod?: PodIdentity | undefined;
}

/** That of a release which need not wait until a namespace is gone: our interface is known to be gone. */
export const NO_CONDITION: Pick<PendingRelease, "path" | "id"> = { path: "", id: "" };

/** Between the addresses. Older versions write nothing behind the namespace's identity, and leave what is there unread. */
const END_OF_ADDRESS = " ";
/** Between the parts of a pod's name. */
const END_OF_NAMESPACE = "/";

/**
 * The pending release of an attachment.
 *
 * @param attachment by default the call's own
 * @returns undefined when nothing is pending, or the file is damaged: an empty one would read as a release without condition
 */
export function readPending(call: LocalCall, attachment?: AttachmentId): PendingRelease | undefined {
  const [path, until, id, addresses = "", pod = ""] = readNodeFile(call, "unreleased", attachment)?.split(END_OF_PART) ?? [];
  if (path === undefined || until === undefined || id === undefined) return undefined;
  const parsed = addresses.split(END_OF_ADDRESS).map(tryParseAddress);
  const [namespace = "", name] = pod.split(END_OF_NAMESPACE);
  const known = parsed.filter((address) => address !== undefined);
  return { path, until: Number(until), id, addresses: known, ...(name !== undefined && { pod: { namespace, name } }) };
}

/** Replaces it. @param attachment by default the call's own @throws NetplugError ioFailure */
export function writePending(call: LocalCall, { path, until, id, addresses, pod }: PendingRelease, attachment?: AttachmentId): void {
  const known = addresses.map(toAddressText).join(END_OF_ADDRESS);
  const ofPod = pod === undefined ? [] : [pod.namespace + END_OF_NAMESPACE + pod.name];
  writeNodeFile(call, "unreleased", [path, until, id, known, ...ofPod].join(END_OF_PART), attachment);
}

/** The latest moment at which an ADD of now may be under way, or what it has sent: {@link PendingRelease.until} of its release. */
export function lastArrival({ host: { clock } }: LocalCall): number {
  return clock.now() + LONGEST_ADD_MS;
}

/** Whether that moment is still to come. If more time is left than an ADD can take, the clock was set back: do not wait. */
export function mayArrive({ host: { clock } }: LocalCall, until: number): boolean {
  const leftMs = until - clock.now();
  return leftMs > 0 && leftMs <= LONGEST_ADD_MS;
}
