/**
 * The turns in which the calls of a node change its blocks. An ADD that waits puts a request for its addresses into the queue; the call whose
 * turn it is allocates them in its own commit. So when many pods start together, most need no turn, and write no block.
 */

import type { NodeTurn, TurnWait } from "../../ipam/transact/node-turn.ts";
import type { Call } from "../call.ts";

/** @returns as `TurnPorts.takeTurn` says */
export async function takeNodeTurn(call: Call, { stallMs, maxMs, request }: TurnWait): Promise<NodeTurn | undefined> {
  const { host, config } = call;
  const codec = request === undefined ? undefined : await import("./request-text.ts");
  const requestText = (): string | undefined => {
    const wanted = request?.();
    return wanted === undefined ? undefined : codec?.toRequestText(wanted, call.datastoreKey());
  };
  const turn = await host.takeTurn(config.ipamLockFile, { stallMs, maxMs, request: requestText });
  if (turn === undefined || turn === "served") return undefined;
  using held = new DisposableStack();
  held.use(turn);
  const queue = turn.queue === undefined ? undefined : held.use((await import("./node-queue.ts")).openNodeQueue(call, turn.queue));
  const isReadOutdated = turn.workCount !== call.workCount;
  const all = held.move();
  return { queue, isReadOutdated, [Symbol.dispose]: () => all.dispose() };
}
