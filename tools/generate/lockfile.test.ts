import { expect, test } from "bun:test";
import { completeLockfile } from "./lockfile.ts";

const tool = {
  version: "1.2.0",
  dev: true,
  license: "MIT",
  optionalDependencies: { "@tool/linux-arm-musleabihf": "1.2.0", "@tool/linux-x64-gnu": "1.2.0" },
};
const present = { version: "1.2.0", integrity: "sha512-x", optional: true };

function lockfile(packages: object): string {
  return `${JSON.stringify({ name: "netplug", lockfileVersion: 3, packages: { "": { name: "netplug" }, ...packages } }, undefined, 2)}\n`;
}

test("an optional package that the registry does not have gets an entry that npm ci skips on other platforms", () => {
  const added = { version: "1.2.0", cpu: ["arm"], dev: true, libc: ["musl"], license: "MIT", optional: true, os: ["linux"] };
  expect(completeLockfile(lockfile({ "node_modules/@tool/linux-x64-gnu": present, "node_modules/tool": tool }))).toBe(
    lockfile({ "node_modules/@tool/linux-arm-musleabihf": added, "node_modules/@tool/linux-x64-gnu": present, "node_modules/tool": tool }),
  );
});

test("a lockfile that lacks nothing stays as it is, to the letter", () => {
  const text = lockfile({ "node_modules/zod": { version: "4.0.0" }, "node_modules/abc": { version: "1.0.0" } });
  expect(completeLockfile(text)).toBe(text);
});

test("an optional package of no known platform is named, not invented", () => {
  const text = lockfile({ "node_modules/tool": { ...tool, optionalDependencies: { "@tool/plan9": "1.2.0" } } });
  expect(() => completeLockfile(text)).toThrow('package-lock.json lacks "@tool/plan9"');
});
