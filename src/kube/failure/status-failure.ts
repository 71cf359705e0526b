/** What the API server answers when it refuses or fails: an HTTP status and, usually, an object of kind Status. */

import type { DeniedAction, KubeReason, KubeErrorOptions } from "../kube-error.ts";
import { KubeError } from "../kube-error.ts";
import { toPlainText } from "./plain-text.ts";
import type { KubeRequest, Verb } from "../request.ts";
import { isRead, toActionText } from "../request.ts";
import { apiVersionOf, toResourceText } from "../resource-type.ts";
import { type FailedAnswer, parseStatus, type Status, toRetryAfterMs, toStatus } from "./status.ts";

/** Whose request failed, and what would help: for messages. */
export interface FailureContext {
  /** Whose credentials they are: `token of user "x" in kubeconfig "/y"`. */
  readonly identity: string;
  /** The role that permits what this client does. */
  readonly role: string | undefined;
  /** What to do about credentials that are not accepted. */
  readonly renewal?: string | undefined;
}

/** The failure that an answer means. */
export function toAnswerFailure(request: KubeRequest, answer: FailedAnswer, context: FailureContext): KubeError {
  const status = parseStatus(answer.body);
  const reason = reasonOf(request, answer, status);
  const options: KubeErrorOptions = {
    status: answer.status,
    isOutcomeUnknown: reason === "serverFault" && !isSurelyNotDone(answer, status) && !isRead(request),
    retryAfterMs: STARTING.has(status?.message ?? "") ? undefined : toRetryAfterMs(answer, status),
    causes: status?.causes ?? [],
  };
  return describe(request, reason, status ?? toStatus(answer), context, options);
}

/** A watch reports a failure as an event whose object is a Status. */
export function toEventFailure(request: KubeRequest, object: Readonly<Record<string, unknown>>, context: FailureContext): KubeError {
  const code = typeof object["code"] === "number" ? object["code"] : 500;
  return toAnswerFailure(request, { status: code, body: JSON.stringify(object), retryAfter: undefined, now: 0 }, context);
}

function describe(request: KubeRequest, reason: KubeReason, status: Status, context: FailureContext, options: KubeErrorOptions): KubeError {
  const action = toActionText(request);
  const text = toPlainText(status.message);
  switch (reason) {
    case "unauthorized": {
      const remedy = context.renewal === undefined ? "" : `; ${context.renewal}`;
      return new KubeError(reason, `${action}: the API server does not accept the ${context.identity}${remedy}`, {
        ...options,
        details: text,
      });
    }
    case "forbidden":
      return toForbidden(request, status, context, options);
    case "notServed": {
      const served = request.type === undefined ? request.path : `${toResourceText(request.type)} in version ${apiVersionOf(request.type)}`;
      return new KubeError(reason, `${action}: the API server does not serve ${served}`, options);
    }
    case "invalid": {
      // The API server may say the same twice.
      const causes = new Set(status.causes.map(({ field, message }) => (field === "" ? message : `${field}: ${message}`)));
      // The words of a webhook name it, and what it passes on says them again.
      if (isRefusedByWebhook(status)) causes.clear();
      return new KubeError(reason, `${action}: not valid: ${causes.size === 0 ? text : toPlainText([...causes].join("; "))}`, options);
    }
    case "unexpected":
      return new KubeError(reason, `${toAnswerText(action, status, text, options)}; is what answers there an API server?`, options);
    default:
      return new KubeError(reason, toAnswerText(action, status, text, options), options);
  }
}

function toAnswerText(action: string, { reason }: Status, text: string, { status }: KubeErrorOptions): string {
  return `${action}: the API server answers ${[status, reason].join(" ").trim()}: ${text}`;
}

/**
 * Not only roles forbid: quotas, pod security and other admission do too, and only the server's words tell them apart. A webhook may say of a request
 * of its own what a role does not permit.
 */
function toForbidden(request: KubeRequest, status: Status, { role }: FailureContext, options: KubeErrorOptions): KubeError {
  const text = toPlainText(status.message);
  const denied = isRefusedByAdmission(status) ? undefined : (parseDenied(text) ?? deniedCreate(request, text) ?? deniedRead(request));
  if (denied === undefined) return new KubeError("forbidden", `${toActionText(request)}: refused: ${text}`, options);
  if (denied.verb.startsWith("impersonate")) return toImpersonationDenied(denied, { ...options, details: text });
  return toDenial(denied, { role }, { ...options, details: text });
}

/** The failure of what no role permits. */
export function toDenial(denied: DeniedAction, { role }: Pick<FailureContext, "role">, options: KubeErrorOptions = {}): KubeError {
  const message = `${denied.verb} ${denied.resource} is not permitted${role === undefined ? "" : `; role ${role}`}`;
  return new KubeError("forbidden", message, { ...options, denied });
}

/** Without `denied`: no role of ours permits it, and nothing is gained by waiting for a server that starts. */
function toImpersonationDenied({ verb, resource }: DeniedAction, options: KubeErrorOptions): KubeError {
  return new KubeError(
    "forbidden",
    `${verb} ${resource} is not permitted; "as" of the kubeconfig asks to impersonate: permit that, or leave "as" out`,
    options,
  );
}

/** From 1.36 on a verb may be `impersonate:user-info` or `impersonate-on:user-info:list`. */
function parseDenied(text: string): DeniedAction | undefined {
  const match = /cannot ([\w:-]+) resource "([^"]+)" in API group "([^"]*)"(?: in the namespace "([^"]*)")?/.exec(text);
  const [, verb, resource, group, namespace] = match ?? [];
  if (verb === undefined || resource === undefined) return undefined;
  return { verb, resource: group === undefined || group === "" ? resource : `${resource}.${group}`, namespace };
}

/**
 * Kubernetes 1.31 does not say what one may not do when an apply would have to create: its message ends where the reason should begin.
 *
 * @see k8s.io/apiserver 0.31 endpoints/handlers/update.go, withAuthorization
 */
function deniedCreate({ verb, type, target }: KubeRequest, text: string): DeniedAction | undefined {
  if (verb !== "patch" || type === undefined || !text.endsWith(" is forbidden:")) return undefined;
  return { verb: "create", resource: toResourceText(type), namespace: target.namespace };
}

/** Admission does not check reads, so a permission is missing, even if a proxy in front of the server refused in its own words. */
function deniedRead(request: KubeRequest): DeniedAction | undefined {
  const { verb, type, target } = request;
  if (type === undefined || !isRead(request)) return undefined;
  return { verb, resource: toResourceText(type, target.subresource), namespace: target.namespace };
}

/** What an API server answers for a path that it does not know. @see Go, net/http, NotFound */
const UNKNOWN_PATH = "404 page not found";

function reasonOf(request: KubeRequest, { status: code, body }: FailedAnswer, status: Status | undefined): KubeReason {
  const { verb } = request;
  if (code < 500 && !SAME_OF_ANYBODY.has(code) && isRefusedByAdmission(status)) return "forbidden";
  switch (code) {
    case 401:
      return "unauthorized";
    case 403:
      return "forbidden";
    case 404:
      // Every API server serves its version, and the core group.
      if (request.path === "/version") return "unexpected";
      // Nothing serves the path where the words are those, or a list is refused: a type that is served can be listed.
      if (status !== undefined && verb !== "list") return "notFound";
      // Something in front of a server that is away says it in other words: a DEL must not take that for a datastore without anything in it.
      if (status === undefined && body.trim() !== UNKNOWN_PATH) return "unexpected";
      return request.type?.group === "" ? "unexpected" : "notServed";
    case 409:
      if (status?.reason === "AlreadyExists" || (status?.reason === "" && verb === "create")) return "alreadyExists";
      return status !== undefined && / UID in (?:the )?precondition/.test(status.message) ? "otherObject" : "conflict";
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

/** Statuses that mean the same whoever says them: that the object is not valid, and that it is to be tried later. */
const SAME_OF_ANYBODY: ReadonlySet<number> = new Set([422, 429]);

/**
 * Whether a webhook of admission refuses the write. It does so with a status of its own choice, such as that of another request which it made
 * itself: 409 is no conflict then, and 404 does not say that the object is gone. @see k8s.io/apiserver admission/plugin/webhook/errors, ToStatusErr
 */
function isRefusedByWebhook(status: Status | undefined): boolean {
  return status !== undefined && /^admission webhook "[^"]*" denied the request/.test(status.message);
}

/** The same of a policy, which may choose 401, 403, 413 or 422. @see k8s.io/apiserver admission/plugin/policy/validating, reasonToCode */
function isRefusedByAdmission(status: Status | undefined): boolean {
  return isRefusedByWebhook(status) || (status !== undefined && POLICY.test(status.message));
}

const POLICY = /^[^:]* is forbidden: ValidatingAdmissionPolicy '[^']*' with binding '[^']*' denied request: /;

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
function isSurelyNotDone({ status, retryAfter }: FailedAnswer, answered: Status | undefined): boolean {
  if (isRefusedByWebhook(answered)) return true;
  if (status === 503) return retryAfter !== undefined;
  return status === 500 && answered?.message.startsWith('Internal error occurred: failed calling webhook "') === true;
}

/**
 * An API server that has just started refuses what it does not serve yet, and a list until its cache is filled, as with a new CRD. Either
 * takes milliseconds; the second, or five, that it asks for would be lost to an ADD. @see k8s.io/apiserver storage/cacher, type ready;
 * util/notfoundhandler
 */
const STARTING: ReadonlySet<string> = new Set([
  "storage is (re)initializing",
  "the request has been made before all known HTTP paths have been installed, please try again",
]);
