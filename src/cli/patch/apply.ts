/** The kinds of patch, and what carries out each. */

import { applyJsonPatch } from "./json-patch.ts";
import { applyMergePatch, applyStrategicPatch } from "./merge-patch.ts";

/** What `patch --type` takes, as kubectl has it. */
export const PATCH_TYPES = ["strategic", "merge", "json"] as const;

/** Which of the three a patch is written for; `strategic` unless somebody says otherwise, as in kubectl. */
export type PatchType = (typeof PATCH_TYPES)[number];

/** Gives the patched value; the given one stays as it is. @throws {CommandFailed} a patch that cannot be applied */
export function applyPatch(type: PatchType, target: unknown, patch: unknown): unknown {
  switch (type) {
    case "strategic":
      return applyStrategicPatch(target, patch);
    case "merge":
      return applyMergePatch(target, patch);
    case "json":
      return applyJsonPatch(target, patch);
  }
}
