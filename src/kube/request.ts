/** One request to the API server, as the layers of the client hand it down. */

import { quote } from "../lib/quote.ts";
import { toNameText } from "./kube-object.ts";
import type { PathTarget, QueryValues } from "./resource-path.ts";
import { toResourcePath } from "./resource-path.ts";
import type { ResourceType } from "./resource-type.ts";
import { toResourceText } from "./resource-type.ts";

/** As roles name what one may do. */
export type Verb = "get" | "list" | "watch" | "create" | "update" | "patch" | "delete";

/** What is asked of the API server. */
export interface KubeRequest {
  readonly verb: Verb;
  /** Undefined for what is no resource, such as `/version`. */
  readonly type: ResourceType | undefined;
  readonly target: PathTarget;
  /** Name of the object that a create is to make, for messages: it is not part of the path. */
  readonly newName?: string | undefined;
  /** Below the API server's root, without query. */
  readonly path: string;
  readonly query: QueryValues;
  readonly body?: string;
  /** Media type of the body. @default `application/json` */
  readonly contentType?: string;
  /** Media type of the answer. @default `application/json` */
  readonly accept?: string | undefined;
  /** Whether carrying it out twice is the same as once. Reads are; a write is repeated only when it surely was not carried out. */
  readonly isRepeatable: boolean;
}

/** What a request may have besides verb and target. `isRepeatable` is false unless it is said. */
export type RequestParts = Partial<Pick<KubeRequest, "query" | "newName" | "body" | "contentType" | "accept" | "isRepeatable">>;

/**
 * A request for one object, or for all objects of a type.
 *
 * @throws KubeError notFound: a name that no object can have
 * @throws RangeError a target that no path leads to: a defect of the caller
 */
export function toRequest(verb: Verb, type: ResourceType, target: PathTarget, parts: RequestParts): KubeRequest {
  return { query: {}, isRepeatable: false, ...parts, verb, type, target, path: toResourcePath(type, target) };
}

/** Limits of one call. */
export interface CallOptions {
  /** Ends the call with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
  /** Milliseconds for the request with all its tries. @default 5000 */
  readonly limitMs?: number | undefined;
}

/** `patch pods/status "default/web-0"`: how messages begin. */
export function toActionText({ verb, type, target, newName, path }: KubeRequest): string {
  if (type === undefined) return `${verb} ${path}`;
  const { name = newName, namespace, subresource } = target;
  const resource = toResourceText(type, subresource);
  if (name !== undefined) return `${verb} ${resource} ${quote(toNameText({ name, namespace }))}`;
  return namespace === undefined ? `${verb} ${resource}` : `${verb} ${resource} in namespace ${quote(namespace)}`;
}

/** Whether nothing changes, however often it is asked. */
export function isRead({ verb }: KubeRequest): boolean {
  return verb === "get" || verb === "list" || verb === "watch";
}
