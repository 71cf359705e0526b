/** The commit of an ADD: an attachment's addresses and its record. */

import { type AddOutcome, type AddPlan, addQueries, type AddRequest, planAdds, toQueueableRequest } from "../../endpoint/plan-add.ts";
import type { Facts } from "../../ipam/facts.ts";
import type { AddressRequest } from "../../ipam/request.ts";
import { transact, type Try } from "../../ipam/transact/transact.ts";
import { NetplugError } from "../../lib/errors.ts";
import type { Address } from "../../lib/ip/address.ts";
import type { Hold } from "../attachment-state/hold.ts";
import type { Call } from "../call.ts";
import { beginReading, loadPrefetch, transactPortsOf } from "../transact-ports.ts";
import type { KeptLink } from "./kept-link.ts";
import type { LinkWork } from "./link-work.ts";
import type { Taken } from "./withdraw-attachment.ts";

/** The plan of an ADD that can be carried out. */
type Planned = Exclude<AddOutcome, { readonly error: NetplugError }> & {
  /** Whether this ADD keeps the interface of an earlier one, with the traffic on it. */
  readonly isKept: boolean;
};

/** What one decision comes to. */
interface Decided {
  readonly plan: AddPlan;
  readonly outcome: AddOutcome;
  /** As of {@link Planned}. */
  readonly isKept: boolean;
}

/** What is recorded, and for whom. */
interface Attaching {
  readonly call: Call;
  readonly hold: Hold;
  readonly request: AddRequest;
  /** Only of a repeated ADD whose interface exists already. */
  readonly keptLink: KeptLink | undefined;
}

/** The recording of one attachment: its addresses and its record, in one commit. */
export class Recording {
  readonly #attaching: Attaching;
  /** What each decision gave to the attachment: of its commit a part may be written, even where it was refused, or its reply lost. */
  #added: readonly Address[] = [];
  /** Whether others may have given addresses to it, which had none before. */
  #isQueued = false;

  constructor(attaching: Attaching) {
    this.#attaching = attaching;
  }

  /** What a failed ADD releases; undefined: nothing, and it leaves the record, too, which may be an earlier ADD's. */
  get taken(): Taken | undefined {
    return this.#isQueued || this.#added.length > 0 ? { addresses: this.#added, isAll: this.#isQueued } : undefined;
  }

  /**
   * Decides and commits. Addresses that the attachment had before are written once more, unless their interface is kept.
   *
   * @throws {NetplugError} why the ADD cannot be done; see also `transact()`
   */
  async commit(facts: Facts, linkWork: LinkWork): Promise<Planned> {
    const { call, hold, request, keptLink } = this.#attaching;
    const { beforeCommit, commits } = hold;
    const { onOutcome } = commits;
    const queueRequest = (): AddressRequest | undefined => {
      const wanted = keptLink ? undefined : toQueueableRequest(request, facts);
      if (wanted) {
        // Whoever has the turn may send it in its own commit.
        commits.noteUnderWay();
        this.#isQueued = true;
      }
      return wanted;
    };
    const defects = new Set<string>();
    const recording = call.ledger.time("datastore", () =>
      transact(
        transactPortsOf(call),
        addQueries([request]),
        (known, attempt) => {
          const { plan, outcome, isKept } = this.#plan(known, attempt);
          const { writes, prefetch, served } = plan;
          for (const defect of plan.defects) defects.add(defect);
          if ("error" in outcome) throw outcome.error;
          this.#added = this.#added.concat(outcome.added);
          return { writes, prefetch, served, result: { ...outcome, isKept } };
        },
        { facts, loadPrefetch: () => loadPrefetch(call), queueRequest, beforeCommit, onOutcome, ...linkWork.besideWrites() },
      ),
    );
    const planned = await recording.finally(() => defects.forEach((defect) => call.log.warning(defect)));
    commits.noteRecorded();
    if (this.#isQueued || planned.isNew || planned.isKept || !("ipam" in request)) return planned;
    const { renewAddresses } = await import("./renew.ts");
    if (await renewAddresses(call, hold.requireHeld, request.ipam.owner, planned.addresses)) return planned;
    return await this.commit(await beginReading(call, addQueries([request])), linkWork);
  }

  /** Decides what the ADD does: with what its interface has, if that can be kept. */
  #plan(facts: Facts, attempt: Try): Decided {
    const { call, request, keptLink } = this.#attaching;
    const planFor = (one: AddRequest, isKept: boolean): Decided => {
      const plan = call.ledger.time("plan", () => planAdds([one], facts, attempt));
      const [outcome] = plan.outcomes;
      if (outcome === undefined) throw new NetplugError("internal", "plan ADD: it has no outcome");
      return { plan, outcome, isKept };
    };
    const kept = keptLink && planFor(keptLink.toRequest(request, facts), true);
    return kept && "link" in kept.outcome && keptLink.isComplete(request, kept.outcome.link) ? kept : planFor(request, false);
  }
}
