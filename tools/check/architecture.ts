/** All rules of the repository's architecture in one list. */

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { TEST_PARTS } from "../test/parts.ts";
import { testFilesOf } from "../test/run-part.ts";
import { checkForeignCalls, checkWorld } from "./adapters.ts";
import { checkCircles, checkFolderCircles } from "./circles.ts";
import { checkDocComments } from "./doc-comments.ts";
import {
  checkLength,
  checkMachinePaths,
  checkNoFocus,
  checkPlaces,
  checkReadmes,
  checkTestsAreRun,
  checkTypeEscapes,
} from "./house-rules.ts";
import { checkDoor, checkLayers, checkPackages, checkTestSupport } from "./layers.ts";
import { checkLinks } from "./links.ts";
import { checkLockfile } from "./lockfile.ts";
import type { Problem } from "./problem.ts";
import { checkDriverFolders } from "./driver-folders.ts";
import { readSourceTree } from "./source-tree.ts";
import { checkCniStart } from "./start-graph.ts";

/** Applies every rule to the checkout at `root`. */
export function checkArchitecture(root: string): Problem[] {
  const files = readSourceTree(root);
  const tracked = trackedFiles(root);
  const { dependencies } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as { readonly dependencies: object };
  const tests = TEST_PARTS.flatMap((part) => testFilesOf(part, []));
  return [
    ...checkLayers(files),
    ...checkTestSupport(files),
    ...checkPackages(files, Object.keys(dependencies)),
    ...checkCircles(files),
    ...checkFolderCircles(files),
    ...checkDriverFolders(files),
    ...checkDoor(files),
    ...checkForeignCalls(files),
    ...checkWorld(files),
    ...checkCniStart(files),
    ...checkLength(files),
    ...checkDocComments(files),
    ...checkReadmes(root),
    ...checkTestsAreRun(files, tests),
    ...checkNoFocus(files),
    ...checkTypeEscapes(files),
    ...checkPlaces(tracked),
    ...checkMachinePaths(root, tracked),
    ...checkLinks(root, tracked),
    ...checkLockfile(readFileSync(join(root, "package-lock.json"), "utf8")),
  ];
}

/** What git knows, whoever owns the checkout; an unpacked archive has no git, and then there is nothing to ask. */
function trackedFiles(root: string): string[] {
  const result = Bun.spawnSync(["git", "-c", `safe.directory=${root}`, "ls-files"], {
    cwd: root,
    stdin: "ignore",
    stdout: "pipe",
    stderr: "ignore",
  });
  return result.success
    ? result.stdout
        .toString()
        .split("\n")
        .filter((path) => path !== "")
    : [];
}
