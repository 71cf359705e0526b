/** Answers queries in one round: all requests that they need are on their way at once. */

import type { Block } from "../../../api/ipam-block.ts";
import type { KubeClient } from "../../../kube/client.ts";
import type { ObjectMeta } from "../../../kube/kube-object.ts";
import type { NamedBlock, Query, ReadOptions, Stored } from "../../datastore.ts";
import { toBlockName } from "../objects/block-name.ts";
import { type BlockEntry, toBlockEntry, toStoredBlock } from "../objects/block-object.ts";
import { type BlockObject, IPAM_BLOCKS } from "../objects/resource-types.ts";
import type { BlockHints } from "../state/block-hints.ts";
import type { LostClaims } from "../state/lost-claims.ts";
import type { PagedLists } from "../state/paged-lists.ts";
import type { RecentBlocks } from "../state/recent-blocks.ts";
import { Batch } from "./batch.ts";
import { IndexReads, isIndexQuery } from "./block-index.ts";
import { type NodeBlocks, type NodeReads, readNodeBlocks } from "./node-blocks.ts";
import { ResourceReads } from "./resources.ts";

/** What one round leaves for the next, and what it needs besides. */
export interface RoundPorts {
  readonly client: KubeClient;
  readonly hints?: BlockHints | undefined;
  readonly recent: RecentBlocks;
  readonly lostClaims: LostClaims;
  readonly pagedLists: PagedLists<BlockEntry>;
  /** UID of the cluster's information, which the round asks for if it is not known; "" where there is none. */
  readonly readCluster: (batch: Batch) => Promise<string>;
  /** Called for every round of requests. */
  readonly onRound: () => void;
}

/** Answers queries by their positions. Throws the first failure without waiting for the other answers. */
export async function readRound(queries: readonly Query[], options: ReadOptions, ports: RoundPorts): Promise<readonly unknown[]> {
  const { client, hints, recent, lostClaims, pagedLists, readCluster, onRound } = ports;
  const { mayLag = false, onDamage, onPage, signal } = options;
  const batch = new Batch(client, signal);
  const reads: NodeReads = {
    batch,
    hints,
    readCluster: () => readCluster(batch),
    onAnotherRound: onRound,
    isDamageReported: onDamage !== undefined,
  };
  const nodes = new Map<string, Promise<NodeBlocks>>();
  const nodeBlocks = (node: string): Promise<NodeBlocks> => {
    const known = nodes.get(node) ?? readNodeBlocks(node, reads);
    nodes.set(node, known);
    return known;
  };
  const index = new IndexReads({ batch, pagedLists, lostClaims, mayLag }, queries);
  const resources = new ResourceReads(batch, queries, options);
  const sources = { batch, index, nodeBlocks, resources, recent, onDamage, onPage };
  const asked = queries.map((query) => answerQuery(query, sources));
  if (batch.size > 0) onRound();
  const answers = await Promise.all(asked);
  batch.requireServed(queries.some(isAboutCluster));
  return answers;
}

function isAboutCluster(query: Query): boolean {
  return query.type === "get" && query.ref.kind === "ClusterInformation";
}

/** Where the queries of one round are answered from. */
interface Sources {
  readonly batch: Batch;
  readonly index: IndexReads;
  readonly nodeBlocks: (node: string) => Promise<NodeBlocks>;
  readonly resources: ResourceReads;
  readonly recent: RecentBlocks;
  /** Blocks that cannot be read are told of, and left out. Nothing else of ours can be unreadable behind its schema. */
  readonly onDamage: ReadOptions["onDamage"];
  readonly onPage: ReadOptions["onPage"];
}

/** @returns what `Answer` says for the type of the query */
async function answerQuery(query: Query, sources: Sources): Promise<unknown> {
  const { batch, index, nodeBlocks, resources, recent, onDamage } = sources;
  if (isIndexQuery(query)) return await index.answer(query);
  switch (query.type) {
    case "get":
      return await resources.get(query.ref);
    case "list":
      return await resources.list(query);
    case "block": {
      const name = toBlockName(query.ref.cidr);
      const stored = recent.take(name) ?? (await readBlock(name, sources));
      return stored?.value.node === query.ref.node ? stored : undefined;
    }
    case "blocks-of-node": {
      const { own, corrupt } = await nodeBlocks(query.node);
      if (corrupt === undefined) return own;
      if (onDamage === undefined) throw corrupt;
      const { ref, message } = corrupt;
      onDamage({ kind: "IPAMBlock", name: toBlockName(ref.cidr), ...ref, reason: message, isAnswered: false });
      return own;
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
