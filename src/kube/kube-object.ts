/** What all objects of the Kubernetes API have in common. */

/** The part of `metadata` that netplug reads or writes. */
export interface ObjectMeta {
  readonly name?: string;
  readonly generateName?: string;
  /** Only of namespaced objects. */
  readonly namespace?: string;
  readonly uid?: string;
  /** Opaque: compared for equality; as a number only to tell that a store was restored from a backup (`watch/follow.ts`). */
  readonly resourceVersion?: string;
  /** RFC 3339, whole seconds. */
  readonly creationTimestamp?: string;
  /** There once somebody has asked for the object's end. */
  readonly deletionTimestamp?: string;
  /** Of programs that must do something before the object may go. */
  readonly finalizers?: readonly string[];
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  /** Who set which field, as the API server keeps it. */
  readonly managedFields?: readonly object[];
}

/** Any object; types of resources extend it with `spec`, `status` and what else they have. */
export interface KubeObject {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata: ObjectMeta;
}

/** One page of a list, or all of it. */
export interface KubeList<T> {
  readonly items: readonly T[];
  /** The state of the cluster that all pages show; a watch goes on from here. */
  readonly resourceVersion: string;
  /** Where the next page begins; undefined after the last. */
  readonly continueToken: string | undefined;
}

/** Names one object. */
export interface ObjectName {
  readonly name: string;
  /** Only of namespaced types. */
  readonly namespace?: string | undefined;
}

/** `default/web-0`, or the name alone. */
export function toNameText({ name, namespace }: ObjectName): string {
  return namespace === undefined ? name : `${namespace}/${name}`;
}
