/** Events: what happened to an object, where people look with `kubectl describe`. */

import { messageOf } from "../lib/errors.ts";
import type { Clock, Random } from "../lib/ports.ts";
import { randomInteger } from "../lib/random.ts";
import type { KubeClient } from "./client.ts";
import { isKubeError } from "./kube-error.ts";
import type { KubeObject } from "./kube-object.ts";
import { toMicroTime } from "./micro-time.ts";
import { RateLimit } from "./requests/rate-limit.ts";
import type { ResourceType } from "./resource-type.ts";

/** The object that an event is about. */
export interface EventSubject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly namespace?: string;
  readonly uid?: string;
}

/** @see k8s.io/api events/v1 */
export interface KubeEventObject extends KubeObject {
  readonly eventTime: string;
  readonly type: "Normal" | "Warning";
  readonly reason: string;
  readonly action: string;
  readonly note: string;
  readonly regarding: EventSubject;
  readonly reportingController: string;
  readonly reportingInstance: string;
  readonly series?: { readonly count: number; readonly lastObservedTime: string };
}

/** Where the API server serves events. */
const EVENTS: ResourceType<KubeEventObject> = {
  group: "events.k8s.io",
  version: "v1",
  plural: "events",
  kind: "Event",
  isNamespaced: true,
};

/** Who reports, and what becomes of a report that cannot be written. */
export interface EventRecorderOptions {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly random: Random;
  /** Which part of netplug reports: `netplug.io/controllers`. */
  readonly controller: string;
  /** Which process of it: the pod's or the node's name. */
  readonly instance: string;
  /** Is told of an event that could not be written; work goes on. */
  readonly onError?: (message: string) => void;
}

/** An event as the caller knows it; the rest is filled in when it is sent. @see Kubernetes API, events.k8s.io/v1 */
export interface EventReport {
  readonly regarding: EventSubject;
  readonly type: "Normal" | "Warning";
  /** CamelCase and always the same for the same thing: `AddressExhausted`. */
  readonly reason: string;
  /** What was being done, CamelCase: `AllocateAddress`. */
  readonly action: string;
  readonly note: string;
}

/** How long a repetition is counted in the event that exists, in milliseconds. */
const SERIES_MS = 6 * 60_000;

/** Events about one object: 25 at once, then one in five minutes, to spare the API server. */
const PER_OBJECT = { qps: 1 / 300, burst: 25 };

/** How many series and limits are remembered; beyond that the oldest are forgotten. */
const MAX_REMEMBERED = 1000;

/** Bytes. @see k8s.io/kubernetes pkg/apis/core/validation, events.go */
const LIMITS = { note: 1024, instance: 128 } as const;

/** How many characters of the subject's name go into the event's, which may have 253. */
const NAME_LENGTH = 200;

interface Series {
  readonly namespace: string;
  readonly name: string;
  /** Settles when the event itself is written. */
  readonly written: Promise<unknown>;
  count: number;
  lastAt: number;
}

/** Writes events, counts repetitions, and never throws. */
export class EventRecorder {
  readonly #options: EventRecorderOptions;
  readonly #series = new Map<string, Series>();
  readonly #limits = new Map<string, RateLimit>();

  constructor(options: EventRecorderOptions) {
    this.#options = options;
  }

  /** Reports that something happened. Resolves when it is written, or dropped. */
  async record(report: EventReport): Promise<void> {
    const { regarding, type, reason, action, note } = report;
    const { clock, controller, onError } = this.#options;
    const subject = `${regarding.kind}/${regarding.namespace ?? ""}/${regarding.name}/${regarding.uid ?? ""}`;
    const key = JSON.stringify([subject, type, reason, action, note, controller]);
    const series = this.#series.get(key);
    try {
      if (series !== undefined && clock.now() - series.lastAt < SERIES_MS && (await this.#count(key, series))) return;
      if (this.#mayCreate(subject)) await this.#create(key, report);
    } catch (thrown) {
      onError?.(messageOf(thrown));
    }
  }

  async #create(key: string, { regarding, type, reason, action, note }: EventReport): Promise<void> {
    const { client, clock, random, controller, instance } = this.#options;
    const now = clock.now();
    const namespace = regarding.namespace ?? "default";
    const subject = regarding.name.slice(0, NAME_LENGTH).replace(/[.-]+$/, "");
    const name = `${subject}.${now.toString(16)}${randomInteger(random, 2 ** 32)
      .toString(16)
      .padStart(8, "0")}`;
    const written = client.create(EVENTS, {
      metadata: { name, namespace },
      eventTime: toMicroTime(now),
      type,
      reason,
      action,
      note: cut(note, LIMITS.note),
      regarding,
      reportingController: controller,
      reportingInstance: cut(instance, LIMITS.instance),
    });
    // Remembered before it is written, so that a repetition meanwhile is counted.
    remember(this.#series, key, { namespace, name, written, count: 1, lastAt: now });
    await written.catch((thrown: unknown) => {
      this.#series.delete(key);
      throw thrown;
    });
  }

  /** @returns whether it is counted; the API server forgets events after an hour */
  async #count(key: string, series: Series): Promise<boolean> {
    const { client, clock } = this.#options;
    await series.written;
    series.count++;
    series.lastAt = clock.now();
    const body = { series: { count: series.count, lastObservedTime: toMicroTime(series.lastAt) } };
    try {
      await client.patch(EVENTS, series, { type: "merge", body });
      return true;
    } catch (thrown) {
      if (!isKubeError(thrown, "notFound")) throw thrown;
      this.#series.delete(key);
      return false;
    }
  }

  #mayCreate(subject: string): boolean {
    let limit = this.#limits.get(subject);
    if (limit === undefined) {
      limit = new RateLimit(PER_OBJECT, this.#options.clock);
      remember(this.#limits, subject, limit);
    }
    if (limit.take() === 0) return true;
    limit.refund();
    return false;
  }
}

/** At most so many bytes, of whole characters. */
function cut(text: string, most: number): string {
  const bytes = new TextEncoder().encode(text);
  if (bytes.length <= most) return text;
  return `${new TextDecoder().decode(bytes.subarray(0, most - 3), { stream: true })}…`;
}

function remember<V>(map: Map<string, V>, key: string, value: V): void {
  map.delete(key);
  map.set(key, value);
  if (map.size <= MAX_REMEMBERED) return;
  const oldest = map.keys().next().value;
  if (oldest !== undefined) map.delete(oldest);
}
