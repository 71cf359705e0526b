import { expect, test } from "bun:test";
import type { TestCase } from "./junit.ts";
import { describeSkips } from "./skips.ts";

const skip = (name: string): TestCase => ({ file: "a.test.ts", name, outcome: "skipped" });

test("describeSkips() says a need once, however many lack it, and names what has none", () => {
  const lines = describeSkips([
    skip("one (needs cluster)"),
    skip("for no reason"),
    skip("two (needs cluster)"),
    skip("alone (needs root)"),
  ]);
  expect(lines).toEqual([
    expect.stringMatching(/^2 tests want Go \d+\.\d+\.\d+ or newer, which builds a real Kubernetes$/),
    "a.test.ts: for no reason",
    "a.test.ts: alone (needs root)",
  ]);
  expect(describeSkips([skip("of an unknown need (needs wings)"), skip("and another (needs wings)")])).toHaveLength(2);
});
