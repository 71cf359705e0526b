import { expect, test } from "bun:test";
import { parseJunit } from "./junit.ts";

const REPORT = `<?xml version="1.0" encoding="UTF-8"?>
<testsuites name="bun test" tests="4">
  <testsuite name="a.test.ts" file="a.test.ts">
    <testcase name="adds &lt;two&gt; &quot;pods&quot;&#10;here" classname="ADD" time="0.1" file="a.test.ts" line="2" assertions="1" />
    <testcase name="skips" classname="" file="a.test.ts">
      <skipped />
    </testcase>
    <testcase name="fails" classname="" file="a.test.ts">
      <failure type="AssertionError" message="no">no</failure>
    </testcase>
    <testcase name="last" classname="" file="a.test.ts" />
  </testsuite>
</testsuites>`;

test("parseJunit() gives each case its outcome and its whole name", () => {
  expect(parseJunit(REPORT)).toEqual([
    { file: "a.test.ts", name: 'ADD > adds <two> "pods"\nhere', outcome: "passed" },
    { file: "a.test.ts", name: "skips", outcome: "skipped" },
    { file: "a.test.ts", name: "fails", outcome: "failed" },
    { file: "a.test.ts", name: "last", outcome: "passed" },
  ]);
});
