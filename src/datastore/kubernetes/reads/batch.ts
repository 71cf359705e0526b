/** The requests of one round: all are on their way at once, and the same question is asked once. */

import type { KubeClient, Selection } from "../../../kube/client.ts";
import type { KubeError } from "../../../kube/kube-error.ts";
import { isKubeError } from "../../../kube/kube-error.ts";
import type { KubeList, KubeObject, ObjectName } from "../../../kube/kube-object.ts";
import type { CallOptions } from "../../../kube/request.ts";
import type { ResourceType } from "../../../kube/resource-type.ts";
import { CLUSTER_INFORMATION } from "../../cluster-state.ts";
import { isOurs, typeOf } from "../objects/resource-types.ts";

/** Which objects, and how much of them. */
export interface ListRequest extends Selection {
  readonly isMetadataOnly?: boolean;
  /** Whether what the server has at hand is good enough. */
  readonly mayLag?: boolean;
  /** Called for each page, with the number of objects on it. */
  readonly onPage?: (number: number) => void;
}

/** One round of reads. */
export class Batch {
  readonly #client: KubeClient;
  readonly #options: CallOptions;
  readonly #asked = new Map<string, Promise<unknown>>();
  /** The failure for a CRD of ours that is not served. */
  #missing: KubeError | undefined;
  #isClusterServed = true;

  /** @param signal ends all its requests */
  constructor(client: KubeClient, signal?: AbortSignal) {
    this.#client = client;
    this.#options = { signal };
  }

  /** How many different requests were made so far. */
  get size(): number {
    return this.#asked.size;
  }

  /**
   * To be called once all answers are there: of a kind whose CRD is not served they mean nothing.
   *
   * @param asksForCluster whether the caller learns from its answers when not even ClusterInformation is served: then nothing was ever stored
   * @throws {KubeError} notServed
   */
  requireServed(asksForCluster = false): void {
    if (this.#missing === undefined || (asksForCluster && !this.#isClusterServed)) return;
    throw this.#missing;
  }

  /** @returns undefined when there is no such object */
  get<T extends KubeObject>(type: ResourceType<T>, name: ObjectName): Promise<T | undefined> {
    return this.#ask(`${type.plural}/${name.namespace ?? ""}/${name.name}`, type, undefined, () =>
      this.#client.get(type, name, this.#options),
    );
  }

  /** The object that says what the cluster is. */
  getCluster(): Promise<KubeObject | undefined> {
    return this.get(typeOf("ClusterInformation"), { name: CLUSTER_INFORMATION.ref.name });
  }

  list<T extends KubeObject>(type: ResourceType<T>, request: ListRequest = {}): Promise<readonly T[]> {
    const { namespace = "", labelSelector = "", isMetadataOnly = false, mayLag = false } = request;
    // A list by label is small, or has metadata only: without a page size the server's cache answers it. Other lists keep the page size,
    // although the cache ignores it: with one, a server whose cache is not yet filled asks etcd instead of refusing.
    const pageSize = labelSelector === "" ? undefined : 0;
    const resourceVersion = mayLag ? "0" : undefined;
    return this.#ask<readonly T[]>(`${type.plural}?${namespace}&${labelSelector}&${isMetadataOnly}&${mayLag}`, type, [], async () => {
      return (await this.#client.list(type, { ...request, ...this.#options, pageSize, resourceVersion })).items;
    });
  }

  /** One page of all; the first without a token. @throws KubeError expired when the list that it belongs to is too old */
  listPage<T extends KubeObject>(type: ResourceType<T>, token: string | undefined): Promise<KubeList<T>> {
    const nothing: KubeList<T> = { items: [], resourceVersion: "", continueToken: undefined };
    return this.#ask(`${type.plural}?page=${token}`, type, nothing, () => this.#client.listPage(type, this.#options, token));
  }

  #ask<A>(question: string, type: ResourceType, whenNotServed: A, request: () => Promise<A>): Promise<A> {
    const asked = this.#asked.get(question) as Promise<A> | undefined; // what the question is decides what the answer is
    if (asked !== undefined) return asked;
    const asking = request().catch((thrown: unknown) => {
      if (!isKubeError(thrown, "notServed") || !isOurs(type)) throw thrown;
      this.#missing = thrown;
      if (type.kind === "ClusterInformation") this.#isClusterServed = false;
      return whenNotServed;
    });
    this.#asked.set(question, asking);
    return asking;
  }
}
