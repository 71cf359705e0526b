/** One step for many attachments, of which some may be refused. */

import { NetplugError } from "../../lib/errors.ts";
import { type Settled, settle } from "../failures.ts";

/**
 * Does a step for several items at once. When that is refused, does it for each: what is forbidden for one pod may be permitted for others.
 */
export async function settleTogether<T>(
  all: readonly T[],
  step: (some: readonly T[]) => Promise<void>,
): Promise<readonly (Settled & { readonly item: T })[]> {
  const together = await settle(() => step(all));
  const isForbidden = !together.ok && together.error instanceof NetplugError && together.error.kind === "accessDenied";
  if (!isForbidden || all.length === 1) return all.map((item) => ({ ...together, item }));
  const outcomes: (Settled & { readonly item: T })[] = [];
  for (const item of all) outcomes.push({ ...(await settle(() => step([item]))), item });
  return outcomes;
}
