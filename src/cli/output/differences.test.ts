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

test("a long list that is another one now is shown at once, the old lines before the new", () => {
  const reservation = (second: number): Resource => {
    const reservedCIDRs = Array.from({ length: 10_000 }, (_, i) => `10.${second}.${i >> 8}.${i & 255}/32`);
    return { apiVersion: "netplug.io/v3", kind: "IPReservation", metadata: { name: "long" }, spec: { reservedCIDRs } };
  };
  const created = toDifferences(undefined, reservation(1), { origin: "list.yaml", colour: false }).split("\n");
  expect([created.length, ...created.slice(0, 4)]).toEqual([
    10_010,
    "--- /dev/null",
    "+++ ipreservation/long of list.yaml",
    "@@ -0,0 +1,10006 @@",
    "+apiVersion: netplug.io/v3",
  ]);
  const lines = toDifferences(reservation(0), reservation(1), { origin: "list.yaml", colour: false }).split("\n");
  expect(lines.slice(0, 4)).toEqual([
    "--- ipreservation/long as it is",
    "+++ ipreservation/long of list.yaml",
    "@@ -1,10006 +1,10006 @@",
    "-apiVersion: netplug.io/v3",
  ]);
  expect(lines.slice(10_007, 10_010)).toEqual(["-    - 10.0.39.14/32", "-    - 10.0.39.15/32", "+apiVersion: netplug.io/v3"]);
  expect(lines.slice(-2)).toEqual(["+    - 10.1.39.15/32", ""]);
}, 30_000);
