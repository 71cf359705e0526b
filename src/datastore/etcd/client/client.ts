/** Requests to a cluster: which endpoint is asked, how long, and how often. */

import type { Random } from "../../../lib/ports.ts";
import { DEFAULT_ETCD_ENDPOINT, type EtcdConfig } from "../../config/datastore-config.ts";
import { EtcdFailure, STATUS } from "../protocol/failure.ts";
import type { ReadReply, ReadRequest, WriteReply, WriteRequest } from "../protocol/rpc.ts";
import type { WatchRange, WatchReply } from "../protocol/watch-rpc.ts";
import { Access, type AccessPorts, type RequestCounts, type Run } from "./access.ts";
import type { Call } from "./after-failure.ts";
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

/** What comes of asking each endpoint once: an answer, or a failure of each. */
type Round<T> = { readonly answer: T } | { readonly failed: readonly FailedTry[] };

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

  /** None, too, where only root may ask. @see Transport.alarms */
  alarms(options: CallOptions): Promise<readonly string[]> {
    return this.#call("read from", options, (transport, target) => transport.alarms(target).catch(noneIfDenied));
  }

  /**
   * Watches at one endpoint until the connection ends; the next call takes another. A server that falls silent is asked now and then
   * whether it still lives.
   *
   * @throws NetplugError
   */
  async *watch(ranges: readonly WatchRange[], signal: AbortSignal): AsyncIterable<WatchReply> {
    const endpoints = this.#knownEndpoints() ?? (await this.#discoverEndpoints("watch", signal));
    const { watchOneEndpoint } = await import("./watch.ts");
    const connections = { access: this.#access, endpoints, clock: this.#ports.clock, requestMs: this.#limits.requestMs };
    yield* watchOneEndpoint(connections, ranges, signal);
  }

  close(): void {
    this.#access.close();
  }

  /** Round after round over all endpoints, until one can do it or it makes no sense to go on. */
  async #call<T>(action: Action, { signal }: CallOptions, run: Run<T>): Promise<T> {
    const call: Call = { action, signal, endMs: this.#ports.clock.monotonic() + this.#limits.requestMs };
    const endpoints = this.#knownEndpoints() ?? (await this.#discoverEndpoints(action, signal));
    for (let number = 1; ; number++) {
      const round = await this.#askEach(endpoints, call, run, number > 1);
      if ("answer" in round) return round.answer;
      const { waitForNextRound } = await afterFailure();
      await waitForNextRound(call, { number, tries: round.failed }, this.#ports);
    }
  }

  /**
   * Asks one endpoint after the other, until one answers.
   *
   * @param isAgain whether they were asked before: then the first one is a retry, too
   * @throws NetplugError when the call is over, or ends with a failure
   */
  async #askEach<T>(endpoints: Endpoints, call: Call, run: Run<T>, isAgain: boolean): Promise<Round<T>> {
    const { action, signal, endMs } = call;
    const failed: FailedTry[] = [];
    const order = endpoints.inOrder();
    for (const endpoint of order) {
      const leftMs = endMs - this.#ports.clock.monotonic();
      if (signal?.aborted === true) throw (await errors()).abortedError(action, signal.reason);
      if (leftMs <= 0) throw (await errors()).failedError(action, failed, "try-elsewhere");
      if (isAgain || failed.length > 0) this.requests.retries++;
      // A commit that got no answer may have been applied, and is sent to no other: so it has all the time.
      const leavesTime = action === "read from" && failed.length < order.length - 1;
      using limit = new TryLimit(leavesTime ? Math.min(leftMs, this.#limits.tryMs) : leftMs, signal);
      try {
        const answer = await this.#access.call(endpoint, limit.signal, run);
        endpoints.onSuccess(endpoint);
        return { answer };
      } catch (failure) {
        if (!(failure instanceof EtcdFailure)) throw failure;
        endpoints.onFailure(endpoint);
        failed.push({ endpoint, failure });
        (await afterFailure()).throwIfFinal(call, { endpoint, failure });
      }
    }
    return { failed };
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

  async #discoverEndpoints(action: Action, signal: AbortSignal | undefined): Promise<Endpoints> {
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

/** No failure, which would be looked into. */
function noneIfDenied(thrown: unknown): readonly string[] {
  if (thrown instanceof EtcdFailure && thrown.status === STATUS.permissionDenied) return [];
  throw thrown;
}

/** Only calls that fail need them. */
const errors = () => import("./errors.ts");
const afterFailure = () => import("./after-failure.ts");
