import { expect, test } from "bun:test";
import type { Resource } from "../../api/resource.ts";
import { toDifferences } from "./differences.ts";

function pool(disabled: boolean, more: object = {}): Resource {
  const metadata = { name: "blue", ...more };
  return { apiVersion: "netplug.io/v3", kind: "IPPool", metadata, spec: { disabled } };
}

test("on a terminal, what goes is red and what comes is green", () => {
  const text = toDifferences(pool(false), pool(true), { origin: "pools.yaml", colour: true });
  expect(text.split("\n").filter((line) => line.includes("\x1b"))).toEqual([
    "\x1b[31m--- ippool/blue as it is\x1b[39m",
    "\x1b[32m+++ ippool/blue of pools.yaml\x1b[39m",
    "\x1b[31m-  disabled: false\x1b[39m",
    "\x1b[32m+  disabled: true\x1b[39m",
  ]);
});

test("identity and version of an object are no difference, and no text moves the cursor", () => {
  const text = toDifferences(pool(false, { uid: "u1", resourceVersion: "7" }), pool(false, { annotations: { note: "\x1b[2J" } }), {
    origin: "\x1b[2J.yaml",
    colour: false,
  });
  expect(text).not.toMatch(/uid|resourceVersion|\x1b/);
  expect(text).toContain('+    note: "\\e[2J"\n');
});
