/** Which attachments a GC removes, and which it keeps. An ADD that begins beside the GC can make it keep one that it was about to remove. */

import { type Attachment, attachmentKeyOf } from "../../ipam/request.ts";
import { listHeld } from "../attachment-state/listed-files.ts";
import type { LocalCall } from "../call.ts";
import { type ConcurrentAdds, watchConcurrentAdds } from "./concurrent-adds.ts";

/** The attachments that one GC has come across. One that is kept stays so until the end of the GC. */
export class SortedAttachments {
  readonly #call: LocalCall;
  readonly #concurrentAdds: ConcurrentAdds;
  readonly #kept: Map<string, Attachment>;
  readonly #stale = new Map<string, Attachment>();

  /** Keeps the valid ones of the network config. To be made before the GC looks for anything, see {@link watchConcurrentAdds}. */
  constructor(call: LocalCall) {
    this.#call = call;
    this.#kept = new Map((call.config.validAttachments ?? []).map((attachment) => [attachmentKeyOf(attachment), attachment]));
    this.#concurrentAdds = watchConcurrentAdds(call);
  }

  /** Those that stay: the valid ones, those whose interface could not be removed, and those that an ADD has. */
  get kept(): readonly Attachment[] {
    return [...this.#kept.values()];
  }

  /** Those to remove, of which something was found. */
  get stale(): readonly Attachment[] {
    return [...this.#stale.values()];
  }

  /** Whether it is among the {@link stale} ones. An ADD may have it by now, see {@link lookAt}. */
  isStale(attachment: Attachment): boolean {
    return this.#stale.has(attachmentKeyOf(attachment));
  }

  /**
   * Looks whether an ADD beside this GC has the attachment: then it is kept from now on. To be called right after something of it is found, and again
   * before that is removed: an ADD takes hold before it makes anything.
   *
   * @returns what becomes of it, for all that is known now
   */
  lookAt(attachment: Attachment): "kept" | "stale" {
    const key = attachmentKeyOf(attachment);
    if (!this.#kept.has(key) && this.#concurrentAdds.has(attachment)) {
      this.#kept.set(key, attachment);
      this.#stale.delete(key);
    }
    return this.#kept.has(key) ? "kept" : "stale";
  }

  /** Looks at all attachments of the network that have a hold: until an ADD makes something, its hold is the only trace of it. */
  lookForNewcomers(): void {
    for (const id of listHeld(this.#call)) if (id.network === this.#call.config.name) this.lookAt(id);
  }

  /** Whether an ADD beside this GC has any attachment, of whatever network. */
  isAnyAddUnderWay(): boolean {
    return listHeld(this.#call).some((id) => this.#concurrentAdds.has(id, id.network));
  }

  /** Adds one to remove. */
  addStale({ containerID, ifName }: Attachment): void {
    this.#stale.set(attachmentKeyOf({ containerID, ifName }), { containerID, ifName });
  }

  /** Keeps one that could not be removed. */
  keep(attachment: Attachment): void {
    this.#kept.set(attachmentKeyOf(attachment), attachment);
  }

  /** Removes nothing more of it: by what stays the next GC finds it. */
  leaveToNextGc(attachment: Attachment): void {
    this.#stale.delete(attachmentKeyOf(attachment));
  }
}
