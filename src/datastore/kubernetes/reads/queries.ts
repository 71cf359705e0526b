/** Answers queries: all requests of a read at once. */

import { CorruptBlock } from "../../../api/ipam-block-codec.ts";
import type { Block } from "../../../api/ipam-block.ts";
import { KINDS } from "../../../api/registry.ts";
import type { Resource } from "../../../api/resource.ts";
import { NODES, PODS } from "../../../kube/core-types.ts";
import type { ObjectMeta } from "../../../kube/kube-object.ts";
import { compareTexts } from "../../../lib/characters.ts";
import type { NamedBlock, Query, QueryOf, ReadOptions, ResourceRef, Stored } from "../../datastore.ts";
import { toBlockName } from "../objects/block-name.ts";
import { toBlockEntry, toStoredBlock } from "../objects/block-object.ts";
import { toStoredResource } from "../objects/custom-object.ts";
import { parseEndpointName } from "../objects/endpoint-name.ts";
import { toEndpoint, toEndpoints } from "../objects/endpoint-view.ts";
import { toStoredNode } from "../objects/node-view.ts";
import { type BlockObject, IPAM_BLOCKS, isCustom, typeOf } from "../objects/resource-types.ts";
import type { RecentBlocks } from "../state/recent-blocks.ts";
import type { Batch } from "./batch.ts";
import { type IndexReads, isIndexQuery } from "./block-index.ts";
import { findPool } from "./many-pools.ts";
import type { NodeBlocks } from "./node-blocks.ts";
import type { PodWindow } from "./pod-window.ts";

/** Where the queries of one round are answered from. */
export interface Sources {
  readonly batch: Batch;
  readonly index: IndexReads;
  readonly nodeBlocks: (node: string) => Promise<NodeBlocks>;
  /** Where so many endpoints are asked for that they must take turns. */
  readonly pods: PodWindow | undefined;
  /** Whether so many pools are asked for by name that one list answers for all. */
  readonly listsPools: boolean;
  readonly recent: RecentBlocks;
  /** Whether lists of our resources may be a moment old. */
  readonly mayLag: boolean;
  /** Blocks that cannot be read are told of, and left out. Nothing else of ours can be unreadable behind its schema. */
  readonly onDamage: ReadOptions["onDamage"];
  readonly onPage: ReadOptions["onPage"];
}

/** @returns what `Answer` says for the type of the query */
export async function answerQuery(query: Query, sources: Sources): Promise<unknown> {
  const { batch, index, nodeBlocks, pods, listsPools, recent, onDamage } = sources;
  if (isIndexQuery(query)) return await index.answer(query);
  switch (query.type) {
    case "get":
      if (listsPools && query.ref.kind === "IPPool") return await findPool(query.ref.name, batch);
      return await getResource(query.ref, batch, pods);
    case "list":
      return await listResources(query, sources);
    case "block": {
      const name = toBlockName(query.ref.cidr);
      const stored = recent.take(name) ?? (await readBlock(name, sources));
      return stored?.value.node === query.ref.node ? stored : undefined;
    }
    case "blocks-of-node": {
      const { own, readable } = await nodeBlocks(query.node);
      if (!(own instanceof CorruptBlock)) return own;
      if (onDamage === undefined) throw own;
      onDamage({ kind: "IPAMBlock", name: toBlockName(own.ref.cidr), ...own.ref, reason: own.message, isAnswered: false });
      return readable;
    }
    case "blocks-borrowed-by": {
      const { borrowed } = await nodeBlocks(query.node);
      // The caller is about to read them.
      for (const { stored } of borrowed) if (stored !== undefined) recent.set(toBlockName(stored.value.cidr), stored);
      return borrowed.map(({ ref }) => ref);
    }
    case "block-names":
      return (await batch.list(IPAM_BLOCKS, { isMetadataOnly: true })).map(({ metadata }) => toNamedBlock(metadata));
    case "all-blocks":
      return await readBlocks(await batch.list(IPAM_BLOCKS, { onPage: (number) => sources.onPage?.("IPAMBlock", number) }), sources);
    case "block-page": {
      const { objects, next } = await (await import("./block-page.ts")).listBlockPage(query.from, batch);
      return { blocks: await readBlocks(objects, sources), next };
    }
  }
}

async function readBlocks(objects: readonly BlockObject[], { onDamage }: Sources): Promise<readonly Stored<Block>[]> {
  return onDamage === undefined ? objects.map(toStoredBlock) : (await import("./block-damage.ts")).readUndamaged(objects, onDamage);
}

function toNamedBlock(metadata: ObjectMeta): NamedBlock {
  return { name: metadata.name ?? "", ref: toBlockEntry(metadata) };
}

async function readBlock(name: string, sources: Sources): Promise<Stored<Block> | undefined> {
  const object = await sources.batch.get(IPAM_BLOCKS, { name });
  return object === undefined ? undefined : (await readBlocks([object], sources))[0];
}

/** @returns undefined when there is no such resource */
export async function getResource(
  { kind, namespace, name }: ResourceRef,
  batch: Batch,
  pods?: PodWindow,
): Promise<Stored<Resource> | undefined> {
  if (kind === "WorkloadEndpoint") {
    const place = parseEndpointName(name);
    if (place === undefined || namespace === undefined) return undefined;
    const podName = { namespace, name: place.pod };
    const pod = pods === undefined ? await batch.get(PODS, podName) : await pods.get(podName);
    return pod === undefined ? undefined : toEndpoint(pod, place.ifName, place.node);
  }
  if (isCustom(kind)) {
    const object = await batch.get(typeOf(kind), KINDS[kind].namespaced ? { namespace, name } : { name });
    return object === undefined ? undefined : toStoredResource(kind, object);
  }
  const node = await batch.get(NODES, { name });
  return node === undefined ? undefined : toStoredNode(node);
}

/** In the order of namespace and name. */
async function listResources(
  { kind, namespace, labelSelector }: QueryOf<"list">,
  { batch, mayLag, onPage }: Pick<Sources, "batch" | "mayLag" | "onPage">,
): Promise<readonly Stored<Resource>[]> {
  const within = KINDS[kind].namespaced && namespace !== undefined ? { namespace } : {};
  let found: readonly Stored<Resource>[];
  // An endpoint has other labels than its pod.
  if (kind === "WorkloadEndpoint")
    found = (await batch.list(PODS, { ...within, onPage: (number) => onPage?.(kind, number) })).flatMap(toEndpoints);
  else if (isCustom(kind))
    found = (await batch.list(typeOf(kind), { ...within, labelSelector, mayLag })).map((object) => toStoredResource(kind, object));
  else found = (await batch.list(NODES, { labelSelector })).map(toStoredNode);
  return [...found].sort((a, b) => compareTexts(toSortKey(a), toSortKey(b)));
}

function toSortKey({ value: { metadata } }: Stored<Resource>): string {
  return `${metadata.namespace ?? ""}/${metadata.name}`;
}
