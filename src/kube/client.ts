/** The Kubernetes API, as far as netplug needs it. */

import { isJsonObject } from "../lib/json.ts";
import type { KubeSettings } from "./access/access.ts";
import { KubeError, isKubeError } from "./kube-error.ts";
import type { KubeList, KubeObject, ObjectMeta, ObjectName } from "./kube-object.ts";
import type { Patch } from "./patch.ts";
import { APPLY_CONTENT_TYPE, encodePatch } from "./patch.ts";
import type { CallOptions, KubeRequest } from "./request.ts";
import { isRead, toActionText, toRequest } from "./request.ts";
import type { KubeOptions, KubePorts } from "./requests/requester.ts";
import { Requester } from "./requests/requester.ts";
import type { QueryValues } from "./resource-path.ts";
import type { ResourceType } from "./resource-type.ts";
import { apiVersionOf } from "./resource-type.ts";

/** Which objects, for lists and watches. */
export interface Selection {
  /** Of namespaced types. @default all */
  readonly namespace?: string | undefined;
  readonly labelSelector?: string | undefined;
  readonly fieldSelector?: string | undefined;
}

/** Which objects of a type are listed, and how fresh the answer must be. */
export interface ListOptions extends Selection, CallOptions {
  /** Objects a page; 0: all at once. @default 500 */
  readonly pageSize?: number | undefined;
  /** "0": whatever the server has in its cache. @default the newest */
  readonly resourceVersion?: string | undefined;
  /** Whether objects come with their metadata and nothing else: for those whose rest is large. @default false */
  readonly isMetadataOnly?: boolean | undefined;
  /** Called for each page of several, with the number of objects on it. */
  readonly onPage?: ((number: number) => void) | undefined;
}

/** How fresh the answer about one object must be. */
export interface GetOptions extends CallOptions {
  /** "0": whatever the server has in its cache, so that it does not ask its etcd. @default the newest */
  readonly resourceVersion?: string | undefined;
}

/** Of create, update and patch. */
export interface WriteOptions extends CallOptions {
  /** `status`, `token`, `eviction`, …. */
  readonly subresource?: string | undefined;
  /** The one that changes fields. @default what the user agent begins with: `netplug` */
  readonly fieldManager?: string | undefined;
  /** Whether a field that the API server does not know fails the request; otherwise it is dropped. @default false */
  readonly isStrict?: boolean | undefined;
}

/** Of server-side apply, which needs a field manager. */
export interface ApplyOptions extends WriteOptions {
  readonly fieldManager: string;
  /** Whether fields that another manager owns are taken over; without it they fail the request as a conflict. @default false */
  readonly force?: boolean | undefined;
}

/** What must still hold of the object: else the deletion is a conflict. */
export interface DeleteOptions extends CallOptions {
  /** Deletes only this very object, not a later one of the same name. */
  readonly uid?: string | undefined;
  /** Deletes only this very state of the object. */
  readonly resourceVersion?: string | undefined;
}

const PAGE_SIZE = 500;

/** A page as it comes. @see Kubernetes API, meta/v1, ListMeta */
interface ListAnswer<T> {
  readonly metadata: { readonly resourceVersion?: string; readonly continue?: string };
  readonly items?: readonly T[] | null;
}

/** @see Kubernetes API, meta/v1, PartialObjectMetadataList */
const METADATA_LIST = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";

/**
 * A client of one API server. Methods throw KubeError, and NetplugError for settings that make no sense. Nothing is connected before the
 * first call.
 */
export class KubeClient {
  /** For requests that have no method here, such as watches. */
  readonly requester: Requester;

  constructor(settings: KubeSettings, ports: KubePorts, options: KubeOptions = {}) {
    this.requester = new Requester(settings, ports, options);
  }

  /** @returns undefined when there is no such object */
  async get<T extends KubeObject>(type: ResourceType<T>, ref: ObjectName, options: GetOptions = {}): Promise<T | undefined> {
    const { resourceVersion } = options;
    try {
      return await this.#call<T>(toRequest("get", type, ref, { query: { resourceVersion }, isRepeatable: true }), options);
    } catch (thrown) {
      if (isKubeError(thrown, "notFound")) return undefined;
      throw thrown;
    }
  }

  /**
   * All objects, read in pages that show the same state. When that is too old before the last page, they are read again, the third time all at
   * once: in a large cluster that may take longer than a request may.
   */
  async list<T extends KubeObject>(type: ResourceType<T>, options: ListOptions = {}): Promise<KubeList<T>> {
    const newest = { ...options, resourceVersion: undefined };
    for (const each of [options, newest]) {
      try {
        return await this.#listPages(type, each);
      } catch (thrown) {
        if (!isKubeError(thrown, "expired")) throw thrown;
      }
    }
    return await this.listPage(type, { ...newest, pageSize: 0 });
  }

  async #listPages<T extends KubeObject>(type: ResourceType<T>, options: ListOptions): Promise<KubeList<T>> {
    let page = await this.listPage(type, options);
    if (page.continueToken === undefined) return page;
    const items = [...page.items];
    options.onPage?.(items.length);
    while (page.continueToken !== undefined) {
      page = await this.listPage(type, options, page.continueToken);
      options.onPage?.(page.items.length);
      for (const item of page.items) items.push(item);
    }
    return { items, resourceVersion: page.resourceVersion, continueToken: undefined };
  }

  /** One page of a list; the first without a token. */
  async listPage<T extends KubeObject>(type: ResourceType<T>, options: ListOptions, continueToken?: string): Promise<KubeList<T>> {
    const { namespace, labelSelector, fieldSelector, pageSize = PAGE_SIZE, isMetadataOnly = false } = options;
    const limit = pageSize === 0 ? undefined : pageSize;
    // A token says which state it is of.
    const resourceVersion = continueToken === undefined ? options.resourceVersion : undefined;
    const query = { labelSelector, fieldSelector, limit, continue: continueToken, resourceVersion };
    const accept = isMetadataOnly ? METADATA_LIST : undefined;
    const request = toRequest("list", type, { namespace }, { query, isRepeatable: true, accept });
    const { metadata, items } = await this.#call<ListAnswer<T>>(request, options);
    if (items !== undefined && items !== null && !(Array.isArray(items) && items.every(isApiObject))) throw noApiServer(request, "list");
    const { resourceVersion: revision = "", continue: next = "" } = metadata;
    return { items: items ?? [], resourceVersion: revision, continueToken: next === "" ? undefined : next };
  }

  /**
   * Creates an object, or a subresource of the one that `object.metadata.name` names.
   *
   * @throws KubeError alreadyExists
   */
  async create<T extends KubeObject>(type: ResourceType<T>, object: T, options: WriteOptions = {}): Promise<T> {
    const { namespace, name } = object.metadata;
    const { subresource } = options;
    // An object's name is in its path only for a subresource of it.
    const target = subresource === undefined ? { namespace } : { namespace, name, subresource };
    const parts = { query: toWriteQuery(options), newName: name, body: encode(type, object, subresource) };
    return await this.#call<T>(toRequest("create", type, target, parts), options);
  }

  /**
   * Replaces an object; with `metadata.resourceVersion` only when that is what is stored.
   *
   * @throws KubeError conflict, notFound; otherObject when `metadata.uid` is there and another
   */
  async update<T extends KubeObject>(type: ResourceType<T>, object: T, options: WriteOptions = {}): Promise<T> {
    const { subresource } = options;
    const target = { ...nameOf(object.metadata, type), subresource };
    const body = encode(type, object);
    return await this.#call<T>(toRequest("update", type, target, { query: toWriteQuery(options), body }), options);
  }

  /**
   * @throws KubeError notFound; conflict or otherObject when the patch holds another resourceVersion or UID; invalid when a test does not
   * hold
   */
  async patch<T extends KubeObject>(type: ResourceType<T>, ref: ObjectName, patch: Patch, options: WriteOptions = {}): Promise<T> {
    const { subresource } = options;
    const parts = { query: toWriteQuery(options), ...encodePatch(patch) };
    return await this.#call<T>(toRequest("patch", type, { ...ref, subresource }, parts), options);
  }

  /**
   * Server-side apply: creates the object, or gives it the fields that `object` has and takes those away that it had from the same
   * manager before.
   *
   * @throws KubeError conflict when another manager owns a field
   */
  async apply<T extends KubeObject>(type: ResourceType<T>, object: T, options: ApplyOptions): Promise<T> {
    const { subresource, force } = options;
    const target = { ...nameOf(object.metadata, type), subresource };
    const query = { ...toWriteQuery(options), force };
    const parts = { query, body: encode(type, object), contentType: APPLY_CONTENT_TYPE, isRepeatable: true };
    return await this.#call<T>(toRequest("patch", type, target, parts), options);
  }

  /**
   * Deletes an object; one with finalizers or a grace period goes later.
   *
   * @returns whether it was there
   * @throws KubeError otherObject when `uid` is another, conflict when `resourceVersion` is
   */
  async delete(type: ResourceType, ref: ObjectName, options: DeleteOptions = {}): Promise<boolean> {
    const { uid, resourceVersion } = options;
    const preconditions = uid === undefined && resourceVersion === undefined ? undefined : { uid, resourceVersion };
    const body = JSON.stringify({ kind: "DeleteOptions", apiVersion: "v1", preconditions });
    try {
      // With the UID a second try cannot hit an object that somebody else has created meanwhile.
      await this.#call(toRequest("delete", type, ref, { body, isRepeatable: uid !== undefined }), options);
      return true;
    } catch (thrown) {
      if (isKubeError(thrown, "notFound")) return false;
      throw thrown;
    }
  }

  /** Reads a path that is not a resource: `/version`, `/apis`. */
  async getPath(path: string, options: CallOptions = {}): Promise<Readonly<Record<string, unknown>>> {
    const request: KubeRequest = { verb: "get", type: undefined, target: {}, path, query: {}, isRepeatable: true };
    const answer = parse(request, await this.requester.call(request, options));
    if (!isJsonObject(answer)) throw noApiServer(request, "JSON object");
    return answer;
  }

  /** Lets go of connections. */
  close(): void {
    this.requester.close();
  }

  async #call<T>(request: KubeRequest, options: CallOptions): Promise<T> {
    const answer = parse(request, await this.requester.call(request, options));
    if (!isApiObject(answer)) throw noApiServer(request, "object of the Kubernetes API");
    return answer as T;
  }
}

function parse(request: KubeRequest, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw noApiServer(request, "JSON", cause);
  }
}

/** Whether it has metadata, as every answer about resources does: objects, lists, and the Status of what was done. */
function isApiObject(value: unknown): boolean {
  return isJsonObject(value) && isJsonObject(value["metadata"]);
}

function noApiServer(request: KubeRequest, wanted: string, cause?: unknown): KubeError {
  const message = `${toActionText(request)}: the answer is no ${wanted}; is there an API server?`;
  return new KubeError("lost", message, { cause, isOutcomeUnknown: !isRead(request) });
}

function toWriteQuery({ fieldManager, isStrict = false }: WriteOptions): QueryValues {
  return { fieldManager, fieldValidation: isStrict ? "Strict" : undefined };
}

/** A body needs apiVersion and kind, which objects from a list do not have. A subresource has a type of its own. */
function encode(type: ResourceType, object: KubeObject, subresource?: string): string {
  if (subresource !== undefined && object.kind !== undefined) return JSON.stringify(object);
  return JSON.stringify({ ...object, apiVersion: apiVersionOf(type), kind: type.kind });
}

/** @throws RangeError an object without a name: a defect of the caller */
function nameOf({ name, namespace }: ObjectMeta, { plural }: ResourceType): ObjectName {
  if (name === undefined) throw new RangeError(`address ${plural}: the object has no name`);
  return { name, namespace };
}
