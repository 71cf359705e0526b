/**
 * A call that met a block whose record cannot be read, once more without it: one damaged record must not stop all pods of a node. Which
 * addresses it holds nobody knows. Nobody gets one of them, for the block stays claimed, and
 *
 * - ADD goes on, unless the attachment may have an address in there: a running pod must not get another one;
 * - DEL gives back what the attachment has in other blocks, and fails where something of it may be in the damaged one; what earlier calls left to
 *   be given back it leaves to a later DEL;
 * - CHECK tells what it finds of attachments that are in other blocks;
 * - GC gives back what it can, and fails.
 */

import type { CorruptBlock } from "../api/ipam-block-codec.ts";
import type { Block, BlockRef } from "../api/ipam-block.ts";
import { ENDPOINT_IPAM, recordedAddresses, type WorkloadEndpoint } from "../api/workload-endpoint.ts";
import type { Damage, Datastore, Query, Stored } from "../datastore/datastore.ts";
import { isSameAttachment } from "../ipam/block.ts";
import { NetplugError } from "../lib/errors.ts";
import { toAddressText } from "../lib/ip/address.ts";
import { addressAt, toPrefixText } from "../lib/ip/prefix.ts";
import { quote } from "../lib/quote.ts";
import { attachmentIdOf, linkNamesOf, netnsOptionsOf, toAddressSubject } from "./attachment.ts";
import { type Call, hasOwnIpam } from "./call.ts";
import { findExisting } from "./link/find.ts";
import { openPodNetns } from "./link/pod-netns.ts";
import { openLinkSockets } from "./link/sockets.ts";
import type { Verb } from "./protocol/versions.ts";

/** The call as it was played. */
export interface Played {
  /** What it met. */
  readonly fault: CorruptBlock;
  readonly play: (verb: Verb, call: Call) => Promise<string>;
}

/** @returns what is printed @throws `fault`, where the damaged block counts; NetplugError */
export async function playPastDamage(verb: Verb, call: Call, { fault, play }: Played): Promise<string> {
  const seen = new Seen(call);
  const mayGoOn = conditionOf(verb, call, seen);
  const expectFound = (): void => {
    if (!mayGoOn()) throw fault;
  };
  const datastore = withoutDamaged(call, { onRead: (query, answer) => seen.add(query, answer), beforeCommit: expectFound });
  try {
    const answer = await play(verb, { ...call, datastore, isPastDamage: true });
    expectFound();
    if (verb === "GC") throw fault;
    return answer;
  } catch (thrown) {
    throw verb === "CHECK" && !seen.isAll() ? fault : thrown;
  }
}

/** What must hold before something is written, and at the end. */
function conditionOf(verb: Verb, call: Call, seen: Seen): () => boolean {
  if (verb === "DEL") return () => seen.isAll();
  if (verb !== "ADD") return () => true;
  const isRepeated = call.plugin === "netplug" && stands(call);
  return () => seen.hasAllRecorded() && (seen.isRecorded || !isRepeated);
}

/** Whether the attachment's interface stands. */
function stands(call: Call): boolean {
  using netns = openPodNetns(call.host.kernel, call.environment.netns ?? "", netnsOptionsOf(call));
  using sockets = openLinkSockets(call.host.kernel, netns, linkNamesOf(call));
  return findExisting(sockets)?.isOurs === true;
}

/** What the blocks that can be read, and the record, tell of the call's attachment. */
class Seen {
  readonly #call: Call;
  readonly #held = new Set<string>();
  /** Addresses of its record; undefined: nobody has found one. */
  #recorded: readonly string[] | undefined;
  /** Whether its record is another container's by now. */
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

  #addBlock({ cidr, allocations }: Block): void {
    const id = attachmentIdOf(this.#call);
    for (const { owner, ordinal } of allocations)
      if (owner.node === this.#call.node && isSameAttachment(owner, id)) this.#held.add(toAddressText(addressAt(cidr, ordinal)));
  }

  #addRecord(record: WorkloadEndpoint): void {
    if (record.spec.containerID !== this.#call.environment.containerID) this.#isTaken = true;
    // Addresses that the annotations gave past address management are in no block.
    else if (record.metadata.annotations?.[ENDPOINT_IPAM] === undefined) this.#recorded = recordedAddresses(record).map(toAddressText);
  }

  get isRecorded(): boolean {
    return this.#recorded !== undefined && this.#recorded.length > 0;
  }

  /** Whether every address of the record is in blocks that can be read. */
  hasAllRecorded(): boolean {
    return !hasOwnIpam(this.#call) || (this.#recorded ?? []).every((address) => this.#held.has(address));
  }

  /**
   * Whether nothing of the attachment can be in a damaged block. On etcd a record comes and goes with its addresses. Elsewhere they can be
   * counted at most.
   */
  isAll(): boolean {
    const { plugin, datastore, argsFault, config } = this.#call;
    if (!hasOwnIpam(this.#call)) return true;
    if (this.isRecorded) return this.hasAllRecorded();
    const endsWithRecord = plugin === "netplug" && !datastore.traits.recordsArePods && argsFault === undefined && !this.#isTaken;
    const { addresses } = toAddressSubject(this.#call);
    return endsWithRecord || this.#held.size >= Math.max(1, addresses.length > 0 ? addresses.length : config.ipam.families.length);
  }
}

interface Watched {
  readonly onRead: (query: Query, answer: unknown) => void;
  readonly beforeCommit: () => void;
}

/** The call's datastore, whose answers leave out blocks that cannot be read. */
function withoutDamaged({ datastore: inner, log }: Call, { onRead, beforeCommit }: Watched): Datastore {
  const reasons = new Map<string, string>();
  const onDamage = ({ cidr, node, reason, isAnswered }: Damage): void => {
    if (isAnswered) return;
    // Without the lists of blocks nobody knows what is free.
    if (cidr === undefined || node === undefined) throw new NetplugError("ioFailure", reason);
    const text = toPrefixText(cidr);
    if (!reasons.has(text)) log.warning(`block ${quote(text)} is left out`, { reason });
    reasons.set(text, reason);
  };
  const read: Datastore["read"] = async (queries, options) => {
    const answers = await inner.read(queries, { ...options, onDamage, damageOf: "blocks" });
    for (const [i, query] of queries.entries()) {
      const answer: unknown = answers[i];
      const cidr = query.type === "block-of-address" && answer !== undefined ? toPrefixText((answer as BlockRef).cidr) : "";
      const reason = reasons.get(cidr);
      if (reason !== undefined) throw new NetplugError("ioFailure", reason);
      onRead(query, answer);
    }
    return answers;
  };
  const commit: Datastore["commit"] = async (writes, { readOnConflict, ...options } = {}) => {
    beforeCommit();
    const result = await inner.commit(writes, options);
    if (result.committed) return result;
    // The mapped type cannot follow that no queries have no answers.
    return { committed: false, current: await read(readOnConflict ?? ([] as never), options) };
  };
  return {
    type: inner.type,
    traits: inner.traits,
    read,
    commit,
    watch: (options) => inner.watch(options),
    get requests() {
      return inner.requests;
    },
    close: () => inner.close(),
  };
}
