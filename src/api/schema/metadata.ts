/** The schema of metadata. */

import * as v from "valibot";
import { annotations, dnsSubdomain, labels, text } from "./fields.ts";

/**
 * Metadata of a kind whose names have the given form. What only an API server keeps is accepted, because
 * people write back what they read, and not taken over.
 */
export function metadataSchema(name: v.GenericSchema<string, string>) {
  return v.object({
    name,
    namespace: v.exactOptional(dnsSubdomain),
    labels: v.exactOptional(labels),
    annotations: v.exactOptional(annotations),
    uid: v.exactOptional(text),
    creationTimestamp: v.exactOptional(text),
    resourceVersion: v.exactOptional(text),
    generateName: v.exactOptional(text),
    generation: v.exactOptional(v.unknown()),
    managedFields: v.exactOptional(v.unknown()),
    ownerReferences: v.exactOptional(v.unknown()),
    finalizers: v.exactOptional(v.unknown()),
  });
}

/** Keys of {@link metadataSchema} that are accepted and dropped. */
export const DROPPED_METADATA = ["generation", "managedFields", "ownerReferences", "finalizers"] as const;
