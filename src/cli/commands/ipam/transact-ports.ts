/** What address management needs of the world, from what a command has. */

import type { Datastore } from "../../../datastore/datastore.ts";
import type { TransactPorts } from "../../../ipam/transact/transact.ts";
import { startDeadline } from "../../../lib/deadline.ts";
import type { Cli } from "../../io.ts";

/** Longer than any ADD: nobody waits for a command but the person who gave it. */
const LIMIT_MS = 60_000;

/** For one operation, whose time begins now. */
export function toTransactPorts({ io }: Cli, datastore: Datastore): TransactPorts {
  return { datastore, clock: io.clock, random: io.random, deadline: startDeadline(io.clock, LIMIT_MS) };
}
