/** For tests: what the store operations of address management need, with the machine's own clock and randomness. */

import type { Datastore } from "../../../src/datastore/datastore.ts";
import type { TransactPorts } from "../../../src/ipam/transact/transact.ts";
import { systemClock } from "../../../src/lib/clock.ts";
import { startDeadline } from "../../../src/lib/deadline.ts";
import { systemRandom } from "../../../src/lib/random.ts";

/** With half a minute from now. @param agoMs how long ago it happens, by what is recorded */
export function systemPorts(datastore: Datastore, agoMs = 0): TransactPorts {
  const clock = { ...systemClock, now: () => systemClock.now() - agoMs };
  return { datastore, clock, random: systemRandom, deadline: startDeadline(systemClock, 30_000) };
}
