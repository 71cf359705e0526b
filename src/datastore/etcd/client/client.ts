/** Requests to a cluster: which endpoint is asked, how long, and how often. */

import { type Backoff, delayAfter } from "../../../lib/backoff.ts";
import type { Random } from "../../../lib/ports.ts";
import { DEFAULT_ETCD_ENDPOINT, type EtcdConfig } from "../../config/datastore-config.ts";
import { classify, EtcdFailure, isSurelyNotApplied } from "../protocol/failure.ts";
import type { ReadReply, ReadRequest, WriteReply, WriteRequest } from "../protocol/rpc.ts";
import type { WatchRange, WatchReply } from "../protocol/watch-rpc.ts";
import { Access, type AccessPorts, type RequestCounts, type Run } from "./access.ts";
import { createEndpoints, type Endpoints, shuffle } from "./endpoints.ts";
import type { Action, FailedTry } from "./errors.ts";
import type { ResolveSrv } from "./srv.ts";
import { TryLimit } from "./try-limit.ts";

/** What the client touches of the outside world. */
export interface EtcdPorts extends AccessPorts {
  readonly random: Random;
  /** Looks up SRV records; the system's resolver when absent. */
  readonly resolveSrv?: ResolveSrv;
  /** @default {@link REQUEST_LIMITS} */
  readonly limits?: RequestLimits;
}

/** How long is waited, in milliseconds. */
export interface RequestLimits {
  /** For one request with all its tries. */
  readonly requestMs: number;
  /** For one try of a read while other endpoints are left. */
  readonly tryMs: number;
}

/** How long a request may take with all its tries, and one try of it. */
export const REQUEST_LIMITS: RequestLimits = { requestMs: 5_000, tryMs: 1_500 };

/** Of one request: aborted by the caller, it ends before its own limit. */
export interface CallOptions {
  readonly signal?: AbortSignal | undefined;
}

/** An election takes one to two seconds; a server that restarts is back sooner or much later. */
const ROUND_BACKOFF: Backoff = { firstMs: 50, maxMs: 800 };

/** Milliseconds; with less time left, no further round, which would only replace the last failure by a timeout. */
const LEAST_ROUND_MS = 250;

/** Rounds after which unreachable servers count as down. */
const ROUNDS_WHEN_UNREACHABLE = 3;

/** An etcd cluster, reached by whichever of its endpoints answers. */
export class EtcdClient {
  readonly requests: RequestCounts = { roundTrips: 0, retries: 0 };
  readonly #config: EtcdConfig;
  readonly #ports: EtcdPorts;
  readonly #limits: RequestLimits;
  readonly #access: Access;
  #endpoints: Endpoints | undefined;

  /** @param config checked and with normalised endpoints */
  constructor(config: EtcdConfig, ports: EtcdPorts) {
    this.#config = config;
    this.#ports = ports;
    this.#limits = ports.limits ?? REQUEST_LIMITS;
    this.#access = new Access(config, ports, this.requests);
  }

  read(request: ReadRequest, options: CallOptions): Promise<ReadReply> {
    return this.#call("read from", options, (transport, target) => transport.read(request, target));
  }

  write(request: WriteRequest, options: CallOptions): Promise<WriteReply> {
    return this.#call("commit to", options, (transport, target) => transport.write(request, target));
  }

  /** @see Transport.alarms */
  alarms(options: CallOptions): Promise<readonly string[]> {
    return this.#call("read from", options, (transport, target) => transport.alarms(target));
  }

  /**
   * Watches at one endpoint until the connection ends; the next call takes another. A server that falls silent is asked now and then
   * whether it still lives.
   *
   * @throws NetplugError
   */
  async *watch(ranges: readonly WatchRange[], signal: AbortSignal): AsyncIterable<WatchReply> {
    const endpoints = await this.#findEndpoints("watch", signal);
    const { watchOneEndpoint } = await import("./watch.ts");
    const connections = { access: this.#access, endpoints, clock: this.#ports.clock, requestMs: this.#limits.requestMs };
    yield* watchOneEndpoint(connections, ranges, signal);
  }

  close(): void {
    this.#access.close();
  }

  /** Round after round over all endpoints, until one can do it or it makes no sense to go on. */
  async #call<T>(action: Action, options: CallOptions, run: Run<T>): Promise<T> {
    const { clock, random } = this.#ports;
    const end = clock.monotonic() + this.#limits.requestMs;
    const endpoints = this.#knownEndpoints() ?? (await this.#findEndpoints(action, options.signal));
    for (let round = 1; ; round++) {
      const tries: FailedTry[] = [];
      const order = endpoints.inOrder();
      for (const endpoint of order) {
        const leftMs = end - clock.monotonic();
        if (options.signal?.aborted === true) throw (await errors()).abortedError(action, options.signal.reason);
        if (leftMs <= 0) throw (await errors()).failedError(action, tries, "try-elsewhere");
        if (round > 1 || tries.length > 0) this.requests.retries++;
        const mayFailOver = action === "read from" && tries.length < order.length - 1;
        using limit = new TryLimit(mayFailOver ? Math.min(leftMs, this.#limits.tryMs) : leftMs, options.signal);
        try {
          const value = await this.#access.call(endpoint, limit.signal, run);
          endpoints.onSuccess(endpoint);
          return value;
        } catch (failure) {
          if (!(failure instanceof EtcdFailure)) throw failure;
          endpoints.onFailure(endpoint);
          tries.push({ endpoint, failure });
          await throwIfFinal(action, tries, options.signal);
        }
      }
      const isTooLateIn = (ms: number): boolean => clock.monotonic() + ms + LEAST_ROUND_MS > end;
      const delayMs = delayAfter(round, ROUND_BACKOFF, random);
      if (round >= roundsWorthTrying(tries) || isTooLateIn(delayMs)) throw (await errors()).failedError(action, tries, "try-elsewhere");
      await clock.sleep(delayMs, options.signal).catch(async (reason: unknown) => {
        throw (await errors()).abortedError(action, reason);
      });
      if (isTooLateIn(0)) throw (await errors()).failedError(action, tries, "try-elsewhere");
    }
  }

  /** Those of the config, or those that were discovered and of which one still answers. */
  #knownEndpoints(): Endpoints | undefined {
    const { endpoints, discoverySrv } = this.#config;
    if (discoverySrv === undefined) {
      this.#endpoints ??= createEndpoints(endpoints.length === 0 ? [DEFAULT_ETCD_ENDPOINT] : shuffle(endpoints, this.#ports.random));
      return this.#endpoints;
    }
    return this.#endpoints?.haveAllFailed === false ? this.#endpoints : undefined;
  }

  async #findEndpoints(action: Action, signal: AbortSignal | undefined): Promise<Endpoints> {
    const known = this.#knownEndpoints();
    if (known !== undefined) return known;
    using limit = new TryLimit(this.#limits.requestMs, signal);
    const { discover } = await import("./srv.ts");
    const { random, resolveSrv } = this.#ports;
    const { discoverySrv = "", caCertFile, certFile, keyFile } = this.#config;
    const wantsTls = [caCertFile, certFile, keyFile].some((file) => file !== undefined);
    try {
      const urls = await discover(discoverySrv, { random, resolveSrv, wantsTls, signal: limit.signal });
      this.#endpoints = createEndpoints(urls);
      return this.#endpoints;
    } catch (thrown) {
      if (signal?.aborted === true) throw (await errors()).abortedError(action, signal.reason);
      throw thrown;
    }
  }
}

/** Only calls that fail need them. */
const errors = () => import("./errors.ts");

/** @throws what makes another try senseless or dangerous, told by the last one */
async function throwIfFinal(action: Action, tries: readonly FailedTry[], signal: AbortSignal | undefined): Promise<void> {
  const last = tries.at(-1);
  if (last === undefined) return;
  const { abortedError, failedError, lostCommitError } = await errors();
  if (action === "commit to" && !isSurelyNotApplied(last.failure)) throw lostCommitError(last);
  if (signal?.aborted === true) throw abortedError(action, signal.reason);
  const failureClass = classify(last.failure);
  if (failureClass !== "try-elsewhere") throw failedError(action, [last], failureClass);
}

function roundsWorthTrying(tries: readonly FailedTry[]): number {
  const reasons = tries.map(({ failure }) => failure.reason);
  if (reasons.every((reason) => reason === "untrusted")) return 1;
  return reasons.every((reason) => reason === "unreachable" || reason === "untrusted") ? ROUNDS_WHEN_UNREACHABLE : Infinity;
}
