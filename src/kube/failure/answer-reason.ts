/** Which {@link KubeReason} an answer that refuses a request has, and whether the request may have been carried out all the same. */

import type { KubeReason } from "../kube-error.ts";
import { isRead, type KubeRequest, type Verb } from "../request.ts";
import { type FailedAnswer, isRefusedByAdmission, isRefusedByWebhook, type Status } from "./status.ts";

/** Statuses that mean the same whoever says them: that the object is not valid, and that it is to be tried later. */
const SAME_OF_ANYBODY: ReadonlySet<number> = new Set([422, 429]);

/** @param status the Status in the answer; undefined: there is none */
export function reasonOf(request: KubeRequest, { status: code, body }: FailedAnswer, status: Status | undefined): KubeReason {
  const { verb } = request;
  if (code < 500 && !SAME_OF_ANYBODY.has(code) && isRefusedByAdmission(status)) return "forbidden";
  switch (code) {
    case 401:
      return "unauthorized";
    case 403:
      return "forbidden";
    case 404:
      return reasonOf404(request, body, status);
    case 409:
      return reasonOf409(verb, status);
    case 410:
      return "expired";
    case 429:
      return "throttled";
    default:
      // With 500 the API server passes on what its etcd says of the write, which was not done and never will be.
      if (!isRead(request) && status !== undefined && /request is too large|larger than max/.test(status.message)) return "badRequest";
      // 408 comes from a proxy in front of the server, and means that the request may be made again.
      if (code >= 500 || code === 408) return "serverFault";
      // An API server says why it refuses a write, and does not refuse a read like this.
      return isRead(request) || status === undefined ? "unexpected" : reasonOfWrite(verb, code, status);
  }
}

/** What an API server answers for a path that it does not know. @see Go, net/http, NotFound */
const UNKNOWN_PATH = "404 page not found";

function reasonOf404({ verb, type, path }: KubeRequest, body: string, status: Status | undefined): KubeReason {
  // Every API server serves its version, and the core group.
  if (path === "/version") return "unexpected";
  // Nothing serves the path where the words are those, or a list is refused: a type that is served can be listed.
  if (status !== undefined && verb !== "list") return "notFound";
  // Something in front of a server that is away says it in other words: a DEL must not take that for a datastore without anything in it.
  if (status === undefined && body.trim() !== UNKNOWN_PATH) return "unexpected";
  return type?.group === "" ? "unexpected" : "notServed";
}

function reasonOf409(verb: Verb, status: Status | undefined): KubeReason {
  if (status?.reason === "AlreadyExists" || (status?.reason === "" && verb === "create")) return "alreadyExists";
  return status !== undefined && / UID in (?:the )?precondition/.test(status.message) ? "otherObject" : "conflict";
}

/** How an API server refuses the content of a write. */
const REFUSALS_OF_WRITES: ReadonlySet<number> = new Set([400, 405, 406, 413, 415]);

function reasonOfWrite(verb: Verb, code: number, { causes }: Status): KubeReason {
  if (code !== 422) return REFUSALS_OF_WRITES.has(code) ? "badRequest" : "unexpected";
  return verb === "patch" && causes.some(({ field }) => field === "metadata.uid") ? "otherObject" : "invalid";
}

/**
 * A server that is starting, stopping or without a backend answers 503 with Retry-After: it has done nothing. Nor has one whose webhook refuses,
 * or cannot be called, because admission comes before the write. @see k8s.io/apiserver admission/plugin/webhook, type ErrCallingWebhook
 */
export function isSurelyNotDone({ status, retryAfter }: FailedAnswer, answered: Status | undefined): boolean {
  if (isRefusedByWebhook(answered)) return true;
  if (status === 503) return retryAfter !== undefined;
  return status === 500 && answered?.message.startsWith('Internal error occurred: failed calling webhook "') === true;
}
