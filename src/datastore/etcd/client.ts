/** Requests to a cluster: which endpoint is asked, how long, and how often. */

import type { Backoff } from "../../lib/backoff.ts";
import { delayAfter } from "../../lib/backoff.ts";
import { NetplugError } from "../../lib/errors.ts";
import type { Clock, Files, Random } from "../../lib/ports.ts";
import type { EtcdConfig } from "../datastore-config.ts";
import { DEFAULT_ETCD_ENDPOINT } from "../datastore-config.ts";
import { Access } from "./access.ts";
import type { Endpoints } from "./endpoints.ts";
import { createEndpoints } from "./endpoints.ts";
import { EtcdFailure, isSurelyNotApplied, judge, STATUS } from "./failure.ts";
import { toFailure } from "./fetch-failure.ts";
import { withLiveness } from "./liveness.ts";
import type { Action, FailedTry } from "./messages.ts";
import { abortedError, failedError, lostCommitError } from "./messages.ts";
import type { ReadReply, ReadRequest, WriteReply, WriteRequest } from "./rpc.ts";
import type { ResolveSrv } from "./srv.ts";
import type { Target, Transport } from "./transport.ts";
import { TryLimit } from "./try-limit.ts";
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

/** An old token and the wrong transport. */
const MAX_REPAIRS = 2;

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
    const ends = AbortSignal.any([signal, connection.signal]);
    try {
      const { transport, target } = await this.#access.prepare(endpoint, ends);
      const replies = transport.watch(ranges, target)[Symbol.asyncIterator]();
      const probe = async (): Promise<void> => {
        using limit = new TryLimit(REQUEST_LIMIT_MS, ends);
        await transport.read(PROBE, { ...target, signal: limit.signal });
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
    const end = clock.monotonic() + REQUEST_LIMIT_MS;
    const endpoints = this.#endpoints ?? (await this.#findEndpoints());
    for (let round = 1; ; round++) {
      const tries: FailedTry[] = [];
      const order = endpoints.inOrder();
      for (const endpoint of order) {
        const leftMs = end - clock.monotonic();
        if (leftMs <= 0) throw failedError(action, tries, "try-elsewhere");
        if (round > 1 || tries.length > 0) this.requests.retries++;
        const mayFailOver = action === "read from" && tries.length < order.length - 1;
        const outcome = await this.#tryEndpoint(endpoint, mayFailOver ? Math.min(leftMs, TRY_LIMIT_MS) : leftMs, options, run);
        if ("value" in outcome) {
          endpoints.onSuccess(endpoint);
          return outcome.value;
        }
        endpoints.onFailure(endpoint);
        tries.push({ endpoint, failure: outcome.failure });
        throwIfFinal(action, tries, options.signal);
      }
      const delayMs = delayAfter(round, BETWEEN_ROUNDS, random);
      if (round >= roundsWorthTrying(tries) || delayMs >= end - clock.monotonic()) throw failedError(action, tries, "try-elsewhere");
      await clock.sleep(delayMs, options.signal).catch((reason: unknown) => {
        throw abortedError(action, reason);
      });
    }
  }

  /** Tries one endpoint; once more when all that is wrong is an old token or the wrong transport. */
  async #tryEndpoint<T>(endpoint: string, limitMs: number, options: CallOptions, run: Run<T>): Promise<Outcome<T>> {
    using limit = new TryLimit(limitMs, options.signal);
    for (let repairs = 0; ; repairs++) {
      try {
        const { transport, target } = await this.#access.prepare(endpoint, limit.signal);
        this.requests.roundTrips++;
        return { value: await run(transport, target) };
      } catch (thrown) {
        if (thrown instanceof NetplugError && !limit.signal.aborted) throw thrown;
        const failure = toFailure(thrown);
        if (repairs === MAX_REPAIRS || !(await this.#access.recover(failure))) return { failure };
        this.requests.retries++;
      }
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

/** @throws what makes another try senseless or dangerous, judged by the last one */
function throwIfFinal(action: Action, tries: readonly FailedTry[], signal: AbortSignal | undefined): void {
  const last = tries.at(-1);
  if (last === undefined) return;
  if (action === "commit to" && !isSurelyNotApplied(last.failure)) throw lostCommitError(last);
  if (signal?.aborted === true) throw abortedError(action, signal.reason);
  const verdict = judge(last.failure);
  if (verdict !== "try-elsewhere") throw failedError(action, [last], verdict);
}

/** A watch that the server ends carries the reason as text only. */
function toCancellation(reason: string): EtcdFailure {
  return new EtcdFailure(
    "refused",
    `watch canceled: ${reason}`,
    /permission ?denied/i.test(reason) ? STATUS.permissionDenied : STATUS.unavailable,
  );
}

function roundsWorthTrying(tries: readonly FailedTry[]): number {
  const reasons = tries.map(({ failure }) => failure.reason);
  if (reasons.every((reason) => reason === "untrusted")) return 1;
  return reasons.every((reason) => reason === "unreachable" || reason === "untrusted") ? ROUNDS_WHEN_UNREACHABLE : Infinity;
}
