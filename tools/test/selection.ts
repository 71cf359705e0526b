/** Which tests the arguments of `npm test` choose. */

import { TaskFailure } from "../terminal.ts";
import { TEST_PARTS } from "./parts.ts";
import type { TestPart } from "./parts.ts";
import { testFilesOf } from "./run-part.ts";

/** Names of parts, and pieces of the paths of test files. */
export interface Selection {
  readonly parts: readonly TestPart[];
  readonly filters: readonly string[];
  readonly withChecks: boolean;
}

/** @throws TaskFailure naming what chooses nothing */
export function parseSelection(args: readonly string[]): Selection {
  const filters = args.filter((arg) => arg.includes("/"));
  const names = args.filter((arg) => !arg.includes("/"));
  const unknown = names.find((name) => name !== "check" && !TEST_PARTS.some((part) => part.name === name));
  if (unknown !== undefined) {
    throw new TaskFailure(
      `no part of the suite is called "${unknown}": want check, ${TEST_PARTS.map(({ name }) => name).join(", ")}, or a path`,
    );
  }
  const named = names.length === 0 ? TEST_PARTS : TEST_PARTS.filter(({ name }) => names.includes(name));
  const chosen = (filter: string): boolean => named.some((part) => testFilesOf(part, [filter]).length > 0);
  const idle = filters.find((filter) => !chosen(filter));
  if (idle !== undefined)
    throw new TaskFailure(`no test file${names.length === 0 ? "" : ` of ${names.join(", ")}`} has a path that contains "${idle}"`);
  return {
    parts: named.filter((part) => testFilesOf(part, filters).length > 0),
    filters,
    withChecks: args.length === 0 || names.includes("check"),
  };
}
