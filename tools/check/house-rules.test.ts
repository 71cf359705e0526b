import { describe, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { checkLength, checkMachinePaths, checkNoFocus, checkPlaces, checkReadmes, checkTestsAreRun } from "./house-rules.ts";
import { toSourceFile } from "./source-tree.ts";

describe("files", () => {
  test("have 400 lines at most", () => {
    expect(checkLength([toSourceFile("src/lib/a.ts", "x\n".repeat(400))])).toEqual([]);
    expect(checkLength([toSourceFile("src/lib/a.ts", "x\n".repeat(401))])).toHaveLength(1);
  });

  test("name no folder of one machine", async () => {
    const folder = `${import.meta.dir}/`;
    const name = "sample.generated.md";
    await Bun.write(folder + name, `see /${"work"}/main and /var/lib/netplug, docs/work/x, \`/${"root"}/.cache\`\n`);
    try {
      expect(checkMachinePaths(folder, [name])).toHaveLength(2);
    } finally {
      await Bun.file(folder + name).delete();
    }
  });

  test("with tests belong to a part of the suite and focus on nothing", () => {
    const stray = toSourceFile("test/other/a.test.ts", `test.${"only"}("x", () => {});`);
    expect(checkTestsAreRun([stray], ["test/other/b.test.ts"])).toHaveLength(1);
    expect(checkTestsAreRun([stray], ["test/other/a.test.ts"])).toEqual([]);
    expect(checkNoFocus([stray])).toHaveLength(1);
  });

  test.each(["test.concurrent.ONLY(", "describe.ONLY.each(", "ofOurs.ONLY(", "test\n  .ONLY("])(
    "with tests focus on nothing: %j",
    (text) => {
      expect(checkNoFocus([toSourceFile("src/lib/a.test.ts", text.replace("ONLY", "only"))])).toHaveLength(1);
    },
  );

  test("of code are where the checks look", () => {
    expect(checkPlaces(["src/lib/a.ts", "tools/run.mjs", "docs/a.md", "test/cni/a.test.ts"])).toEqual([]);
    expect(checkPlaces(["a.ts", "docs/a.ts", "src/lib/a.js", "src/lib/a.mts", "test/a.tsx", "tools/other.mjs"])).toHaveLength(6);
  });

  test("that say what a folder is for say something", () => {
    const root = mkdtempSync(join(tmpdir(), "npgt-readmes-"));
    try {
      mkdirSync(join(root, "src/lib"), { recursive: true });
      writeFileSync(join(root, "src/lib/a.ts"), "");
      expect(checkReadmes(root)).toEqual([expect.stringContaining("src/lib/README.md: missing")]);
      writeFileSync(join(root, "src/lib/README.md"), "\n");
      expect(checkReadmes(root)).toEqual([expect.stringContaining("src/lib/README.md: empty")]);
      writeFileSync(join(root, "src/lib/README.md"), "# lib\n".repeat(15));
      expect(checkReadmes(root)).toEqual([]);
      writeFileSync(join(root, "src/lib/README.md"), "# lib\n".repeat(16));
      expect(checkReadmes(root)).toEqual([expect.stringContaining("16 lines")]);
    } finally {
      rmSync(root, { recursive: true });
    }
  });
});
