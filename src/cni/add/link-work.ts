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

/** Waits until the link is usable; undefined: it is usable. */
type AwaitUsable = (() => Promise<void>) | undefined;

/** The veth pair of one ADD. Each step first does what earlier ones have not done yet; all but the wait are synchronous, and throw KernelError. */
export class LinkWork {
  readonly #attaching: Attaching;
  #created: CreatedLink | undefined;
  /** What was programmed. */
  #link: PodLink | undefined;
  #awaitUsable: AwaitUsable;

  constructor(attaching: Attaching) {
    this.#attaching = attaching;
  }

  /**
   * What runs beside the datastore's writes. Where it writes everything at once, the pair is created, which does not depend on addresses. Where
   * it writes blocks first, new addresses are certain after that, and the whole link is made beside the record's write; addresses that the
   * attachment had before are certain only after `renewAddresses()`.
   */
  besideWrites(): Pick<TransactOptions<{ readonly link: PodLink; readonly isNew: boolean }>, "whileCommitting" | "whileRecording"> {
    const { call, isReplacing } = this.#attaching;
    if (isReplacing) return {};
    if (call.datastore.traits.commitsAtOnce) return { whileCommitting: ({ link }) => void this.#create(link) };
    return { whileRecording: ({ link, isNew }) => void (isNew || this.#link ? this.finish(link) : this.#create(link)) };
  }

  /** Call it after the commit. Replaces a link that was programmed for an earlier plan. @returns what to await at the end of the ADD */
  finish(link: PodLink): AwaitUsable {
    if (Bun.deepEquals(this.#link, link)) return this.#awaitUsable;
    const pair = this.#create(link);
    // A pair is programmed only once, even if that fails half-way: a further try needs a new pair.
    this.#created = undefined;
    this.#awaitUsable = this.#program(link, pair);
    this.#link = link;
    return this.#awaitUsable;
  }

  #create(link: PodLink): CreatedLink {
    const { call, sockets, undo, hold } = this.#attaching;
    return (this.#created ??= call.ledger.time("kernel", () => createLink(sockets, link, undo, hold.requireHeld)));
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
