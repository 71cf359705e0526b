import { expect, test } from "bun:test";
import { isLabelValue } from "../../../lib/characters.ts";
import { toLabelValue } from "./label-value.ts";

test("a text that no label may have is replaced by its hash, which is such a value", () => {
  expect(toLabelValue("n1.example.org")).toBe("n1.example.org");
  expect(toLabelValue("")).toBe("sha1-da39a3ee5e6b4b0d3255bfef95601890afd80709"); // as `sha1sum` has it of no bytes
  expect(isLabelValue(toLabelValue("a".repeat(64)))).toBe(true);
});
