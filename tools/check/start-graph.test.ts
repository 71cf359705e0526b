import { describe, expect, test } from "bun:test";
import { toSourceFile } from "./source-tree.ts";
import { checkCniStart, staticClosure } from "./start-graph.ts";

describe("what a call of the plugin loads", () => {
  const door = toSourceFile("src/main.ts", 'await import("./cni/program.ts");');
  const file = (path: string, ...lines: string[]) => toSourceFile(path, lines.join("\n"));

  test("follows static imports and neither types nor import()", () => {
    const files = [
      file("src/cni/program.ts", 'import { a } from "./a.ts";', 'import type { B } from "./b.ts";', 'await import("./c.ts");'),
      file("src/cni/a.ts"),
      file("src/cni/b.ts"),
      file("src/cni/c.ts"),
    ];
    expect([...staticClosure(files, "src/cni/program.ts").keys()]).toEqual(["src/cni/program.ts", "src/cni/a.ts"]);
  });

  test.each(["valibot", "@stricli/core", "node:fs", "yaml"])("is not %s", (specifier) => {
    const files = [
      door,
      file("src/cni/program.ts", 'import { a } from "../lib/a.ts";'),
      file("src/lib/a.ts", `import { x } from "${specifier}";`),
    ];
    expect(checkCniStart(files)).toEqual([
      `src/lib/a.ts loads "${specifier}" in every call of the plugin: src/cni/program.ts → src/lib/a.ts; import() it where it is needed`,
    ]);
  });

  test("stays within its budget", () => {
    const files = [door, file("src/cni/program.ts", 'import { a } from "./a.ts"; a();'), file("src/cni/a.ts")];
    expect(checkCniStart(files, { modules: 2, codeBytes: 100 })).toEqual([]);
    expect(checkCniStart(files, { modules: 1, codeBytes: 10 })).toHaveLength(2);
  });

  test("counts code, and neither types nor comments", () => {
    const files = [door, file("src/cni/program.ts", `/** ${"x".repeat(100)} */`, `type A = "${"x".repeat(100)}";`, "export const a = 1;")];
    expect(checkCniStart(files, { modules: 1, codeBytes: 20 })).toEqual([]);
    expect(checkCniStart(files, { modules: 1, codeBytes: 19 })).toHaveLength(1);
  });
});
