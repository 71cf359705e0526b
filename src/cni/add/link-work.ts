/** The kernel's work for an ADD, as much of it as may be done while the datastore writes. */

import type { PodLink } from "../../endpoint/pod-link.ts";
import type { TransactOptions } from "../../ipam/transact/transact.ts";
import type { UndoStack } from "../../lib/undo-stack.ts";
import type { Hold } from "../attachment-state/hold.ts";
import type { Call } from "../call.ts";
import { requireUnneeded } from "../link/node-address.ts";
import { createLink, type CreatedLink, programLink } from "../link/setup.ts";
import type { LinkSockets } from "../link/sockets.ts";

/** Milliseconds to wait for a usable link on a busy machine; nearly always it is usable at once. */
const USABLE_MS = 5_000;

/** What the work is for. */
interface Attaching {
  readonly call: Pick<Call, "ledger" | "deadline" | "log"> & {
    readonly datastore: Pick<Call["datastore"], "traits">;
    readonly host: Pick<Call["host"], "clock">;
  };
  readonly hold: Pick<Hold, "requireHeld">;
  readonly sockets: LinkSockets;
  /** Whether the node may have routes by the link's addresses; asked once it is known which these are. */
  readonly mayBeGateway: () => boolean;
  /** Whether an interface already has the attachment's names: it is replaced only after the datastore's last write. */
  readonly isReplacing: boolean;
  readonly undo: UndoStack;
}

/** A plan, as far as it is about the link. */
interface LinkPlan {
  readonly link: PodLink;
  /**
   * Whether the attachment had none of the link's addresses before. New ones are certain once they are written. Those that it had may be about to
   * be released; the ADD makes sure after the commit that they are not.
   */
  readonly isNew: boolean;
}

/** Waits until the link is usable; undefined: it is usable. */
type AwaitUsable = (() => Promise<void>) | undefined;

/** The veth pair of one ADD. Each step first does what earlier ones have not done yet; all but the wait are synchronous, and throw KernelError. */
export class LinkWork {
  readonly #attaching: Attaching;
  /** Not programmed yet. */
  #pair: CreatedLink | undefined;
  /** For the last plan whose link was made as a whole. */
  #whole: { readonly link: PodLink; readonly awaitUsable: AwaitUsable } | undefined;

  constructor(attaching: Attaching) {
    this.#attaching = attaching;
  }

  /**
   * What runs beside the datastore's writes: as much of the link as is certain by then.
   *
   * | the datastore writes | beside that |
   * |---|---|
   * | all at once | the pair, which does not depend on addresses |
   * | blocks, then the record | beside the record: the whole link if its addresses are new, else the pair |
   */
  besideWrites(): Pick<TransactOptions<LinkPlan>, "whileCommitting" | "whileRecording"> {
    const { call, isReplacing } = this.#attaching;
    if (isReplacing) return {};
    if (call.datastore.traits.commitsAtOnce) return { whileCommitting: ({ link }) => void this.#create(link) };
    // A link that is whole already has addresses that were new in an earlier try of this ADD.
    return { whileRecording: ({ link, isNew }) => void (isNew || this.#whole ? this.finish(link) : this.#create(link)) };
  }

  /** Call it once the addresses are certain. Replaces a link that was programmed for an earlier plan. @returns what to await at the end of the ADD */
  finish(link: PodLink): AwaitUsable {
    if (!this.#whole || !Bun.deepEquals(this.#whole.link, link)) {
      const pair = this.#create(link);
      // A pair is programmed only once, even if that fails half-way: a further try needs a new pair.
      this.#pair = undefined;
      this.#whole = { link, awaitUsable: this.#program(link, pair) };
    }
    return this.#whole.awaitUsable;
  }

  #create(link: PodLink): CreatedLink {
    const { call, sockets, undo, hold } = this.#attaching;
    return (this.#pair ??= call.ledger.time("kernel", () => createLink(sockets, link, undo, hold.requireHeld)));
  }

  #program(link: PodLink, pair: CreatedLink): AwaitUsable {
    const { call, sockets, hold, mayBeGateway } = this.#attaching;
    const { host, deadline, log, ledger } = call;
    const program = (): readonly string[] => {
      requireUnneeded(sockets.host, link.addresses, mayBeGateway());
      return programLink(sockets, link, pair);
    };
    const unusable = whileHeld(hold, () => ledger.time("kernel", program));
    if (unusable.length === 0) return undefined;
    return async () => {
      const options = { clock: host.clock, waitMs: Math.min(USABLE_MS, deadline.remainingMs()) };
      const { whenUsable } = await import("../link/when-usable.ts");
      const left = await whileHeld(hold, () => ledger.time("kernel", () => whenUsable(sockets, link, pair, options)));
      // No failure: lost packets are sent again, and creating the pod again would take longer.
      if (left.length > 0) log.warning("the kernel has not made all usable, first packets may be lost", { unusable: left.join(", ") });
    };
  }
}

/** Runs `work`. If it fails because a DEL or a newer ADD has removed the link, throws that as the reason. */
export function whileHeld<T>(hold: Pick<Hold, "requireHeld">, work: () => T): T {
  const fail = (thrown: unknown): never => {
    hold.requireHeld();
    throw thrown;
  };
  try {
    const done = work();
    return done instanceof Promise ? (done.catch(fail) as T) : done;
  } catch (thrown) {
    return fail(thrown);
  }
}
