import { expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { checkLinks } from "./links.ts";

const OTHER = "# Other\n\n## Where `a` is, and b\n\n```\n# no heading\n[no link](none.md)\n```\n";

/** What the check finds in a README beside `docs/other.md`. */
function problemsOf(readme: string): readonly string[] {
  const root = mkdtempSync(join(tmpdir(), "npgt-links-"));
  try {
    mkdirSync(join(root, "docs"));
    writeFileSync(join(root, "README.md"), readme);
    writeFileSync(join(root, "docs/other.md"), OTHER);
    return checkLinks(root, ["README.md", "docs/other.md", "removed.md"]);
  } finally {
    rmSync(root, { recursive: true });
  }
}

test.each([
  "[other](docs/other.md)",
  "[a heading](docs/other.md#where-a-is-and-b)",
  "# Here\n\n[itself](#here)",
  "[a folder](docs)",
  "[elsewhere](https://example.org/none.md#none)",
])("%j is fine", (readme) => {
  expect(problemsOf(readme)).toEqual([]);
});

test.each([
  ["[a](docs/none.md)", "README.md: links to docs/none.md, which is not there"],
  ["[a\nb](other.md#other)", "README.md: links to other.md, which is not there"],
  ["| a |\n|---|\n| [a](docs/other.md#no-heading) |", 'README.md: links to a heading "no-heading" that docs/other.md does not have'],
  ["[itself](#there)", 'README.md: links to a heading "there" that README.md does not have'],
])("%j is not", (readme, problem) => {
  expect(problemsOf(readme)).toEqual([problem]);
});
