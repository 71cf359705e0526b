/** Files that are made from source, so that they cannot say something else than the code does. */

import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Problem } from "../check/problem.ts";
import { repositoryRoot } from "../repository.ts";
import { say, TaskFailure } from "../terminal.ts";
import { crdsManifest } from "./crds.ts";
import { errorsDocument } from "./errors.ts";
import { resourcesDocument } from "./resources.ts";

interface GeneratedFile {
  readonly path: string;
  readonly content: () => string;
}

const GENERATED: readonly GeneratedFile[] = [
  { path: "docs/errors.md", content: errorsDocument },
  { path: "docs/resources.md", content: resourcesDocument },
  { path: "manifests/crds.yaml", content: crdsManifest },
];

/** Names the files that are not what their source makes of them. @param root the folder that they are in */
export function checkGenerated(root = repositoryRoot): Problem[] {
  return GENERATED.filter(({ path, content }) => {
    const file = join(root, path);
    return !existsSync(file) || readFileSync(file, "utf8") !== content();
  }).map(({ path }) => `${path}: not what its source makes: npm run generate`);
}

/** The task `npm run generate`. */
export async function runGenerate(args: readonly string[]): Promise<number> {
  if (args[0] !== undefined) throw new TaskFailure(`npm run generate: got "${args[0]}", want nothing`);
  for (const { path, content } of GENERATED) {
    const file = join(repositoryRoot, path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, content());
    say(`wrote ${path}`);
  }
  return 0;
}
