/** What stands in the place of an object and is none: somebody wrote it past the validation. */

import { API_VERSION } from "../../api/resource.ts";
import type { Resource } from "../../api/resource.ts";
import type { Damage, Datastore, FoundText, ResourceRef, Stored } from "../../datastore/datastore.ts";
import { quote } from "../../lib/quote.ts";

/** Characters of a text that are shown. */
const SHOWN = 200;

/** Says what stands there, and how it is got rid of. */
export function describeUnreadable({ reason, found }: Damage): string {
  if (found === undefined) return reason;
  const { ref, text } = found;
  const where = ref.namespace === undefined ? "" : ` -n ${ref.namespace}`;
  return `${reason}; it is ${toShown(text)}; ${quote(`netplugctl delete ${ref.kind.toLowerCase()} ${ref.name}${where}`)} deletes it`;
}

/** The text, or how it begins. */
export function toShown(text: string): string {
  return text.length <= SHOWN ? quote(text) : `${quote(text.slice(0, SHOWN))}… (${text.length} characters)`;
}

/** An object that is to be deleted. */
export interface Doomed {
  /** With no more than its name, when it cannot be read. */
  readonly stored: Stored<Resource>;
  /** What stands in its place. */
  readonly text?: string;
}

/** Reads an object that is to be deleted, whether or not it is one. */
export async function readDoomed(datastore: Datastore, ref: ResourceRef): Promise<Doomed | undefined> {
  const texts: FoundText[] = [];
  const [stored] = await datastore.read([{ type: "get", ref }], { onDamage: ({ found }) => found !== undefined && texts.push(found) });
  if (stored !== undefined) return { stored };
  const [found] = texts;
  if (found === undefined) return undefined;
  const { kind, ...place } = ref;
  const value = { apiVersion: API_VERSION, kind, metadata: place, spec: {} };
  return { stored: { value, revision: found.revision, isUnreadable: true }, text: found.text };
}
