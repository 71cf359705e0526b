import { expect, test } from "bun:test";
import { onSameFiles } from "./same-files.ts";

test.each([
  [["pools.yaml"], "apply -f pools.yaml"],
  [["a b.yaml", "pools/"], "apply -f 'a b.yaml' -f pools/"],
  [["-", "pools.yaml"], "apply -f FILE -f pools.yaml"],
  [["/dev/stdin", "/dev/fd/63"], "apply -f FILE -f FILE"],
])("files that were named are named again, but where only this process finds them: %j", (filename, line) => {
  expect(onSameFiles("apply", { filename })).toBe(line);
});

test("the namespace is named again", () => {
  expect(onSameFiles("validate", { filename: ["w.yaml"], namespace: "shop" })).toBe("validate -f w.yaml -n shop");
});
