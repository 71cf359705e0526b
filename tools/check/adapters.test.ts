import { describe, expect, test } from "bun:test";
import { checkForeignCalls, checkWorld } from "./adapters.ts";
import { toSourceFile } from "./source-tree.ts";

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
