/** Pools of documents that overlap each other. */

import { overlaps, parsePrefix, type Prefix, toPrefixText } from "../../lib/ip/prefix.ts";
import { quote } from "../../lib/quote.ts";
import { type CheckedDocuments, contradicting, type InvalidDocument, type ValidDocument } from "./checked-documents.ts";

/** For pools to be created: of two that overlap the second is invalid. Otherwise the first would be written, and the second refused. */
export function checkPoolsApart(documents: readonly ValidDocument[]): CheckedDocuments {
  const pools = new Map<string, { readonly cidr: Prefix; readonly origin: string }>();
  const valid: ValidDocument[] = [];
  const invalid: InvalidDocument[] = [];
  for (const document of documents) {
    const { resource, origin } = document;
    const { name } = resource.metadata;
    const cidr = resource.kind === "IPPool" && !pools.has(name) ? parsePrefix(resource.spec.cidr) : undefined;
    const other = cidr && pools.entries().find(([, pool]) => overlaps(pool.cidr, cidr));
    if (cidr !== undefined) pools.set(name, { cidr, origin });
    if (cidr === undefined || other === undefined) valid.push(document);
    else invalid.push(contradicting(document, "spec.cidr", describeOverlap(cidr, ...other)));
  }
  return { valid, invalid };
}

function describeOverlap(cidr: Prefix, name: string, other: { readonly cidr: Prefix; readonly origin: string }): string {
  const where = `ippool ${quote(name)} (${toPrefixText(other.cidr)}) of ${other.origin}`;
  return `${toPrefixText(cidr)} overlaps ${where}; choose another CIDR, or leave one of them out`;
}
