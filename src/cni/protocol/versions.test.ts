import { expect, test } from "bun:test";
import {
  firstVersionOf,
  hasVerb,
  isAtLeast,
  isSupportedVersion,
  isVerb,
  SUPPORTED_VERSIONS,
  toVersionInfo,
  VERBS,
  type CniVerb,
} from "./versions.ts";

test("versions are compared by their numbers, not as text", () => {
  expect(isAtLeast("0.4.0", "0.3.1")).toBe(true);
  expect(isAtLeast("0.3.1", "0.4.0")).toBe(false);
  expect(isAtLeast("1.0.0", "1.0.0")).toBe(true);
  expect([...SUPPORTED_VERSIONS].sort(Bun.semver.order)).toEqual([...SUPPORTED_VERSIONS]);
});

test.each([
  ["ADD", SUPPORTED_VERSIONS],
  ["DEL", SUPPORTED_VERSIONS],
  ["VERSION", SUPPORTED_VERSIONS],
  ["CHECK", ["0.4.0", "1.0.0", "1.1.0"]],
  ["STATUS", ["1.1.0"]],
  ["GC", ["1.1.0"]],
] as const)("%s exists in %p", (verb, versions) => {
  expect(SUPPORTED_VERSIONS.filter((version) => hasVerb(version, verb))).toEqual([...versions]);
  expect(firstVersionOf(verb)).toBe(versions[0] ?? "1.1.0");
});

test("only the verbs of CNI are verbs, and only in capitals", () => {
  expect(VERBS.filter(isVerb)).toEqual(["ADD", "DEL", "CHECK", "STATUS", "GC", "VERSION"] satisfies CniVerb[]);
  expect(["add", "", "UPDATE", "constructor", "__proto__"].some(isVerb)).toBe(false);
});

test("a version between or beyond ours is not supported", () => {
  expect(["0.3.2", "1.2.0", "1.1", "", "v1.0.0"].some(isSupportedVersion)).toBe(false);
});

test("VERSION answers with the latest version and all that are supported", () => {
  expect(JSON.stringify(toVersionInfo())).toBe(
    '{"cniVersion":"1.1.0","supportedVersions":["0.1.0","0.2.0","0.3.0","0.3.1","0.4.0","1.0.0","1.1.0"]}',
  );
});
