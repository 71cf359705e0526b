/** The oldest Kubernetes that we name takes the definitions: its own validation code, of that release, says so. */

import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { customResourceDefinitions, OLDEST_KUBERNETES } from "../../src/api/crd/mod.ts";
import { MANIFEST } from "./api.ts";

const program = process.env["OLDEST_KUBERNETES"];

/** One line for each definition that is taken, or for each fault. */
function ask(manifest: string): { readonly status: number; readonly lines: readonly string[] } {
  const result = Bun.spawnSync([program ?? ""], { stdin: Buffer.from(manifest), stdout: "pipe", stderr: "pipe" });
  return { status: result.exitCode, lines: result.stdout.toString().trim().split("\n") };
}

test("the release that is asked is the one that the manifest names", () => {
  const [major, minor] = OLDEST_KUBERNETES.split(".");
  expect(major).toBe("1");
  const module = readFileSync(join(import.meta.dir, "oldest-kubernetes/go.mod"), "utf8");
  expect(module).toContain(`\tk8s.io/apiextensions-apiserver v0.${minor}.`);
  expect(MANIFEST).toContain(`# Kubernetes ${OLDEST_KUBERNETES} or newer.`);
});

test.skipIf(program === undefined)("it takes every definition, with all rules and within its budget (needs go)", () => {
  expect(ask(MANIFEST)).toEqual({ status: 0, lines: customResourceDefinitions().map(({ metadata }) => `${metadata.name}: taken`) });
});

test.skipIf(program === undefined)("it refuses rules that it cannot compute, and rules that cost too much (needs go)", () => {
  const unknown = ask(MANIFEST.replace("isCIDR(self) ?", "isNothingKnown(self) ?"));
  expect(unknown.status).toBe(1);
  expect(unknown.lines.join("\n")).toContain("isNothingKnown");
  const costly = ask(MANIFEST.replaceAll("maxItems: 256", "maxItems: 25600"));
  expect(costly.status).toBe(1);
  expect(costly.lines.join("\n")).toContain("exceeds budget");
});
