/** For tests: the rules of nftables that SECURITY.md tells administrators to load. */

import { readFileSync } from "node:fs";
import { join } from "node:path";

const [, found] = /^```nft\n([\s\S]*?)^```$/m.exec(readFileSync(join(import.meta.dir, "../../SECURITY.md"), "utf8")) ?? [];
if (found === undefined) throw new Error("SECURITY.md: no block of nft");

/** What `nft -f` takes. */
export const DOCUMENTED_RULES: string = found;
/** The table that they make. */
export const DOCUMENTED_TABLE = "pod-guard";
