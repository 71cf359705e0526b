/** What `--namespace` may say, and what else names a namespace. */

import { isDnsName } from "../../lib/characters.ts";
import { quote } from "../../lib/quote.ts";
import { UsageError } from "../failures/failure.ts";

/** @param where it is named, for messages @throws {UsageError} for what no namespace is called */
export function checkNamespaceName(namespace: string, where = 'option "--namespace"'): void {
  if (isDnsName(namespace)) return;
  const want = "want a DNS name in lower case: letters, digits, `-` and `.`, at most 253";
  throw new UsageError(`read ${where}: got ${quote(namespace)}, ${want}`);
}
