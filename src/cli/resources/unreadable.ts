/** A stored value that is no object, although its key is an object's: somebody wrote it past the validation. */

import { API_VERSION } from "../../api/resource.ts";
import type { Resource } from "../../api/resource.ts";
import type { Damage, Datastore, FoundText, ResourceRef, Stored } from "../../datastore/datastore.ts";
import { quote } from "../../lib/quote.ts";
import { type Invocation, toCommandLine, toWord } from "../failures/suggested-commands.ts";

/** Characters of a text that are shown. */
const SHOWN = 200;

/** Says what is stored there, and how to get rid of it. */
export function describeUnreadable({ reason, found }: Damage, invocation: Invocation): string {
  if (found === undefined) return reason;
  const { ref, text } = found;
  const where = ref.namespace === undefined ? [] : ["-n", toWord(ref.namespace)];
  const command = ["delete", ref.kind.toLowerCase(), toWord(ref.name), ...where].join(" ");
  return `${reason}; it is ${toShown(text)}; ${quote(toCommandLine(invocation, command))} deletes it`;
}

/** The text, or how it begins. */
export function toShown(text: string): string {
  return text.length <= SHOWN ? quote(text) : `${quote(text.slice(0, SHOWN))}… (${text.length} characters)`;
}

/** What is stored where an object is to be deleted. */
export interface StoredForDeletion {
  /** With its name alone when it cannot be read. */
  readonly stored: Stored<Resource>;
  /** The stored text, when it is no object. */
  readonly text?: string;
}

/** Reads an object that is to be deleted, even one that cannot be read as an object. @returns undefined when nothing is there */
export async function readForDeletion(datastore: Datastore, ref: ResourceRef): Promise<StoredForDeletion | undefined> {
  const texts: FoundText[] = [];
  const [stored] = await datastore.read([{ type: "get", ref }], { onDamage: ({ found }) => found !== undefined && texts.push(found) });
  if (stored !== undefined) return { stored };
  const [found] = texts;
  if (found === undefined) return undefined;
  const { kind, ...place } = ref;
  const value = { apiVersion: API_VERSION, kind, metadata: place, spec: {} };
  return { stored: { value, revision: found.revision, isUnreadable: true }, text: found.text };
}
