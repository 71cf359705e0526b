/** Answers queries in one round: all requests that they need are on their way at once. */

import type { Block } from "../../../api/ipam-block.ts";
import type { ObjectMeta } from "../../../kube/kube-object.ts";
import type { NamedBlock, Query, ReadOptions, Stored } from "../../datastore.ts";
import { toBlockName } from "../objects/block-name.ts";
import { toBlockEntry, toStoredBlock } from "../objects/block-object.ts";
import { type BlockObject, IPAM_BLOCKS } from "../objects/resource-types.ts";
import { Batch } from "./batch.ts";
import { IndexReads, isIndexQuery } from "./block-index.ts";
import { type NodeBlocks, readNodeBlocks } from "./node-blocks.ts";
import { ResourceReads } from "./resources.ts";
import type { Round, RoundPorts } from "./round.ts";

/** Answers queries by their positions. Throws the first failure without waiting for the other answers. */
export async function readRound(queries: readonly Query[], options: ReadOptions, ports: RoundPorts): Promise<readonly unknown[]> {
  const batch = new Batch(ports.client, options.signal);
  const round: Round = { ...ports, batch, options };
  const nodes = new Map<string, Promise<NodeBlocks>>();
  const nodeBlocks = (node: string): Promise<NodeBlocks> => {
    const known = nodes.get(node) ?? readNodeBlocks(node, round);
    nodes.set(node, known);
    return known;
  };
  const index = new IndexReads(round, queries);
  const resources = new ResourceReads(batch, queries, options);
  const sources: Sources = { ...round, index, nodeBlocks, resources };
  const asked = queries.map((query) => answerQuery(query, sources));
  if (batch.size > 0) round.onRound();
  const answers = await Promise.all(asked);
  batch.requireServed(queries.some(isAboutCluster));
  return answers;
}

function isAboutCluster(query: Query): boolean {
  return query.type === "get" && query.ref.kind === "ClusterInformation";
}

/** Where the queries of one round are answered from. */
interface Sources extends Round {
  readonly index: IndexReads;
  readonly nodeBlocks: (node: string) => Promise<NodeBlocks>;
  readonly resources: ResourceReads;
}

/** @returns what `Answer` says for the type of the query */
async function answerQuery(query: Query, sources: Sources): Promise<unknown> {
  const { batch, index, nodeBlocks, resources, recent, options } = sources;
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
      if (options.onDamage === undefined) throw corrupt;
      const { ref, message } = corrupt;
      options.onDamage({ kind: "IPAMBlock", name: toBlockName(ref.cidr), ...ref, reason: message, isAnswered: false });
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
      return await readBlocks(await batch.list(IPAM_BLOCKS, { onPage: (number) => options.onPage?.("IPAMBlock", number) }), sources);
    case "block-page": {
      const { objects, next } = await (await import("./block-page.ts")).listBlockPage(query.from, batch);
      return { blocks: await readBlocks(objects, sources), next };
    }
  }
}

/** Blocks that cannot be read are told of, and left out. Nothing else of ours can be unreadable behind its schema. */
async function readBlocks(objects: readonly BlockObject[], { options: { onDamage } }: Round): Promise<readonly Stored<Block>[]> {
  return onDamage === undefined ? objects.map(toStoredBlock) : (await import("./block-damage.ts")).readUndamaged(objects, onDamage);
}

function toNamedBlock(metadata: ObjectMeta): NamedBlock {
  return { name: metadata.name ?? "", ref: toBlockEntry(metadata) };
}

async function readBlock(name: string, round: Round): Promise<Stored<Block> | undefined> {
  const object = await round.batch.get(IPAM_BLOCKS, { name });
  return object === undefined ? undefined : (await readBlocks([object], round))[0];
}
