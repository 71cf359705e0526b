import { expect, test } from "bun:test";
import { repositoryRoot } from "../repository.ts";
import { TEST_PARTS } from "./parts.ts";
import { testFilesOf } from "./run-part.ts";

const filesOf = (name: string): readonly string[] =>
  TEST_PARTS.filter((part) => part.name === name).flatMap((part) => testFilesOf(part, []));

test("every file that a part names is there", async () => {
  const named = TEST_PARTS.flatMap(({ files = [] }) => files);
  const missing = await Promise.all(named.map(async (file) => ((await Bun.file(`${repositoryRoot}/${file}`).exists()) ? [] : [file])));
  expect(missing.flat()).toEqual([]);
});

test("the newer etcd is asked by all of the datastore's tests that ask an etcd, and by no other", () => {
  const newer = filesOf("newer-etcd");
  const left = filesOf("datastore").filter((file) => !newer.includes(file));
  expect(newer).toContain("test/datastore/etcd.test.ts");
  expect(left.filter((file) => !/\/(?:kubernetes|memory)/.test(file))).toEqual([]);
  expect(newer.filter((file) => /kubernetes/.test(file))).toEqual([]);
});
