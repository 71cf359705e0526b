import { expect, test } from "bun:test";
import { repositoryRoot } from "../repository.ts";
import { TEST_PARTS } from "./parts.ts";
import { longestFirst, testFilesOf } from "./run-part.ts";

const filesOf = (name: string): readonly string[] =>
  TEST_PARTS.filter((part) => part.name === name).flatMap((part) => testFilesOf(part, []));

test("every file that a part names is there", async () => {
  const named = TEST_PARTS.flatMap(({ files = [], slow = [] }) => [...files, ...slow]);
  const missing = await Promise.all(named.map(async (file) => ((await Bun.file(`${repositoryRoot}/${file}`).exists()) ? [] : [file])));
  expect(missing.flat()).toEqual([]);
});

test("every part has a command of its own", async () => {
  const { scripts } = (await Bun.file(`${repositoryRoot}/package.json`).json()) as { readonly scripts: Readonly<Record<string, string>> };
  const commands = Object.entries(scripts).filter(([name]) => name.startsWith("test:"));
  expect(Object.fromEntries(commands)).toEqual(
    Object.fromEntries(TEST_PARTS.map(({ name }) => [`test:${name}`, `exec node tools/run.mjs test ${name}`])),
  );
});

test("the newer etcd is asked by all of the datastore's tests that ask an etcd, and by no other", () => {
  const newer = filesOf("newer-etcd");
  const left = filesOf("datastore").filter((file) => !newer.includes(file));
  expect(newer).toContain("test/datastore/etcd.test.ts");
  expect(left.filter((file) => !/\/(?:kubernetes|memory)/.test(file))).toEqual([]);
  expect(newer.filter((file) => /kubernetes/.test(file))).toEqual([]);
});

test("what a cluster is not needed for runs without one, also beside Kubernetes' own tests", () => {
  expect(filesOf("conformance")).toEqual(["test/conformance/conformance.test.ts"]);
  expect(filesOf("unit").filter((file) => file.startsWith("test/conformance/"))).toEqual(["test/conformance/run-specs.test.ts"]);
});

test("in lanes the slow files begin, then comes the largest", () => {
  const part = { slow: ["tools/test/sandbox.ts"] };
  const files = ["tools/test/usage.ts", "tools/test/main.ts", "tools/test/sandbox.ts", "tools/test/parts.ts"];
  expect(longestFirst(part, files)[0]).toBe("tools/test/sandbox.ts");
  expect(longestFirst({}, files)[0]).toBe("tools/test/parts.ts");
});
