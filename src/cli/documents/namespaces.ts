/** Namespaces that manifests of Kubernetes would make, or change. */

import { readField, readTexts, TEXT } from "./document-fields.ts";
import type { InputDocument } from "./documents.ts";

/** What a manifest says of one. */
export interface NamespaceManifest {
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
}

/**
 * Finds one among documents; of several of one name the last, which is applied last.
 *
 * @returns undefined where there is none of that name
 * @throws {CommandFailed} for labels and annotations that the API server would refuse
 */
export function findNamespace(documents: readonly InputDocument[], name: string): NamespaceManifest | undefined {
  const isMeant = (document: InputDocument): boolean =>
    readField(document, ["kind"], TEXT) === "Namespace" &&
    readField(document, ["apiVersion"], TEXT) === "v1" &&
    readField(document, ["metadata", "name"], TEXT) === name;
  const found = documents.findLast(isMeant);
  if (found === undefined) return undefined;
  return { labels: readTexts(found, ["metadata", "labels"]), annotations: readTexts(found, ["metadata", "annotations"]) };
}
