/** For tests: the rules of nftables that SECURITY.md tells administrators to load. */

import { ShownDocument } from "./document.ts";

/** What `nft -f` takes. */
export const DOCUMENTED_RULES: string = new ShownDocument("SECURITY.md").block("nft", "table");
/** The table that they make. */
export const DOCUMENTED_TABLE = "pod-guard";
