/** What the datastore would say once a container has ended, for a look ahead. */

import type { AllocationOwner, Block, BlockRef } from "../../../api/ipam-block.ts";
import type { Answer, EmptyBlock, Query, QueryOf, Stored } from "../../../datastore/datastore.ts";
import { comparePrefixes, containsPrefix, type Prefix, toPrefixText } from "../../../lib/ip/prefix.ts";
import { release } from "../../block.ts";
import { type Facts, know } from "../../facts.ts";
import type { Try } from "../../transact/transact.ts";

/** A container that has ended. */
interface Ended {
  readonly node: string;
  readonly isOwner: (owner: AllocationOwner) => boolean;
}

/** The facts as if the DEL had released what a container has. */
export function afterDel({ node, isOwner }: Ended, facts: Facts, { now }: Pick<Try, "now">): Facts {
  const after = (stored: Stored<Block>): Stored<Block> => {
    // How long addresses cool down decides who looks at the block, by the time of their release.
    const { block } = release(stored.value, ({ owner }) => isOwner(owner), { now, cooldown: 0 });
    return { ...stored, value: block };
  };
  const borrowedIn = (within: Prefix): readonly BlockRef[] =>
    know(facts, { type: "blocks-borrowed-by", node }).filter(({ cidr }) => containsPrefix(within, cidr));
  // Without a word on what is free in them: so they are read.
  const spareAfter = ({ within, from, limit }: QueryOf<"spare-blocks">, listed: Answer<QueryOf<"spare-blocks">>) => {
    const last = listed.length < limit ? undefined : listed.at(-1);
    const isListed = ({ base }: Prefix): boolean => base >= (from?.value ?? 0n) && (last === undefined || base <= last.cidr.base);
    return withInstead(
      listed,
      borrowedIn(within).filter(({ cidr }) => isListed(cidr)),
    );
  };
  const emptyAfter = ({ within }: QueryOf<"empty-blocks">, listed: readonly EmptyBlock[]) =>
    withInstead(
      listed,
      borrowedIn(within).flatMap((ref) => {
        const stored = know(facts, { type: "block", ref });
        const since = stored && after(stored).value.emptySince;
        return since === undefined ? [] : [{ ...ref, since }];
      }),
    );
  // The type of an answer follows from that of its query.
  const answerAfter = (query: Query, answer: unknown): unknown => {
    if (query.type === "blocks-of-node") return (answer as Answer<typeof query>).map(after);
    if (query.type === "block") return answer && after(answer as Stored<Block>);
    if (query.type === "spare-blocks") return spareAfter(query, answer as Answer<typeof query>);
    if (query.type === "empty-blocks") return emptyAfter(query, answer as Answer<typeof query>);
    return answer;
  };
  return {
    find<Q extends Query>(query: Q) {
      const found = facts.find(query);
      return found && { answer: answerAfter(query, found.answer) as Answer<Q> };
    },
  };
}

/** A list of blocks, in address order, with these in it, or in the place of what it says of them. */
function withInstead<T extends BlockRef>(listed: readonly T[], instead: readonly T[]): readonly T[] {
  const byCidr = new Map([...listed, ...instead].map((one) => [toPrefixText(one.cidr), one]));
  return [...byCidr.values()].sort((a, b) => comparePrefixes(a.cidr, b.cidr));
}
