import { expect, test } from "bun:test";
import type { Revision, Write } from "../../datastore.ts";
import { planWrites } from "./writes.ts";

const ref = (index: number) => ({ kind: "IPPool", name: `p${index}` }) as const;
const plan = (count: number, toWrite: (index: number) => Write) => planWrites(Array.from({ length: count }, (_, index) => toWrite(index)));

test.each<[string, (index: number) => Write]>([
  ["writes", (index) => ({ op: "delete", ref: ref(index) })],
  ["conditions", (index) => ({ op: "expect", ref: ref(index), revision: "7" as Revision })],
])("a commit has no more %s than etcd takes in one transaction", (_what, toWrite) => {
  const { compares, operations } = plan(128, toWrite);
  expect(compares.length + operations.length).toBe(128);
  expect(() => plan(129, toWrite)).toThrow("commit 129 writes: got 129 operations, etcd takes 128 in one transaction");
});
