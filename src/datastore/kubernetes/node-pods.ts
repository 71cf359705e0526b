/** Many endpoints of one node at once, as a GC asks for them: a list of the node's pods in the place of a request for each. */

import { NODES, type Pod, PODS } from "../../kube/core-types.ts";
import { isKubeError } from "../../kube/kube-error.ts";
import type { Query } from "../datastore.ts";
import type { Batch } from "./batch.ts";
import { parseEndpointName } from "./endpoint-name.ts";

/** Whoever asks for no more gets each by itself. An ADD or DEL never asks for more, what a DEL does for earlier ones included. */
const MOST_BY_NAME = 16;

/** The node whose pods may be listed. */
export interface NodeNames {
  /** What it calls itself. */
  readonly node: string;
  /** What the API server calls it. */
  readonly nameThere: string;
}

interface PodName {
  readonly namespace: string;
  readonly name: string;
}

/** Whether these queries ask for so many endpoints of the node that its pods are better listed. */
export function areManyOf(node: string, queries: readonly Query[]): boolean {
  const names = queries.flatMap((query) => (query.type === "get" && query.ref.kind === "WorkloadEndpoint" ? [query.ref.name] : []));
  return names.length > MOST_BY_NAME && names.every((name) => parseEndpointName(name)?.node === node);
}

/** The pods of a node, from one list; one by one where that is not permitted, or would prove nothing. */
export class NodePods {
  readonly #batch: Batch;
  readonly #nameThere: string;
  readonly #asked: Promise<Pod | undefined>[] = [];
  #listed: Promise<ReadonlyMap<string, Pod> | undefined> | undefined;

  constructor(batch: Batch, { nameThere }: NodeNames) {
    this.#batch = batch;
    this.#nameThere = nameThere;
  }

  /** @returns undefined when the node has no such pod: one of the name on another node is another pod */
  async get(name: PodName): Promise<Pod | undefined> {
    const listed = await (this.#listed ??= this.#list());
    return listed === undefined ? await this.#getInTurn(name) : listed.get(keyOf(name));
  }

  /**
   * That a pod is not in the list means nothing where the node has another name than we think: so it must be there itself.
   *
   * @returns undefined when it is not, or we may not list pods: roles of older versions do not permit it
   */
  async #list(): Promise<ReadonlyMap<string, Pod> | undefined> {
    try {
      const node = await this.#batch.get(NODES, { name: this.#nameThere });
      if (node === undefined) return undefined;
      const pods = await this.#batch.list(PODS, { fieldSelector: `spec.nodeName=${node.metadata.name ?? ""}` });
      return new Map(pods.map((pod) => [keyOf({ namespace: pod.metadata.namespace ?? "", name: pod.metadata.name ?? "" }), pod]));
    } catch (thrown) {
      if (isKubeError(thrown, "forbidden")) return undefined;
      throw thrown;
    }
  }

  /** So many at once that none has to wait for its turn longer than a request may. */
  #getInTurn(name: PodName): Promise<Pod | undefined> {
    const before = this.#asked.at(-MOST_BY_NAME);
    const asking = (async () => {
      await before;
      return await this.#batch.get(PODS, name);
    })();
    this.#asked.push(asking);
    return asking;
  }
}

/** Neither part can hold a slash. */
function keyOf({ namespace, name }: PodName): string {
  return `${namespace}/${name}`;
}
