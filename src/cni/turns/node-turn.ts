/**
 * The turns in which the calls of a node change its blocks. An ADD that waits says which addresses it wants; the call whose turn it is gives
 * them in its own commit. So of many pods that start together most need no turn, and no write of a block.
 */

import type { NodeTurn, Queue, TurnWait } from "../../ipam/node-turn.ts";
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
export async function takeNodeTurn(call: NodeCall, { waitMs, longestMs, ask }: TurnWait): Promise<NodeTurn | "served" | undefined> {
  const { host, config } = call;
  const codec = ask === undefined ? undefined : await import("./request-text.ts");
  const request = (): string | undefined => {
    const wanted = ask?.();
    return wanted === undefined ? undefined : codec?.toRequestText(wanted, call.datastoreKey());
  };
  const turn = await host.takeTurn(config.ipamLockFile, { waitMs, longestMs, request });
  if (turn === undefined || turn === "served") return turn;
  using held = new DisposableStack();
  held.use(turn);
  const queue = turn.queue === undefined ? undefined : held.use(await call.openQueue(turn.queue));
  const isReadOutdated = turn.workCount !== call.workCount;
  const all = held.move();
  return { queue, isReadOutdated, [Symbol.dispose]: () => all.dispose() };
}
