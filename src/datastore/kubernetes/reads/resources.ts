/** Resources by name, and lists of them: objects of our CRDs, and views of Kubernetes' nodes and pods. */

import { KINDS } from "../../../api/registry.ts";
import type { Resource } from "../../../api/resource.ts";
import { NODES, type Pod, PODS } from "../../../kube/core-types.ts";
import { compareTexts } from "../../../lib/characters.ts";
import type { Query, QueryOf, ReadOptions, ResourceRef, Stored } from "../../datastore.ts";
import { toStoredResource } from "../objects/custom-object.ts";
import { parseEndpointName } from "../objects/endpoint-name.ts";
import { toEndpoint, toEndpoints } from "../objects/endpoint-view.ts";
import { toStoredNode } from "../objects/node-view.ts";
import { isCustom, typeOf } from "../objects/resource-types.ts";
import type { Batch } from "./batch.ts";

/**
 * How many of a kind are asked for by name at once: the client's rate limit would delay more of them too long. An ADD or DEL never asks for more
 * pods, what a DEL does for earlier ones included.
 */
const MAX_AT_ONCE = 16;

/** The resources of one round. */
export class ResourceReads {
  readonly #batch: Batch;
  readonly #options: Pick<ReadOptions, "mayLag" | "onPage">;
  /** Whether pools come from one list of the newest: there are more than {@link MAX_AT_ONCE}, as for an ADD that finds one after the other full. */
  readonly #listsPools: boolean;
  /** In the order of asking. Where there are more, as for a GC, each is asked for once the one {@link MAX_AT_ONCE} places before it is answered. */
  readonly #pods: Promise<Pod | undefined>[] = [];

  constructor(batch: Batch, queries: readonly Query[] = [], options: Pick<ReadOptions, "mayLag" | "onPage"> = {}) {
    this.#batch = batch;
    this.#options = options;
    this.#listsPools = queries.filter((query) => query.type === "get" && query.ref.kind === "IPPool").length > MAX_AT_ONCE;
  }

  /** @returns undefined when there is no such resource */
  async get({ kind, namespace, name }: ResourceRef): Promise<Stored<Resource> | undefined> {
    if (kind === "WorkloadEndpoint") {
      const place = parseEndpointName(name);
      if (place === undefined || namespace === undefined) return undefined;
      const pod = await this.#getPod(namespace, place.pod);
      return pod && toEndpoint(pod, place.ifName, place.node);
    }
    if (isCustom(kind)) {
      const object =
        kind === "IPPool" && this.#listsPools
          ? (await this.#batch.list(typeOf(kind))).find(({ metadata }) => metadata.name === name)
          : await this.#batch.get(typeOf(kind), KINDS[kind].namespaced ? { namespace, name } : { name });
      return object && toStoredResource(kind, object);
    }
    const node = await this.#batch.get(NODES, { name });
    return node && toStoredNode(node);
  }

  /** In the order of namespace and name. */
  async list({ kind, namespace, labelSelector }: QueryOf<"list">): Promise<readonly Stored<Resource>[]> {
    const { mayLag = false, onPage } = this.#options;
    const within = KINDS[kind].namespaced && namespace !== undefined ? { namespace } : {};
    let found: readonly Stored<Resource>[];
    // An endpoint has other labels than its pod.
    if (kind === "WorkloadEndpoint")
      found = (await this.#batch.list(PODS, { ...within, onPage: (number) => onPage?.(kind, number) })).flatMap(toEndpoints);
    else if (isCustom(kind))
      found = (await this.#batch.list(typeOf(kind), { ...within, labelSelector, mayLag })).map((object) => toStoredResource(kind, object));
    else found = (await this.#batch.list(NODES, { labelSelector })).map(toStoredNode);
    return [...found].sort((a, b) => compareTexts(toSortKey(a), toSortKey(b)));
  }

  #getPod(namespace: string, name: string): Promise<Pod | undefined> {
    const get = (): Promise<Pod | undefined> => this.#batch.get(PODS, { namespace, name });
    const asking = this.#pods.at(-MAX_AT_ONCE)?.then(get) ?? get();
    this.#pods.push(asking);
    return asking;
  }
}

function toSortKey({ value: { metadata } }: Stored<Resource>): string {
  return `${metadata.namespace ?? ""}/${metadata.name}`;
}
