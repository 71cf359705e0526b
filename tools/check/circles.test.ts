import { describe, expect, test } from "bun:test";
import { checkCircles, checkFolderCircles } from "./circles.ts";
import { toSourceFile } from "./source-tree.ts";

describe("imports in a circle", () => {
  const a = 'import { b } from "./b.ts";';
  const check = (b: string) => checkCircles([toSourceFile("src/lib/a.ts", a), toSourceFile("src/lib/b.ts", b)]);

  test.each(['import { a } from "./a.ts";', 'import type { A } from "./a.ts";', 'await import("./a.ts");'])("%s", (back) => {
    expect(check(back)).toEqual(["src/lib/a.ts -> src/lib/b.ts -> src/lib/a.ts: imports run in a circle; move what both need below them"]);
  });

  test("two ways to one file are none", () => {
    const [b, c] = [toSourceFile("src/lib/b.ts", 'import { c } from "./c.ts";'), toSourceFile("src/lib/c.ts", "")];
    expect(checkCircles([toSourceFile("src/lib/a.ts", `${a}\nimport { c } from "./c.ts";`), b, c])).toEqual([]);
  });
});

describe("folders in a circle", () => {
  const file = (path: string, target: string) => toSourceFile(`src/cni/${path}`, `import { x } from "${target}";`);

  test.each([
    [
      "two",
      [file("add/a.ts", "../pod/b.ts"), file("pod/c.ts", "../add/d.ts")],
      "src/cni/add -> src/cni/pod (src/cni/add/a.ts:1) -> src/cni/add",
    ],
    ["by a third", [file("a/a.ts", "../b/b.ts"), file("b/c.ts", "../c/c.ts"), file("c/d.ts", "../a/e.ts")], "(src/cni/c/d.ts:1)"],
    ["below one", [file("add/a/a.ts", "../b/b.ts"), file("add/b/c.ts", "../a/d.ts")], "src/cni/add/a -> src/cni/add/b"],
    ["roles", [file("a.ts", "../cli/b.ts"), toSourceFile("src/cli/c.ts", 'await import("../cni/d.ts");')], "src/cni -> src/cli"],
  ])("%s", (_, files, problem) => {
    expect(checkFolderCircles(files)).toEqual([expect.stringContaining(problem)]);
  });

  test("a file beside folders is above or below them", () => {
    expect(checkFolderCircles([file("add/a.ts", "../call.ts"), file("plugin.ts", "./add/a.ts"), file("call.ts", "./pod/b.ts")])).toEqual(
      [],
    );
  });
});
