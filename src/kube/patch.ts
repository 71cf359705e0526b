/** Partial changes of an object. */

/** @see RFC 6902 */
export type JsonPatchOperation =
  | { readonly op: "add" | "replace" | "test"; readonly path: string; readonly value: unknown }
  | { readonly op: "remove"; readonly path: string }
  | { readonly op: "move" | "copy"; readonly from: string; readonly path: string };

/** A change as {@link KubeClient} sends it, by its content type. */
export type Patch =
  /** Operations in order, all or none; a `test` that does not hold fails it as invalid. */
  | { readonly type: "json"; readonly operations: readonly JsonPatchOperation[] }
  /** What is named is replaced, `null` removes. @see RFC 7386 */
  | { readonly type: "merge"; readonly body: object }
  /** As merge, but lists of core objects are merged by their keys. Not for custom resources. */
  | { readonly type: "strategic"; readonly body: object };

const CONTENT_TYPES: Readonly<Record<Patch["type"], string>> = {
  json: "application/json-patch+json",
  merge: "application/merge-patch+json",
  strategic: "application/strategic-merge-patch+json",
};

/** Of server-side apply; JSON is YAML too. */
export const APPLY_CONTENT_TYPE = "application/apply-patch+yaml";

/** What goes over the wire. */
export function encodePatch(patch: Patch): { readonly contentType: string; readonly body: string } {
  return { contentType: CONTENT_TYPES[patch.type], body: JSON.stringify(patch.type === "json" ? patch.operations : patch.body) };
}

/** A name as one step of a JSON pointer: `cni.netplug.io~1podIP`. @see RFC 6901 §3 */
export function toPointerStep(name: string): string {
  return name.replaceAll("~", "~0").replaceAll("/", "~1");
}
