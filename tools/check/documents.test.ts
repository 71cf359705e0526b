/** Every document: its links lead somewhere, the files that it names are there, and what it says to write is accepted. */

import { expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { ALL_KINDS } from "../../src/api/registry.ts";
import { validateResource } from "../../src/api/validate.ts";
import { checkSelector } from "../../src/policy/selector/check.ts";
import { repositoryRoot } from "../repository.ts";
import { checkLinks } from "./links.ts";

const DOCUMENTS = ["*.md", "{docs,manifests,src,test,tools}/**/*.md"].flatMap((pattern) => [
  ...new Bun.Glob(pattern).scanSync(repositoryRoot),
]);

test("the links of all documents lead somewhere", () => {
  expect(checkLinks(repositoryRoot, DOCUMENTS)).toEqual([]);
});

test.each(DOCUMENTS)("the files that %s names are there", (path) => {
  const text = readFileSync(join(repositoryRoot, path), "utf8");
  const named = [...text.matchAll(/`((?:docs|manifests|src|test|tools)\/[\w./-]+)`/g)].map(([, file = ""]) => file);
  expect(named.filter((file) => !existsSync(join(repositoryRoot, file)))).toEqual([]);
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
