import { expect, test } from "bun:test";
import { checkLockfile } from "./lockfile.ts";

const tool = { integrity: "sha512-x", optionalDependencies: { "@tool/linux-x64-gnu": "1.2.0", "@tool/linux-arm-musleabihf": "1.2.0" } };
const gnu = { version: "1.2.0", integrity: "sha512-x", optional: true };
const musl = { version: "1.2.0", integrity: "sha512-y", optional: true };

function lockfile(packages: object): string {
  return JSON.stringify({ name: "netplug", lockfileVersion: 3, packages: { "": { name: "netplug" }, ...packages } }, undefined, 2);
}

test("a lockfile with all checksums, and without a download address, is fine", () => {
  const text = lockfile({
    "node_modules/@tool/linux-x64-gnu": gnu,
    "node_modules/@tool/linux-arm-musleabihf": musl,
    "node_modules/tool": tool,
  });
  expect(checkLockfile(text)).toEqual([]);
});

test.each<[what: string, musl: object]>([
  ["without a checksum", { "node_modules/@tool/linux-arm-musleabihf": { version: "1.2.0", optional: true } }],
  ["that is missing", {}],
])("a package of another platform %s is named once", (_, other) => {
  expect(checkLockfile(lockfile({ "node_modules/@tool/linux-x64-gnu": gnu, ...other, "node_modules/tool": tool }))).toEqual([
    expect.stringContaining('no checksum of "@tool/linux-arm-musleabihf"'),
  ]);
});

test("a package inside another one is named without its folder", () => {
  expect(checkLockfile(lockfile({ "node_modules/a/node_modules/@b/c": {} }))).toEqual([expect.stringContaining('no checksum of "@b/c"')]);
});

test("a download address is named with its line", () => {
  expect(checkLockfile(lockfile({ "node_modules/a": { resolved: "https://example.org/a.tgz", integrity: "sha512-x" } }))).toEqual([
    expect.stringContaining("package-lock.json:9: holds a download address"),
  ]);
});
