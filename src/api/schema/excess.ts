/** Input that is too deep or too large: aliases of YAML can make it endless. */

import { isJsonObject } from "../../lib/json.ts";

const MAX_DEPTH = 64;
const MAX_VALUES = 1_000_000;

/**
 * To be asked before anything else goes through a value that was read from YAML.
 *
 * @returns what is wrong with its extent; undefined for one that can be gone through
 */
export function findExcess(input: unknown): string | undefined {
  let values = 0;
  const visit = (value: unknown, depth: number): string | undefined => {
    if (depth > MAX_DEPTH) return `got more than ${MAX_DEPTH} levels, want fewer`;
    if (++values > MAX_VALUES) return `got more than ${MAX_VALUES} values, want fewer`;
    const children = Array.isArray(value) ? (value as readonly unknown[]) : isJsonObject(value) ? Object.values(value) : [];
    for (const child of children) {
      const excess = visit(child, depth + 1);
      if (excess !== undefined) return excess;
    }
    return undefined;
  };
  return visit(input, 0);
}
