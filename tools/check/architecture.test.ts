import { describe, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { checkForeignCalls, checkWorld } from "./adapters.ts";
import { codeOnly } from "./code-text.ts";
import { checkLength, checkMachinePaths, checkNoFocus, checkPlaces, checkReadmes, checkTestsAreRun } from "./house-rules.ts";
import { checkCircles, checkFolderCircles } from "./circles.ts";
import { checkDocComments } from "./doc-comments.ts";
import { checkDoor, checkLayers, checkPackages, mayImport } from "./layers.ts";
import { checkDriverFolders, DRIVERS } from "./driver-folders.ts";
import { toSourceFile } from "./source-tree.ts";
import { checkCniStart, staticClosure } from "./start-graph.ts";

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

  test("the door reaches roles by import() only", () => {
    const door = 'import { run } from "./cni/main.ts";\nconst role = await import("./cli/main.ts");\n';
    expect(checkDoor([toSourceFile("src/main.ts", door)])).toHaveLength(1);
    expect(checkDoor([toSourceFile("src/cli/a.ts", 'import { x } from "../main.ts";\n')])).toHaveLength(1);
  });
});

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

describe("the folders of a driver", () => {
  const check = (path: string, specifier: string) => checkDriverFolders([toSourceFile(path, `import type { A } from "${specifier}";\n`)]);

  test.each([
    ["src/datastore/kubernetes/writes/a.ts", "../reads/b.ts", true],
    ["src/datastore/kubernetes/reads/a.ts", "../writes/b.ts", false],
    ["src/datastore/kubernetes/reads/a.ts", "./b.ts", true],
    ["src/datastore/kubernetes/reads/a.ts", "../kubernetes-datastore.ts", false],
    ["src/datastore/kubernetes/reads/a.ts", "../../datastore.ts", true],
    ["src/datastore/kubernetes/a.ts", "./reads/b.ts", true],
    ["src/datastore/kubernetes/a.ts", "../etcd/protocol/b.ts", false],
    ["src/datastore/etcd/plans/a.ts", "../client/b.ts", false],
    ["src/datastore/etcd/wire/grpc/a.ts", "../b.ts", true],
    ["src/datastore/etcd/wire/a.ts", "./grpc/b.ts", false],
    ["src/datastore/etcd/wire/grpc/a.ts", "../gateway/b.ts", false],
    ["src/cli/a.ts", "../datastore/etcd/protocol/b.ts", true],
  ])("%s imports %s: %p", (path, specifier, allowed) => {
    expect(check(path, specifier)).toHaveLength(allowed ? 0 : 1);
  });

  test("are all in the table, which has no two that may import each other", () => {
    expect(check("src/datastore/etcd/attic/a.ts", "../protocol/b.ts")).toEqual([
      'src/datastore/etcd/attic/a.ts: "attic" is no folder of src/datastore/etcd: put it into the table of tools/check/driver-folders.ts',
    ]);
    expect(check("src/datastore/zookeeper/a.ts", "../datastore.ts")).toEqual([
      "src/datastore/zookeeper/a.ts: is in no driver's folder: put it into the table of tools/check/driver-folders.ts",
    ]);
    expect(check("src/datastore/config/a.ts", "../datastore.ts")).toEqual([]);
    for (const folders of DRIVERS.values()) {
      const names = [...folders.keys()];
      for (const [folder, mayImport] of folders)
        expect(names.slice(0, names.indexOf(folder))).toEqual(expect.arrayContaining([...mayImport]));
    }
  });
});

describe("the outside world", () => {
  test.each([
    "const t = Date.now();",
    "const t = new Date();",
    "const r = Math.random();",
    "setTimeout(f, 1);",
    'await fetch("http://a");',
    "Bun.spawn([]);",
    'Bun.file("x");',
    'import { readFileSync } from "node:fs";',
    'const net = await import("node:net");',
    'const net = known ?? import("node:net");',
    'const fs = require("node:fs");',
    'import { env } from "node:process";',
    'import { setTimeout as wait } from "node:timers/promises";',
    'import { Worker } from "node:worker_threads";',
    'await globalThis.fetch("http://a");',
    "const text = `http://a`; const t = Date.now();",
    "const text = `it's ${Date.now()}`;",
    'const quote = /"/; const t = Date.now(); const text = "a";',
    "process.env.HOME;",
    "process.stdout.write(a);",
  ])("is not touched by domain code: %s", (code) => {
    expect(checkWorld([toSourceFile("src/ipam/x.ts", code)])).not.toEqual([]);
  });

  test.each([
    "// Date.now() is handed in",
    'const text = "Math.random";',
    "store.fetch(key);",
    "new Date(0);",
    "/** fetch( */",
    'import type { Stats } from "node:fs";',
  ])("is not seen in: %s", (code) => {
    expect(checkWorld([toSourceFile("src/ipam/x.ts", code)])).toEqual([]);
  });

  test("may be touched by its adapter, but standard streams by nobody", () => {
    expect(checkWorld([toSourceFile("src/lib/clock.ts", "Date.now();")])).toEqual([]);
    expect(checkWorld([toSourceFile("src/linux/a.ts", "process.stdin.on();")])).toHaveLength(1);
  });

  test("libc is called in src/linux/ only", () => {
    const text = 'import { dlopen } from "bun:ffi";\n';
    expect(checkForeignCalls([toSourceFile("src/linux/libc.ts", text)])).toEqual([]);
    expect(checkForeignCalls([toSourceFile("src/cni/x.ts", text)])).toHaveLength(1);
  });
});

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

describe("files", () => {
  test("have 400 lines at most", () => {
    expect(checkLength([toSourceFile("src/lib/a.ts", "x\n".repeat(400))])).toEqual([]);
    expect(checkLength([toSourceFile("src/lib/a.ts", "x\n".repeat(401))])).toHaveLength(1);
  });

  test.each([
    ["/** What it is for. */\nexport const a = 1;", 0],
    ["export const a = 1;", 1],
    ["// no doc comment\nexport function a() {}", 1],
    ["/** Of the file. */\n\nexport interface A {}", 1],
    ["/** For one. */\nexport function a(x: 1): 1;\nexport function a(x: 2): 2;", 0],
    ["// errno.h\nexport const EPERM = 1;\n/** Another one. */\nexport const ENOENT = 2;", 0],
    ["export const EPERM = 1;", 1],
    ["// oxlint-disable-next-line no-magic-numbers\nexport const EPERM = 1;", 1],
    ["/* For one. */\nexport const EPERM = 1;", 1],
    ["/* For one. */\nexport function a() {}", 1],
    ["/** */\nexport function a() {}", 1],
    ["/**\n * What it is for.\n *\n * @returns 1\n */\nexport function a() {}", 0],
    ["/** For another. */\nfunction b() {} /* b */\nexport function a() {}", 1],
    ["const a = 1;", 0],
    ["const a = 1;\nexport { a };", 1],
    ["/** Two. */\nexport const { a, b } = c;", 1],
    ["/** One that changes. */\nexport let a = 1;", 1],
  ])("have a doc comment for each export: %j", (text, problems) => {
    expect(checkDocComments([toSourceFile("src/lib/a.ts", text)])).toHaveLength(problems);
    expect(checkDocComments([toSourceFile("test/support/a.ts", text), toSourceFile("src/lib/a.test.ts", text)])).toEqual([]);
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

test.each([
  ['a; // b\n/* c\n d */ e("f");', 'a;     \n    \n      e(" ");'],
  ["`a // ${b({ c: `'d` })} \\` e` + f", "`     ${b({ c: `  ` })}     ` + f"],
  ['a = /[/"`]/g; // b', "a = /     /g;     "],
  ["a / b; `c` / 2", "a / b; ` ` / 2"],
])("codeOnly() keeps line breaks and code, and blanks prose: %j", (text, code) => {
  expect(codeOnly(text)).toBe(code);
});
