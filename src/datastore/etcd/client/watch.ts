/** A watch at one endpoint, from its first reply until the connection ends. Loaded by those who watch; no call of the plugin does. */

import { NetplugError } from "../../../lib/errors.ts";
import type { Clock } from "../../../lib/ports.ts";
import { DEFAULT_ETCD_ENDPOINT } from "../../config/datastore-config.ts";
import { classify, EtcdFailure, type FailureClass, STATUS } from "../protocol/failure.ts";
import type { ReadRequest } from "../protocol/rpc.ts";
import type { WatchRange, WatchReply } from "../protocol/watch-rpc.ts";
import { toFailure } from "../wire/fetch-failure.ts";
import type { Access } from "./access.ts";
import type { Endpoints } from "./endpoints.ts";
import { withLiveness } from "./liveness.ts";
import { failedError } from "./errors.ts";
import { TryLimit } from "./try-limit.ts";

/** What a watch needs of its client. */
export interface Connections {
  readonly access: Access;
  readonly endpoints: Endpoints;
  readonly clock: Clock;
  /** Milliseconds until the first reply, and until the answer to a probe. */
  readonly requestMs: number;
}

/** The cheapest request that needs a healthy member with a leader. */
const PROBE: ReadRequest = { ranges: [{ key: "/netplug/", countOnly: true }] };

/** Watches at the endpoint whose turn it is. @throws NetplugError */
export async function* watchOneEndpoint(
  connections: Connections,
  ranges: readonly WatchRange[],
  signal: AbortSignal,
): AsyncIterable<WatchReply> {
  const { endpoints } = connections;
  const endpoint = endpoints.inOrder()[0] ?? DEFAULT_ETCD_ENDPOINT;
  const connection = new AbortController();
  let hasBegun = false;
  try {
    const replies = await startWatch(connections, { endpoint, ranges, signal }, connection);
    hasBegun = true;
    endpoints.onSuccess(endpoint);
    for await (const reply of replies) {
      throwIfRefused(reply);
      yield reply;
    }
  } catch (thrown) {
    if (thrown instanceof NetplugError) throw thrown;
    const failure = await explained(toFailure(thrown), connections.access, endpoint);
    endpoints.onFailure(endpoint);
    const failureClass = classify(failure);
    throw failedError("watch", [{ endpoint, failure }], hasBegun && isFixedByReconnect(failureClass) ? "try-elsewhere" : failureClass);
  } finally {
    connection.abort();
  }
}

/** That of its first reply is explained already. */
async function explained(failure: EtcdFailure, access: Access, endpoint: string): Promise<EtcdFailure> {
  if (failure.advice !== undefined) return failure;
  return await access.explain(endpoint, failure).catch(() => failure); // files that nobody can read now are told by the next connection
}

interface Wanted {
  readonly endpoint: string;
  readonly ranges: readonly WatchRange[];
  readonly signal: AbortSignal;
}

/** Waits for the first reply, then passes on all of them. */
async function startWatch(
  { access, clock, requestMs }: Connections,
  { endpoint, ranges, signal }: Wanted,
  connection: AbortController,
): Promise<AsyncIterable<WatchReply>> {
  using limit = new TryLimit(requestMs, signal);
  limit.signal.addEventListener("abort", () => connection.abort(limit.signal.reason));
  const ends = AbortSignal.any([signal, connection.signal]);
  return await access.call(endpoint, limit.signal, async (transport, target) => {
    const replies = transport.watch(ranges, { ...target, signal: ends })[Symbol.asyncIterator]();
    const probe = async (): Promise<void> => {
      using probeLimit = new TryLimit(requestMs, ends);
      // With a token of its own: that of the watch may have expired, although the watch goes on.
      await access.call(endpoint, probeLimit.signal, (current, currentTarget) => current.read(PROBE, currentTarget));
    };
    const first = await replies.next();
    if (first.done !== true) throwIfRefused(first.value); // inside the call, which repairs an old token
    return withLiveness(first, replies, clock, probe);
  });
}

/** Whether the start of the next connection repairs the failure, by a new log-in or another transport. */
function isFixedByReconnect(failureClass: FailureClass): boolean {
  return failureClass === "log-in-again" || failureClass === "needs-user" || failureClass === "use-grpc";
}

/** @throws EtcdFailure for a watch that the server ends; its reason is text only */
function throwIfRefused({ canceled, compacted, cancelReason }: WatchReply): void {
  if (!canceled || compacted) return;
  const status = /permission ?denied/i.test(cancelReason) ? STATUS.permissionDenied : STATUS.unavailable;
  throw new EtcdFailure("refused", `watch canceled: ${cancelReason}`, status);
}
