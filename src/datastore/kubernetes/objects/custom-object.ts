/** Resources as objects of our CRDs, and back. */

import { API_VERSION, type Kind, type Metadata, type Resource } from "../../../api/resource.ts";
import type { ObjectMeta } from "../../../kube/kube-object.ts";
import type { JsonPatchOperation } from "../../../kube/patch.ts";
import type { Revision, Stored } from "../../datastore.ts";
import type { CustomObject } from "./resource-types.ts";

/** An object as the rest of the program sees it. What only an API server keeps is left out of the resource. */
export function toStoredResource(kind: Kind, object: CustomObject): Stored<Resource> {
  const revision = revisionOf(object);
  const { finalizers = [], deletionTimestamp } = object.metadata;
  return {
    value: {
      apiVersion: API_VERSION,
      kind,
      metadata: { ...toMetadata(object.metadata), resourceVersion: revision },
      spec: object.spec ?? {},
    },
    revision,
    ...(finalizers.length > 0 && { finalizers }),
    ...(deletionTimestamp !== undefined && { isEnding: true }),
  };
}

/** The object that a create sends; the API server gives it its identity. */
export function toNewObject({ metadata, spec }: Resource): CustomObject {
  const { name, namespace, labels, annotations } = metadata;
  return {
    metadata: {
      name,
      ...(namespace !== undefined && { namespace }),
      ...(labels !== undefined && { labels }),
      ...(annotations !== undefined && { annotations }),
    },
    spec,
  };
}

/** Gives an object of this revision the resource's state, and leaves alone what others keep in it: finalizers, owners. */
export function toReplacement({ metadata, spec }: Resource, revision: Revision): readonly JsonPatchOperation[] {
  return [...toMetadataPatch(metadata, revision), { op: "add", path: "/spec", value: spec }];
}

/** Gives an object of this revision labels and annotations. */
export function toMetadataPatch(
  { labels = {}, annotations = {} }: Pick<Metadata, "labels" | "annotations">,
  revision: Revision,
): readonly JsonPatchOperation[] {
  return [
    // Not as a test: this way a lost race is a conflict and not an invalid patch.
    { op: "replace", path: "/metadata/resourceVersion", value: revision },
    { op: "add", path: "/metadata/labels", value: labels },
    { op: "add", path: "/metadata/annotations", value: annotations },
  ];
}

/** What a resource shows of an object's metadata. */
export function toMetadata({ name = "", namespace, labels, annotations, uid, creationTimestamp, generateName }: ObjectMeta): Metadata {
  return {
    name,
    ...(namespace !== undefined && { namespace }),
    ...(labels !== undefined && { labels }),
    ...(annotations !== undefined && { annotations }),
    ...(uid !== undefined && { uid }),
    ...(creationTimestamp !== undefined && { creationTimestamp }),
    ...(generateName !== undefined && { generateName }),
  };
}

/** The revision that a compare-and-swap of this object names; "" for one that was not read from a server. */
export function revisionOf({ metadata }: { readonly metadata: ObjectMeta }): Revision {
  return (metadata.resourceVersion ?? "") as Revision;
}
