/** Leader election: work that only one of several processes may do at a time. */

import { messageOf, NetplugError } from "../lib/errors.ts";
import type { Clock, Random } from "../lib/ports.ts";
import type { KubeClient } from "./client.ts";
import { isKubeError } from "./kube-error.ts";
import type { KubeObject, ObjectName } from "./kube-object.ts";
import { toNameText } from "./kube-object.ts";
import { toMicroTime } from "./micro-time.ts";
import type { CallOptions } from "./request.ts";
import type { ResourceType } from "./resource-type.ts";

/** @see k8s.io/api coordination/v1 */
export interface Lease extends KubeObject {
  readonly spec?: {
    /** The process that may work now; absent or "": none. */
    readonly holderIdentity?: string;
    readonly leaseDurationSeconds?: number;
    readonly acquireTime?: string;
    readonly renewTime?: string;
    /** How often it has changed hands. */
    readonly leaseTransitions?: number;
  };
}

/** Where the API server serves leases. */
const LEASES: ResourceType<Lease> = {
  group: "coordination.k8s.io",
  version: "v1",
  plural: "leases",
  kind: "Lease",
  isNamespaced: true,
};

/** Which lease, who wants it, and for how long it is held without a renewal. */
export interface LeaseOptions {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly random: Random;
  readonly lease: ObjectName & { readonly namespace: string };
  /** Unique among all that want it, also after a restart. */
  readonly identity: string;
  /** After how long without a renewal others may take it. @default 15000 */
  readonly durationMs?: number;
  /** For how long the holder tries to renew it before it stops its work; less than the duration. @default 10000 */
  readonly renewLimitMs?: number;
  /** Between two looks at it. @default 2000 */
  readonly periodMs?: number;
  /** Ends the waiting or the work. */
  readonly signal: AbortSignal;
  /** Called when an attempt to take or renew it fails. */
  readonly onError?: (message: string) => void;
}

/** A lease as we last saw it, and when we first saw this state, by our own clock: the holder's may differ. */
interface Observation {
  readonly lease: Lease | undefined;
  readonly since: number;
}

/**
 * Waits for the lease, then works while it is held; gives it up when the work ends.
 *
 * @param work must end soon after its signal aborts, which it does when the lease is lost or the caller's signal aborts
 * @returns what `work` returns; undefined when the caller's signal aborts before the lease is held
 * @throws NetplugError tryAgainLater when the lease is lost, after `work` has ended; else what `work` throws
 */
export async function withLease<T>(options: LeaseOptions, work: (signal: AbortSignal) => Promise<T>): Promise<T | undefined> {
  const elector = new Elector(options);
  const heldSince = await elector.acquire();
  if (heldSince === undefined) return undefined;
  const lost = new AbortController();
  const ended = new AbortController();
  const renewing = elector.renewUntil(ended.signal, heldSince).catch((reason: unknown) => lost.abort(reason));
  try {
    const result = await work(AbortSignal.any([options.signal, lost.signal]));
    lost.signal.throwIfAborted();
    return result;
  } catch (thrown) {
    lost.signal.throwIfAborted();
    throw thrown;
  } finally {
    ended.abort();
    await renewing;
    if (!lost.signal.aborted) await elector.release();
  }
}

class Elector {
  readonly #options: LeaseOptions;
  readonly #durationMs: number;
  readonly #renewLimitMs: number;
  readonly #periodMs: number;
  #seen: Observation = { lease: undefined, since: 0 };

  constructor(options: LeaseOptions) {
    const { durationMs = 15_000, renewLimitMs = 10_000, periodMs = 2_000 } = options;
    this.#options = options;
    this.#durationMs = durationMs;
    this.#renewLimitMs = renewLimitMs;
    this.#periodMs = periodMs;
  }

  /** @returns since when it is ours, by the monotonic clock; undefined when the caller's signal aborts first: then it is given up */
  async acquire(): Promise<number | undefined> {
    const { signal, clock, random } = this.#options;
    while (!signal.aborted) {
      const startedAt = clock.monotonic();
      const isOurs = await this.#attempt(this.#renewLimitMs, signal);
      if (isOurs && !signal.aborted) return startedAt;
      if (isOurs) await this.release();
      await clock.sleep(this.#periodMs * (1 + random() / 5), signal).catch(() => undefined);
    }
    return undefined;
  }

  /**
   * The caller's signal does not end it: after that the work still needs the lease, until it has ended. Nor does `ended` a renewal that is under
   * way, because a lease is given up by the revision that the renewal makes.
   *
   * @param heldSince what {@link acquire} said
   * @throws NetplugError tryAgainLater when it could not be renewed in time
   */
  async renewUntil(ended: AbortSignal, heldSince: number): Promise<void> {
    const { clock, lease } = this.#options;
    // Counted from before the request: others count from when the server carried it out, which is later.
    let renewedAt = heldSince;
    const leftMs = (): number => Math.max(0, this.#renewLimitMs - (clock.monotonic() - renewedAt));
    for (;;) {
      await clock.sleep(Math.min(this.#periodMs, leftMs()), ended).catch(() => undefined);
      if (ended.aborted) return;
      const startedAt = clock.monotonic();
      if (leftMs() > 0 && (await this.#attempt(leftMs()))) renewedAt = startedAt;
      else if (this.#isTaken() || leftMs() === 0) {
        const why = this.#isTaken() ? "another has it" : "not renewed in time";
        throw new NetplugError("tryAgainLater", `hold lease "${toNameText(lease)}": ${why}`);
      }
    }
  }

  /** Lets another take it at once. Failing to do so only makes the others wait. */
  async release(): Promise<void> {
    const { client, identity } = this.#options;
    const { lease } = this.#seen;
    if (lease === undefined || lease.spec?.holderIdentity !== identity) return;
    const spec = { ...this.#toSpec(lease), holderIdentity: "", leaseDurationSeconds: 1 };
    await client.update(LEASES, { ...lease, spec }).catch((thrown: unknown) => this.#options.onError?.(messageOf(thrown)));
  }

  /**
   * Takes it or renews it.
   *
   * @param limitMs of all its requests together
   * @param signal ends the look at it, but no write that is under way: one that is carried out all the same would keep it from the others
   * @returns whether it is ours now
   */
  async #attempt(limitMs: number, signal?: AbortSignal): Promise<boolean> {
    const { client, clock, lease: name, identity, onError } = this.#options;
    const end = clock.monotonic() + limitMs;
    const limited = (): CallOptions => ({ limitMs: Math.max(1, end - clock.monotonic()) });
    try {
      const current = await client.get(LEASES, name, { ...limited(), signal });
      if (current === undefined) {
        this.#see(await client.create(LEASES, { metadata: { ...name }, spec: this.#toSpec(undefined) }, limited()));
        return true;
      }
      this.#see(current);
      if (current.spec?.holderIdentity !== identity && !this.#isFree()) return false;
      this.#see(await client.update(LEASES, { ...current, spec: this.#toSpec(current) }, limited()));
      return true;
    } catch (thrown) {
      const isLostRace = isKubeError(thrown, "conflict") || isKubeError(thrown, "alreadyExists");
      if (!isLostRace) onError?.(messageOf(thrown));
      return false;
    }
  }

  #toSpec(current: Lease | undefined): NonNullable<Lease["spec"]> {
    const { clock, identity } = this.#options;
    const now = toMicroTime(clock.now());
    const isOurs = current?.spec?.holderIdentity === identity;
    const { acquireTime = now, leaseTransitions = 0 } = current?.spec ?? {};
    return {
      holderIdentity: identity,
      leaseDurationSeconds: Math.ceil(this.#durationMs / 1000),
      acquireTime: isOurs ? acquireTime : now,
      renewTime: now,
      leaseTransitions: isOurs || current === undefined ? leaseTransitions : leaseTransitions + 1,
    };
  }

  #see(lease: Lease): void {
    if (lease.metadata.resourceVersion !== this.#seen.lease?.metadata.resourceVersion) {
      this.#seen = { lease, since: this.#options.clock.monotonic() };
    }
  }

  /** Whether nobody holds it, or its holder has not renewed it for as long as it lasts, by our own clock. */
  #isFree(): boolean {
    const { lease, since } = this.#seen;
    const { holderIdentity = "", leaseDurationSeconds = 0 } = lease?.spec ?? {};
    return holderIdentity === "" || this.#options.clock.monotonic() - since > leaseDurationSeconds * 1000;
  }

  #isTaken(): boolean {
    const holder = this.#seen.lease?.spec?.holderIdentity ?? "";
    return holder !== "" && holder !== this.#options.identity;
  }
}
