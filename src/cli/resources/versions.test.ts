import { describe, expect, test } from "bun:test";
import { isOlder, isVersion } from "./versions.ts";

describe("a version is older by major and minor number", () => {
  test.each([
    ["v1.30.14", true],
    ["v1.9.0", true],
    ["1.30", true],
    ["v0.99.0", true],
    ["v1.31.0", false],
    ["v1.31.0-rc.1+k3s1", false],
    ["v1.100.0", false],
    ["v2.0.0", false],
    ["v2.31.0", false],
    ["", false],
    ["unknown", false],
    [undefined, false],
  ])("than 1.31: %p, %p", (version, older) => expect(isOlder(version, "1.31", "minor")).toBe(older));
});

describe("a version is older by its patch, too", () => {
  test.each([
    ["v3.31.1", true],
    ["v3.31", true],
    ["v3.9.10", true],
    ["v2.99.99", true],
    ["v3.31.2", false],
    ["v3.31.10", false],
    ["v3.32.0", false],
    ["v4.0.0", false],
    ["something", false],
    [undefined, false],
  ])("than v3.31.2: %p, %p", (version, older) => expect(isOlder(version, "v3.31.2", "patch")).toBe(older));
});

test("nothing is older than text that is no version", () => {
  expect([
    isOlder("v3.31.0", "something", "minor"),
    isOlder("v3.31.0", undefined, "patch"),
    isVersion("something"),
    isVersion("v3.31.0"),
  ]).toEqual([false, false, false, true]);
});
