/** What the node's hint says, and how far it is trusted; how the file is kept, `block-hints.ts` says. */

import { type Prefix, tryParsePrefix } from "../../../lib/ip/prefix.ts";
import { isJsonObject, tryParseJson } from "../../../lib/json.ts";

/** What the file holds. */
export interface Hint {
  readonly node: string;
  /** UID of the cluster's information: another cluster may have had a node of this name. */
  readonly cluster: string;
  /** False: blocks were added to a hint that may lack others. */
  readonly isComplete: boolean;
  /** When all blocks were last listed: seconds since 1970. */
  readonly listedAt: number;
  /** By CIDR: the second in which a process was about to claim the block; 0: a list had it. */
  readonly blocks: ReadonlyMap<string, number>;
}

/** All blocks in which the node may have something, and in which cluster. */
export interface TrustedBlocks {
  readonly cluster: string;
  readonly blocks: readonly Prefix[];
}

/** Seconds after which all blocks are listed again, to repair whatever the rules of `block-hints.ts` do not cover. */
const LIFETIME_S = 3_600;

/** No node has more blocks; a file that names more is not trusted. */
const MAX_BLOCKS = 1_024;

/** @param now seconds since 1970 @returns undefined when the hint may lack a block */
export function toTrusted(hint: Hint | undefined, now: number): TrustedBlocks | undefined {
  if (hint === undefined || !isTrusted(hint, now)) return undefined;
  const blocks: Prefix[] = [];
  for (const text of hint.blocks.keys()) {
    const cidr = tryParsePrefix(text);
    if (cidr === undefined) return undefined;
    blocks.push(cidr);
  }
  return { cluster: hint.cluster, blocks };
}

function isTrusted({ isComplete, listedAt, blocks }: Hint, now: number): boolean {
  return isComplete && listedAt <= now && now - listedAt < LIFETIME_S && blocks.size <= MAX_BLOCKS;
}

/** The inverse of {@link parseHint}. */
export function toHintText({ blocks, ...rest }: Hint): string {
  return JSON.stringify({ ...rest, blocks: Object.fromEntries(blocks) });
}

/** @returns undefined for anything that we do not write */
export function parseHint(text: string | undefined): Hint | undefined {
  const hint = tryParseJson(text);
  if (!isJsonObject(hint)) return undefined;
  const { node, cluster, isComplete, listedAt, blocks } = hint;
  if (typeof node !== "string" || typeof cluster !== "string" || typeof isComplete !== "boolean" || typeof listedAt !== "number")
    return undefined;
  if (!isJsonObject(blocks)) return undefined;
  const entries = new Map<string, number>();
  for (const [cidr, hintedAt] of Object.entries(blocks)) {
    if (typeof hintedAt !== "number") return undefined;
    entries.set(cidr, hintedAt);
  }
  return { node, cluster, isComplete, listedAt, blocks: entries };
}
