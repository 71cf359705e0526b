import { describe, expect, test } from "bun:test";
import { checkDoor, checkLayers, checkPackages, checkTestSupport, mayImport } from "./layers.ts";
import { toSourceFile } from "./source-tree.ts";

describe("imports", () => {
  test.each([
    ["valibot", true],
    ["@stricli/core", true],
    ["@stricli/core/x", true],
    ["node:fs", true],
    ["./a.ts", true],
    ["fs", false],
    ["bun", false],
    ["valibots", false],
    ["fast-check", false],
  ])("of packages are those that ship: %s: %p", (specifier, allowed) => {
    const text = `export * from "${specifier}";`;
    expect(checkPackages([toSourceFile("src/lib/a.ts", text)], ["valibot", "@stricli/core"])).toHaveLength(allowed ? 0 : 1);
    expect(checkPackages([toSourceFile("src/lib/a.test.ts", text)], [])).toEqual([]);
  });
});

describe("the direction of imports", () => {
  test.each([
    ["cni", "ipam", true],
    ["endpoint", "ipam", true],
    ["ipam", "endpoint", false],
    ["policy", "ipam", false],
    ["cni", "cli", false],
    ["lib", "linux", false],
    ["linux", "lib", true],
    ["datastore", "api", true],
    ["api", "ipam", false],
    ["datastore", "ipam", false],
    ["ipam", "datastore", true],
    ["api", "datastore", false],
    ["policy", "datastore", false],
  ])("from %s to %s: %p", (from, to, allowed) => {
    expect(mayImport(from, to)).toBe(allowed);
  });

  test("an import upwards is named with file and line", () => {
    const file = toSourceFile("src/lib/x.ts", 'import { a } from "../api/a.ts";\n');
    expect(checkLayers([file])).toEqual(["src/lib/x.ts:1: lib/ imports src/api/a.ts; the direction is downwards only (ARCHITECTURE.md)"]);
  });

  test("the product never imports its tests", () => {
    expect(checkLayers([toSourceFile("src/lib/x.ts", 'import { a } from "../../test/support/a.ts";\n')])).toHaveLength(1);
  });

  test.each([
    ["test/support/a/b.ts", "../c.ts", 0],
    ["test/support/a/b.ts", "../../../src/lib/c.ts", 0],
    ["test/support/a/b.ts", "../../cluster/c.ts", 1],
    ["test/cluster/b.ts", "../support/c.ts", 0],
  ])("%s imports %s: %i problems", (path, specifier, problems) => {
    expect(checkTestSupport([toSourceFile(path, `import { a } from "${specifier}";\n`)])).toHaveLength(problems);
  });

  test("the door reaches roles by import() only", () => {
    const door = 'import { run } from "./cni/main.ts";\nconst role = await import("./cli/main.ts");\n';
    expect(checkDoor([toSourceFile("src/main.ts", door)])).toHaveLength(1);
    expect(checkDoor([toSourceFile("src/cli/a.ts", 'import { x } from "../main.ts";\n')])).toHaveLength(1);
  });
});
