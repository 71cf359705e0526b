/**
 * The turns in which the calls of a node change its blocks. An ADD that waits says which addresses it wants; the call whose turn it is gives
 * them in its own commit. So of many pods that start together most need no turn, and no write of a block.
 */

import type { NodeTurn, TurnWait } from "../ipam/node-turn.ts";
import type { AddressRequest } from "../ipam/request.ts";
import type { Log } from "../lib/log.ts";
import type { LineRequest, LineRequests } from "../linux/turn.ts";
import type { NetworkConfig } from "./config/network-config.ts";
import type { Host } from "./host.ts";
import type * as codec from "./line-request.ts";

/** The part of a call that a turn is about. */
interface NodeCall {
  readonly host: Host;
  readonly config: NetworkConfig;
  readonly log: Log;
  readonly node: string;
  readonly datastoreKey: () => string;
}

type Codec = Pick<typeof codec, "toRequestText" | "parseRequest">;

/** @returns as `TurnPorts.takeTurn` says */
export async function takeNodeTurn(call: NodeCall, { waitMs, longestMs, ask }: TurnWait): Promise<NodeTurn | "met" | undefined> {
  const { host, config } = call;
  const loaded = ask === undefined ? undefined : await import("./line-request.ts");
  const request = (): string | undefined => {
    const wanted = ask?.();
    return wanted === undefined ? undefined : loaded?.toRequestText(wanted, call.datastoreKey());
  };
  const turn = await host.takeTurn(config.ipamLockFile, { waitMs, longestMs, request });
  if (turn === undefined) return undefined;
  if (turn.isMet) return "met";
  const { line } = turn;
  return {
    line: line === undefined ? undefined : toLine(call, line, loaded ?? (await import("./line-request.ts"))),
    isAfterMeeting: turn.metUntil !== undefined && turn.metUntil >= beginOf(call),
    [Symbol.dispose]: () => turn[Symbol.dispose](),
  };
}

function toLine(call: NodeCall, line: LineRequests, { parseRequest }: Codec): NodeTurn["line"] {
  const read = new Map<AddressRequest, LineRequest>();
  return {
    requests() {
      read.clear();
      for (const one of line.read()) {
        const request = parseRequest(one.text, call.datastoreKey());
        if (request?.owner.node === call.node) read.set(request, one);
      }
      return [...read.keys()];
    },
    tellMet(met) {
      line.tellMet(met.map((request) => read.get(request)).filter((one) => one !== undefined));
      call.log.debug("others in line got their addresses, too", { count: met.length });
    },
  };
}

/** When the call began, in milliseconds since the machine was started: it has read nothing before. */
function beginOf({ host: { clock, sinceBoot, processStart } }: NodeCall): number {
  return sinceBoot() - (clock.monotonic() - processStart());
}
