/** A call's datastore, time and turns, as the loop of `ipam/` takes them. */

import type { Query } from "../datastore/datastore.ts";
import type { Facts } from "../ipam/facts.ts";
import { readFacts, type TransactPorts } from "../ipam/transact/transact.ts";
import { type Call, hasOwnIpam } from "./call.ts";
import { takeNodeTurn } from "./turns/node-turn.ts";

/** For `transact()` and `readFacts()`. Lists may be a moment old: a caller that needs the newest sets `mayLag` to false. */
export function transactPortsOf(call: Call): TransactPorts {
  const { datastore, host, deadline, prefetch } = call;
  return {
    datastore,
    clock: host.clock,
    random: host.random,
    deadline,
    takeTurn: (wait) => takeNodeTurn(call, wait),
    mayLag: true,
    // Where a delegate gives the addresses, the next ADD has nothing to prefetch.
    savePrefetch: hasOwnIpam(call) ? prefetch.save : undefined,
  };
}

/**
 * The queries that the node's last ADD saved for this one of `netplug`. None where the ADD waits for gates, because the answers would be old by
 * then; and none where a delegate gives the addresses: pools are not needed then, and perhaps must not be read.
 */
export function loadPrefetch(call: Call): readonly Query[] {
  const { config, prefetch } = call;
  return hasOwnIpam(call) && config.readinessGates.length === 0 ? prefetch.load() : [];
}

/** Sends the queries before the loop begins. A failure is thrown where the answers are awaited. */
export function beginReading(call: Call, queries: readonly Query[]): Promise<Facts> {
  const reading = call.ledger.time("datastore", () => readFacts(transactPortsOf(call), queries));
  reading.catch(() => {});
  return reading;
}
