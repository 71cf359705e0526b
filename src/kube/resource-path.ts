/** Addresses of resources below the API server's root. */

import { quote } from "../lib/quote.ts";
import { KubeError } from "./kube-error.ts";
import type { ResourceType } from "./resource-type.ts";

/** What a path leads to; without a name: all objects of the type. */
export interface PathTarget {
  readonly namespace?: string | undefined;
  readonly name?: string | undefined;
  /** `status`, `token`, `eviction`, …; needs a name. */
  readonly subresource?: string | undefined;
}

/** Values of a query; what is undefined, false or "" is left out. */
export type QueryValues = Readonly<Record<string, string | number | boolean | undefined>>;

/**
 * `/api/v1/namespaces/default/pods/web-0/status`.
 *
 * @throws {KubeError} notFound: a name that no object can have, because the API server would take it for another path
 * @throws {RangeError} a name that cannot be a part of a path, or a namespaced object without a namespace: defects of the caller
 */
export function toResourcePath(type: ResourceType, { namespace, name, subresource }: PathTarget = {}): string {
  const root = type.group === "" ? `/api/${type.version}` : `/apis/${type.group}/${type.version}`;
  let path = root;
  if (type.isNamespaced) {
    if (namespace !== undefined) path += `/namespaces/${toSegment(namespace)}`;
    else if (name !== undefined) throw new RangeError(`address ${type.plural} "${name}": it has no namespace`);
  }
  path += `/${type.plural}`;
  if (name !== undefined) path += `/${toSegment(name)}`;
  return subresource === undefined ? path : `${path}/${subresource}`;
}

/** `?limit=500&watch=true`, or "". */
export function toQuery(values: QueryValues): string {
  let query = "";
  for (const name in values) {
    const value = values[name];
    if (value === undefined || value === false || value === "") continue;
    query += `${query === "" ? "?" : "&"}${name}=${encodeURIComponent(value)}`;
  }
  return query;
}

/** `.` and `..` would be taken for folders, and the API server splits paths after it has decoded them: `n1%2Fstatus` is the status of `n1`. */
function toSegment(text: string): string {
  if (text === "" || text === "." || text === "..") throw new RangeError(`address an object: got the name "${text}", which none can have`);
  if (/[/%]/.test(text)) throw new KubeError("notFound", `address an object: none can have the name ${quote(text)}`);
  return encodeURIComponent(text);
}
