/** Requests to a cluster: which endpoint is asked, how long, and how often. */

import type { Backoff } from "../../lib/backoff.ts";
import { delayAfter } from "../../lib/backoff.ts";
import type { Deadline } from "../../lib/deadline.ts";
import { startDeadline } from "../../lib/deadline.ts";
import { NetplugError } from "../../lib/errors.ts";
import type { Clock, Files, Random } from "../../lib/ports.ts";
import type { EtcdConfig } from "../datastore-config.ts";
import { DEFAULT_ETCD_ENDPOINT } from "../datastore-config.ts";
import { Access } from "./access.ts";
import type { Endpoints } from "./endpoints.ts";
import { createEndpoints } from "./endpoints.ts";
import { EtcdFailure, isSurelyNotApplied, judge, STATUS } from "./failure.ts";
import { toFailure } from "./fetch-failure.ts";
import type { Action, FailedTry } from "./messages.ts";
import { abortedError, failedError, lostCommitError } from "./messages.ts";
import type { ReadReply, ReadRequest, WriteReply, WriteRequest } from "./rpc.ts";
import type { ResolveSrv } from "./srv.ts";
import type { Target, Transport } from "./transport.ts";
import { withLiveness } from "./liveness.ts";
import type { WatchRange, WatchReply } from "./watch-rpc.ts";

export interface EtcdPorts {
  readonly clock: Clock;
  readonly random: Random;
  readonly files: Files;
  /** Looks up SRV records; the system's resolver when absent. */
  readonly resolveSrv?: ResolveSrv;
}

export interface CallOptions {
  readonly signal?: AbortSignal | undefined;
}

/** Limit for one request with all its tries, in milliseconds. */
export const REQUEST_LIMIT_MS = 5_000;

/** Limit for one try of a read while other endpoints are left, in milliseconds. */
const TRY_LIMIT_MS = 1_500;

/** The cheapest request that needs a healthy member with a leader. */
const PROBE: ReadRequest = { ranges: [{ key: "/netplug/", countOnly: true }] };

/** An election takes one to two seconds; a server that restarts is back sooner or much later. */
const BETWEEN_ROUNDS: Backoff = { firstMs: 50, maxMs: 800 };

/** After so many rounds we believe that servers that are not there stay away. */
const ROUNDS_WHEN_UNREACHABLE = 3;

type Outcome<T> = { readonly value: T } | { readonly failure: EtcdFailure };
type Run<T> = (transport: Transport, target: Target) => Promise<T>;

/** An etcd cluster, reached by whichever of its endpoints answers. */
export class EtcdClient {
  readonly requests = { roundTrips: 0, retries: 0 };
  readonly #config: EtcdConfig;
  readonly #ports: EtcdPorts;
  readonly #access: Access;
  #endpoints: Endpoints | undefined;

  /** @param config checked and with normalised endpoints */
  constructor(config: EtcdConfig, ports: EtcdPorts) {
    this.#config = config;
    this.#ports = ports;
    this.#access = new Access(config, ports, () => this.requests.roundTrips++);
  }

  read(request: ReadRequest, options: CallOptions): Promise<ReadReply> {
    return this.#call("read from", options, (transport, target) => transport.read(request, target));
  }

  write(request: WriteRequest, options: CallOptions): Promise<WriteReply> {
    return this.#call("commit to", options, (transport, target) => transport.write(request, target));
  }

  /**
   * Watches at one endpoint until the connection ends; the next call takes another. A server that falls silent is asked now and then
   * whether it still lives.
   *
   * @throws NetplugError
   */
  async *watch(ranges: readonly WatchRange[], signal: AbortSignal): AsyncIterable<WatchReply> {
    const endpoints = await this.#findEndpoints();
    const endpoint = endpoints.inOrder()[0] ?? DEFAULT_ETCD_ENDPOINT;
    const connection = new AbortController();
    const target = AbortSignal.any([signal, connection.signal]);
    try {
      const deadline = startDeadline(this.#ports.clock, REQUEST_LIMIT_MS);
      const prepared = await deadline.wait("an answer", () => this.#access.prepare(endpoint, target), { signal });
      const replies = prepared.transport.watch(ranges, prepared.target)[Symbol.asyncIterator]();
      const probe = async (): Promise<void> => {
        const options = { limitMs: REQUEST_LIMIT_MS, signal };
        const { transport, target: probed } = prepared;
        await startDeadline(this.#ports.clock, REQUEST_LIMIT_MS).wait("an answer", (ends) => transport.read(PROBE, { ...probed, signal: ends }), options);
      };
      for await (const reply of withLiveness(replies, this.#ports.clock, probe)) {
        if (reply.canceled && !reply.compacted) throw toCancellation(reply.cancelReason);
        yield reply;
      }
    } catch (thrown) {
      if (thrown instanceof NetplugError && thrown.kind !== "tryAgainLater") throw thrown;
      const failure = toFailure(thrown);
      endpoints.onFailure(endpoint);
      if (await this.#access.recover(failure)) return;
      throw failedError("watch", [{ endpoint, failure }], judge(failure));
    } finally {
      connection.abort();
    }
  }

  close(): void {
    this.#access.close();
  }

  /** Round after round over all endpoints, until one can do it or it makes no sense to go on. */
  async #call<T>(action: Action, options: CallOptions, run: Run<T>): Promise<T> {
    const { clock, random } = this.#ports;
    const deadline = startDeadline(clock, REQUEST_LIMIT_MS);
    const endpoints = await this.#findEndpoints();
    for (let round = 1; ; round++) {
      const tries: FailedTry[] = [];
      const order = endpoints.inOrder();
      for (const endpoint of order) {
        if (round > 1 || tries.length > 0) this.requests.retries++;
        const mayFailOver = action === "read from" && tries.length < order.length - 1;
        const outcome = await this.#tryEndpoint(endpoint, deadline, mayFailOver ? TRY_LIMIT_MS : REQUEST_LIMIT_MS, options, run);
        if ("value" in outcome) {
          endpoints.onSuccess(endpoint);
          return outcome.value;
        }
        const failed = { endpoint, failure: outcome.failure };
        endpoints.onFailure(endpoint);
        if (action === "commit to" && !isSurelyNotApplied(failed.failure)) throw lostCommitError(failed);
        if (options.signal?.aborted === true) throw abortedError(action, options.signal.reason);
        const verdict = judge(failed.failure);
        if (verdict !== "try-elsewhere") throw failedError(action, [failed], verdict);
        tries.push(failed);
      }
      const delayMs = delayAfter(round, BETWEEN_ROUNDS, random);
      if (round >= roundsWorthTrying(tries) || delayMs >= deadline.remainingMs()) throw failedError(action, tries, "try-elsewhere");
      await clock.sleep(delayMs, options.signal).catch((reason: unknown) => {
        throw abortedError(action, reason);
      });
    }
  }

  /** Tries one endpoint; once more when all that is wrong is an old token or the wrong transport. */
  async #tryEndpoint<T>(endpoint: string, deadline: Deadline, limitMs: number, options: CallOptions, run: Run<T>): Promise<Outcome<T>> {
    let outcome = await this.#tryOnce(endpoint, deadline, limitMs, options, run);
    for (let repairs = 0; repairs < 2 && "failure" in outcome && (await this.#access.recover(outcome.failure)); repairs++) {
      this.requests.retries++;
      outcome = await this.#tryOnce(endpoint, deadline, limitMs, options, run);
    }
    return outcome;
  }

  async #tryOnce<T>(endpoint: string, deadline: Deadline, limitMs: number, { signal }: CallOptions, run: Run<T>): Promise<Outcome<T>> {
    try {
      const attempt = async (tryEnds: AbortSignal): Promise<T> => {
        const { transport, target } = await this.#access.prepare(endpoint, tryEnds);
        this.requests.roundTrips++;
        return await run(transport, target);
      };
      return { value: await deadline.wait("an answer", attempt, signal === undefined ? { limitMs } : { limitMs, signal }) };
    } catch (thrown) {
      if (thrown instanceof NetplugError && thrown.kind !== "tryAgainLater") throw thrown;
      return { failure: toFailure(thrown) };
    }
  }

  async #findEndpoints(): Promise<Endpoints> {
    if (this.#endpoints === undefined) {
      const { discoverySrv, endpoints } = this.#config;
      let urls = endpoints.length > 0 ? endpoints : [DEFAULT_ETCD_ENDPOINT];
      if (discoverySrv !== undefined) {
        const { discover } = await import("./srv.ts");
        urls = await discover(discoverySrv, this.#ports.resolveSrv);
      }
      this.#endpoints = createEndpoints(urls, this.#ports.random);
    }
    return this.#endpoints;
  }
}

/** A watch that the server ends carries the reason as text only. */
function toCancellation(reason: string): EtcdFailure {
  return new EtcdFailure("refused", `watch canceled: ${reason}`, /permission ?denied/i.test(reason) ? STATUS.permissionDenied : STATUS.unavailable);
}

function roundsWorthTrying(tries: readonly FailedTry[]): number {
  const reasons = tries.map(({ failure }) => failure.reason);
  if (reasons.every((reason) => reason === "untrusted")) return 1;
  return reasons.every((reason) => reason === "unreachable" || reason === "untrusted") ? ROUNDS_WHEN_UNREACHABLE : Infinity;
}
