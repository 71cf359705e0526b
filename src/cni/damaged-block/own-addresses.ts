/** The addresses of a call's attachment, as far as its record and the readable blocks show them: may one be in a damaged block? */

import type { Block } from "../../api/ipam-block.ts";
import { ENDPOINT_IPAM, recordedAddresses, type WorkloadEndpoint } from "../../api/workload-endpoint.ts";
import type { Query, Stored } from "../../datastore/datastore.ts";
import { isSameAttachment } from "../../ipam/block.ts";
import { toAddressText } from "../../lib/ip/address.ts";
import { addressAt } from "../../lib/ip/prefix.ts";
import { toAllocationSubject } from "../call-requests.ts";
import { attachmentIdOf, type Call, hasOwnIpam, isMain } from "../call.ts";

/** Gathered from the answers to the call's queries. */
export class OwnAddresses {
  readonly #call: Call;
  /** Those in blocks that can be read. */
  readonly #allocated = new Set<string>();
  /** Those of the attachment's record; undefined: nobody has found one. */
  #recorded: readonly string[] | undefined;
  /** Whether the record is another container's by now. */
  #isTaken = false;

  constructor(call: Call) {
    this.#call = call;
  }

  add(query: Query, answer: unknown): void {
    // The types of the answers are those of their queries.
    if (query.type === "blocks-of-node") for (const stored of answer as readonly Stored<Block>[]) this.#addBlock(stored.value);
    if (answer === undefined) return;
    if (query.type === "block") this.#addBlock((answer as Stored<Block>).value);
    if (query.type === "get" && query.ref.kind === "WorkloadEndpoint") this.#addRecord((answer as Stored<WorkloadEndpoint>).value);
  }

  /** Whether the attachment's record has addresses. */
  get isAnyRecorded(): boolean {
    return this.#recorded !== undefined && this.#recorded.length > 0;
  }

  /** Whether every address of the record, if there are any, is in a block that can be read. */
  areRecordedElsewhere(): boolean {
    return !hasOwnIpam(this.#call) || (this.#recorded ?? []).every((address) => this.#allocated.has(address));
  }

  /**
   * Whether none can be in a damaged block. On etcd a record comes and goes with its addresses, so without a record there are none. Elsewhere
   * all that can be done is to count: an attachment has no more addresses than it asks for.
   */
  areSurelyElsewhere(): boolean {
    const { plugin, datastore, argsFault } = this.#call;
    if (!hasOwnIpam(this.#call)) return true;
    if (this.isAnyRecorded) return this.areRecordedElsewhere();
    const endsWithRecord = isMain(plugin) && !datastore.traits.recordsArePods && argsFault === undefined && !this.#isTaken;
    return endsWithRecord || this.#areAllCounted();
  }

  /** Whether the attachment's ADD may have died before it recorded addresses that another call allocated for it, see `../turns/`. */
  mayBeUnrecorded(): boolean {
    return hasOwnIpam(this.#call) && !this.isAnyRecorded && !this.#areAllCounted();
  }

  /** Whether the readable blocks hold as many addresses as an ADD gets. */
  #areAllCounted(): boolean {
    const { addresses } = toAllocationSubject(this.#call);
    return this.#allocated.size >= Math.max(1, addresses.length > 0 ? addresses.length : this.#call.config.ipam.families.length);
  }

  #addBlock({ cidr, allocations }: Block): void {
    const id = attachmentIdOf(this.#call);
    for (const { owner, ordinal } of allocations)
      if (owner.node === this.#call.node && isSameAttachment(owner, id)) this.#allocated.add(toAddressText(addressAt(cidr, ordinal)));
  }

  #addRecord(record: WorkloadEndpoint): void {
    if (record.spec.containerID !== this.#call.environment.containerID) this.#isTaken = true;
    // Addresses that the annotations gave without IPAM are in no block.
    else if (record.metadata.annotations?.[ENDPOINT_IPAM] === undefined) this.#recorded = recordedAddresses(record).map(toAddressText);
  }
}
