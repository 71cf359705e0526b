import { afterEach, beforeEach, expect, test } from "bun:test";
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { repositoryRoot } from "../repository.ts";
import { checkGenerated } from "./main.ts";

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "npgt-generated-"));
  for (const path of ["docs", "manifests"]) cpSync(join(repositoryRoot, path), join(root, path), { recursive: true });
});
afterEach(() => rmSync(root, { recursive: true }));

test("generated files are what their source makes", () => {
  expect(checkGenerated(root)).toEqual([]);
});

test.each(["manifests/crds.yaml", "docs/errors.md"])("%s that is stale, or gone, is named with what makes it anew", (path) => {
  const file = join(root, path);
  const stale = [`${path}: not what its source makes: npm run generate`];
  writeFileSync(file, readFileSync(file, "utf8").replace(/address|netplug/u, "npg"));
  expect(checkGenerated(root)).toEqual(stale);
  rmSync(file);
  expect(checkGenerated(root)).toEqual(stale);
});
