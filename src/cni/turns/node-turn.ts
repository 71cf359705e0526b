/**
 * The turns in which the calls of a node change its blocks. An ADD that waits puts a request for its addresses into the queue; the call whose
 * turn it is allocates them in its own commit. So when many pods start together, most need no turn, and write no block.
 */

import type { NodeTurn, Queue, TurnWait } from "../../ipam/transact/node-turn.ts";
import type { QueuedRequests } from "../../linux/turns/queued-requests.ts";
import type { NetworkConfig } from "../config/network-config.ts";
import type { Host } from "../host.ts";

/** The queue behind a turn; disposed of when the turn's last commit is over, before the next turn begins. */
export type NodeQueue = Queue & Disposable;

/** The part of a call that a turn is about. */
interface NodeCall {
  readonly host: Pick<Host, "takeTurn">;
  readonly config: Pick<NetworkConfig, "ipamLockFile">;
  readonly datastoreKey: () => string;
  readonly workCount: number | undefined;
  readonly openQueue: (queue: QueuedRequests) => Promise<NodeQueue>;
}

/** @returns as `TurnPorts.takeTurn` says */
export async function takeNodeTurn(call: NodeCall, { stallMs, maxMs, request }: TurnWait): Promise<NodeTurn | undefined> {
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
  const queue = turn.queue === undefined ? undefined : held.use(await call.openQueue(turn.queue));
  const isReadOutdated = turn.workCount !== call.workCount;
  const all = held.move();
  return { queue, isReadOutdated, [Symbol.dispose]: () => all.dispose() };
}
