/** What the reads of one round are made with: each takes the part of it that it needs. */

import type { KubeClient } from "../../../kube/client.ts";
import type { ReadOptions } from "../../datastore.ts";
import type { BlockEntry } from "../objects/block-object.ts";
import type { BlockHints } from "../state/block-hints.ts";
import type { LostClaims } from "../state/lost-claims.ts";
import type { PagedLists } from "../state/paged-lists.ts";
import type { RecentBlocks } from "../state/recent-blocks.ts";
import type { Batch } from "./batch.ts";

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

/** One round. */
export interface Round extends RoundPorts {
  readonly batch: Batch;
  readonly options: ReadOptions;
}
