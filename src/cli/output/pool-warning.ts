/** A pool that gives no address, in a line for people. */

import type { PoolWarning } from "../../ipam/admin/pools/pool-warnings.ts";
import { quote } from "../../lib/quote.ts";

/** The same line wherever it is printed. */
export function toWarningText({ kind, object, detail }: PoolWarning): string {
  return `warning: ${kind.toLowerCase()} ${quote(object)}: ${detail}`;
}
