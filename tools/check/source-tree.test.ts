import { describe, expect, test } from "bun:test";
import { toSourceFile } from "./source-tree.ts";

describe("imports", () => {
  test("are told apart as type, static and dynamic, with their line", () => {
    const { imports } = toSourceFile(
      "src/cni/a.ts",
      [
        'import type { A } from "../lib/a.ts";',
        'import { b } from "../lib/b.ts";',
        "export {",
        "  c,",
        '} from "./c.ts";',
        'const d = await import("../cli/d.ts");',
        'import "bun:test";',
      ].join("\n"),
    );
    expect(imports.map(({ target, specifier, kind, line }) => [target ?? specifier, kind, line])).toEqual([
      ["src/lib/a.ts", "type", 1],
      ["src/lib/b.ts", "static", 2],
      ["src/cni/c.ts", "static", 3],
      ["bun:test", "static", 7],
      ["src/cli/d.ts", "dynamic", 6],
    ]);
  });

  test.each([
    ["import {\n  a, // it's one; the other\n  b,\n} from './a.ts';", "static"],
    ["import /* { b } */ { a } from './a.ts';", "static"],
    ["export * from './a.ts';", "static"],
    ["export type { A } from './a.ts';", "type"],
    ["const a = require('./a.ts');", "static"],
    ["const a = import.meta.require('./a.ts');", "static"],
    ["const a = import(`./a.ts`);", "dynamic"],
    ["const a = import(/* why */ './a.ts');", "dynamic"],
    ["const a = isThere ? b : import('./a.ts');", "dynamic"],
    ["const a = b || import('./a.ts');", "dynamic"],
  ] as const)("are found however they are written: %j", (text, kind) => {
    expect(toSourceFile("src/lib/b.ts", text).imports).toEqual([{ specifier: "./a.ts", target: "src/lib/a.ts", kind, line: 1 }]);
  });

  test.each(["// import { a } from './a.ts';", "/*\nimport './a.ts';\n*/", "/** Reached by `import('./a.ts')`. */"])(
    "are not seen in %j",
    (text) => {
      expect(toSourceFile("src/lib/b.ts", text).imports).toEqual([]);
    },
  );
});
