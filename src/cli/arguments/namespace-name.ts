/** What `--namespace` may say. */

import { isDnsName } from "../../lib/characters.ts";
import { quote } from "../../lib/quote.ts";
import { UsageError } from "../failures/failure.ts";

/** @throws {UsageError} for what no namespace is called */
export function checkNamespaceName(namespace: string): void {
  if (isDnsName(namespace)) return;
  const want = "want a DNS name in lower case: letters, digits, `-` and `.`, at most 253";
  throw new UsageError(`read option "--namespace": got ${quote(namespace)}, ${want}`);
}
