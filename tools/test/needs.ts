/**
 * Which skips are allowed. A test that cannot run everywhere carries its need in its name, `… (needs go)`; where the need
 * is met the test must run, so that a skip never hides a defect.
 */

import { goIsUsable } from "../prerequisites/go-compiler.ts";
import { podmanCallsPlugins } from "../prerequisites/podman.ts";

const NEEDS: Readonly<Record<string, () => boolean>> = {
  go: () => goIsUsable(),
  // a suite without a cluster proves too little to land on: with CI=true such a skip is never forgiven
  cluster: () => true,
  "podman-4": () => podmanCallsPlugins(),
  root: () => process.getuid?.() === 0,
};

/** The need that a test names, if any. */
export function needOf(testName: string): string | undefined {
  return /\(needs ([\w.-]+)\)/.exec(testName)?.[1];
}

/** Whether a test of this name may be skipped on this machine. */
export function maySkip(testName: string): boolean {
  const need = needOf(testName);
  if (need === undefined) return false;
  const isMet = NEEDS[need];
  return isMet !== undefined && !isMet();
}
