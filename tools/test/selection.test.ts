import { expect, test } from "bun:test";
import { TaskFailure } from "../terminal.ts";
import { TEST_PARTS } from "./parts.ts";
import { parseSelection } from "./selection.ts";

const chosenBy = (...args: readonly string[]): readonly string[] => parseSelection(args).parts.map(({ name }) => name);

test("nothing chooses all, a name a part, a path the parts that have such a file", () => {
  expect(chosenBy()).toEqual(TEST_PARTS.map(({ name }) => name));
  expect(chosenBy("kernel")).toEqual(["kernel"]);
  expect(chosenBy("test/cni/add.test.ts")).toEqual(["cni", "cni-kubernetes"]);
  expect(chosenBy("cni", "test/cni/add.test.ts")).toEqual(["cni"]);
  expect([[], ["check"], ["unit"]].map((args) => parseSelection(args).withChecks)).toEqual([true, true, false]);
});

test.each([
  [["unti"], 'no part of the suite is called "unti"'],
  [["test/cni/add.test.ts", "test/cni/typpo"], 'no test file has a path that contains "test/cni/typpo"'],
  [["kernel", "cli", "test/cni/add.test.ts"], 'no test file of kernel, cli has a path that contains "test/cni/add.test.ts"'],
  [["check", "test/cni/add.test.ts"], 'no test file of check has a path that contains "test/cni/add.test.ts"'],
])("what chooses nothing is named: %j", (args, message) => {
  expect(() => parseSelection(args)).toThrow(TaskFailure);
  expect(() => parseSelection(args)).toThrow(message);
});
