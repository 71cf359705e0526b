/** How large the record of a full block is. */

import { encodeBlock } from "../../src/api/ipam-block-codec.ts";
import { parsePrefix } from "../../src/lib/ip/prefix.ts";
import { fullBlock } from "./ipam-world.ts";
import type { BenchRow } from "./row.ts";

const LIMIT_BYTES = 8_192;

/** 64 pods of one Deployment, with container IDs, pod UIDs and endpoints as on a Kubernetes node. */
export function benchBlockRecord(): BenchRow {
  const bytes = new TextEncoder().encode(encodeBlock(fullBlock(parsePrefix("10.65.0.64/26"), "node-1"))).length;
  return {
    what: "record of a full block (64 pods)",
    target: "≤ 8 KB",
    measured: `${bytes} bytes`,
    met: bytes <= LIMIT_BYTES,
    figures: { bytes },
  };
}
