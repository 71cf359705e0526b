/** What the datastore would say once a container has ended, for a look ahead. */

import type { AllocationOwner, Block } from "../../api/ipam-block.ts";
import type { Answer, Query, Stored } from "../../datastore/datastore.ts";
import { release } from "../block.ts";
import type { Facts } from "../facts.ts";
import type { Try } from "../transact/transact.ts";

/** The facts as if the DEL had released what an owner has in blocks that are read whole: lists of spare and empty blocks stay as they are. */
export function afterDel(isEnded: (owner: AllocationOwner) => boolean, facts: Facts, { now }: Pick<Try, "now">): Facts {
  const after = (stored: Stored<Block>): Stored<Block> => {
    // How long addresses cool down decides who looks at the block, by the time of their release.
    const { block } = release(stored.value, ({ owner }) => isEnded(owner), { now, cooldown: 0 });
    return { ...stored, value: block };
  };
  // The type of an answer follows from that of its query.
  const answerAfter = (query: Query, answer: unknown): unknown => {
    if (query.type === "blocks-of-node") return (answer as Answer<typeof query>).map(after);
    if (query.type === "block") return answer && after(answer as Stored<Block>);
    return answer;
  };
  return {
    find<Q extends Query>(query: Q) {
      const found = facts.find(query);
      return found && { answer: answerAfter(query, found.answer) as Answer<Q> };
    },
  };
}
