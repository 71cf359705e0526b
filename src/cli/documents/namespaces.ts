/** Namespaces that manifests of Kubernetes would make, or change. */

import { readField, readTextsOrNone, TEXT } from "./document-fields.ts";
import type { InputDocument } from "./documents.ts";

/** What a manifest says of one. Of what has no value `kubectl apply` leaves nothing. */
export interface NamespaceManifest {
  /** Which of the documents it is, from 0. */
  readonly index: number;
  readonly labels: Readonly<Record<string, string | undefined>>;
  readonly annotations: Readonly<Record<string, string | undefined>>;
}

/**
 * Finds one among documents, as often as it is there, in the order in which it is applied.
 *
 * @throws {CommandFailed} for labels and annotations that the API server would refuse
 */
export function findNamespace(documents: readonly InputDocument[], name: string): readonly NamespaceManifest[] {
  const isMeant = (document: InputDocument): boolean =>
    readField(document, ["kind"], TEXT) === "Namespace" &&
    readField(document, ["apiVersion"], TEXT) === "v1" &&
    readField(document, ["metadata", "name"], TEXT) === name;
  return documents.flatMap((document, index) => {
    if (!isMeant(document)) return [];
    const read = (field: string): NamespaceManifest["labels"] => readTextsOrNone(document, ["metadata", field]);
    return [{ index, labels: read("labels"), annotations: read("annotations") }];
  });
}
