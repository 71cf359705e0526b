import { expect, test } from "bun:test";
import { createIpamWorld } from "../../../test/support/ipam/ipam.ts";
import { inFrontOf } from "../../datastore/in-front-of.ts";
import { newBlock } from "../../ipam/block.ts";
import { parsePrefix, subnetAt } from "../../lib/ip/prefix.ts";
import type { Progress } from "../io.ts";
import { tellingReads } from "./telling-reads.ts";

test("records are counted once, whether pages or answers tell of them", async () => {
  const { datastore } = await createIpamWorld();
  const cidrs = Array.from({ length: 1_234 }, (_, at) => subnetAt(parsePrefix("10.0.0.0/8"), 26, at));
  await datastore.commit(cidrs.map((cidr) => ({ op: "create-block", block: newBlock(cidr, "n1", 1) })));
  const told: string[] = [];
  const progress: Progress = { tell: (_part, text) => void told.push(text), wipe: () => {} };
  const inPages = inFrontOf(datastore, {
    read: async (queries, options) => {
      for (const number of [500, 500, 234]) options?.onPage?.("IPAMBlock", number);
      return await datastore.read(queries, options);
    },
  });
  await tellingReads(inPages, progress).read([{ type: "all-blocks" }, { type: "list", kind: "Node" }]);
  await tellingReads(datastore, progress).read([{ type: "block-page", from: undefined }]);
  expect(told).toEqual(["read 500 blocks", "read 1,000 blocks", "read 1,234 blocks", "read 1,234 blocks"]);
});
