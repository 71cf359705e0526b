import { describe, expect, test } from "bun:test";
import { checkDocComments } from "./doc-comments.ts";
import { toSourceFile } from "./source-tree.ts";

describe("files", () => {
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
});
