/** Every document for users: its links lead somewhere, and what it says to write is accepted. */

import { expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { ALL_KINDS } from "../../src/api/registry.ts";
import { validateResource } from "../../src/api/validate.ts";
import { checkSelector } from "../../src/policy/selector/check.ts";
import { repositoryRoot } from "../repository.ts";

const DOCUMENTS = [
  ...readdirSync(repositoryRoot).filter((name) => name.endsWith(".md")),
  ...readdirSync(join(repositoryRoot, "docs"), { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".md"))
    .map((name) => join("docs", name)),
];

/** What a heading is reached by, as the usual renderers make it. */
function anchorsOf(text: string): ReadonlySet<string> {
  const headings = [...text.replace(/^```[\s\S]*?^```$/gm, "").matchAll(/^#+ (.*)$/gm)].map(([, heading = ""]) => heading);
  return new Set(
    headings.map((heading) =>
      heading
        .toLowerCase()
        .replace(/[^\w\- ]/g, "")
        .replaceAll(" ", "-"),
    ),
  );
}

test.each(DOCUMENTS)("the links of %s lead somewhere", (path) => {
  const text = readFileSync(join(repositoryRoot, path), "utf8");
  const links = [...text.matchAll(/\]\(([^)\s]+)\)/g)].map(([, link = ""]) => link).filter((link) => !/^[a-z]+:/.test(link));
  const dead = links.filter((link) => {
    const [file = "", anchor] = link.split("#", 2);
    const target = file === "" ? path : join(dirname(path), file);
    if (!existsSync(join(repositoryRoot, target))) return true;
    return anchor !== undefined && !anchorsOf(readFileSync(join(repositoryRoot, target), "utf8")).has(anchor);
  });
  expect(dead).toEqual([]);
});

/** Our objects in blocks of code, be they YAML or what a shell command reads. */
function objectsIn(text: string): readonly unknown[] {
  return [...text.matchAll(/^```\w*\n([\s\S]*?)^```$/gm)]
    .flatMap(([, code = ""]) => code.split(/^(?:---|EOF|.*<<'?EOF'?.*)$/m))
    .filter((part) => part.includes("apiVersion: netplug.io/v3"))
    .map((part) => Bun.YAML.parse(part))
    .filter((object) => ALL_KINDS.some(({ kind }) => kind === (object as { readonly kind?: unknown }).kind));
}

test("the objects that documents show are valid", () => {
  const objects = DOCUMENTS.flatMap((path) => objectsIn(readFileSync(join(repositoryRoot, path), "utf8")));
  expect(objects.length).toBeGreaterThan(4);
  for (const object of objects) expect(() => validateResource(object, { checkSelector })).not.toThrow();
});
