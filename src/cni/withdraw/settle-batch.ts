/** One step for a batch of attachments, some of which may be refused. */

import { NetplugError } from "../../lib/errors.ts";
import { type Settled, settle } from "../failures.ts";

/**
 * Runs a step for a whole batch. If that is refused, runs it for each item: what is forbidden for one pod may be permitted for others.
 */
export async function settleBatch<T>(
  batch: readonly T[],
  step: (items: readonly T[]) => Promise<void>,
): Promise<readonly (Settled & { readonly item: T })[]> {
  const together = await settle(() => step(batch));
  const isForbidden = !together.ok && together.error instanceof NetplugError && together.error.kind === "accessDenied";
  if (!isForbidden || batch.length === 1) return batch.map((item) => ({ ...together, item }));
  const outcomes: (Settled & { readonly item: T })[] = [];
  for (const item of batch) outcomes.push({ ...(await settle(() => step([item]))), item });
  return outcomes;
}
