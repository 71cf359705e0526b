/** Addresses of resources below the API server's root. */

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

/** `.` and `..` would be taken for folders. */
function toSegment(text: string): string {
  if (text === "" || text === "." || text === "..") throw new RangeError(`address an object: got the name "${text}", which none can have`);
  return encodeURIComponent(text);
}
