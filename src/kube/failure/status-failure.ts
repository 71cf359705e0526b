/** What the API server answers when it refuses or fails: an HTTP status and, usually, an object of kind Status. */

import { KubeError, type KubeErrorOptions, type KubeReason } from "../kube-error.ts";
import { isRead, type KubeRequest, toActionText } from "../request.ts";
import { apiVersionOf, toResourceText } from "../resource-type.ts";
import { isSurelyNotDone, reasonOf } from "./answer-reason.ts";
import { toForbidden } from "./denial.ts";
import type { FailureContext } from "./failure-context.ts";
import { toPlainText } from "./plain-text.ts";
import { type FailedAnswer, isRefusedByWebhook, parseStatus, type Status, toRetryAfterMs, toStatus } from "./status.ts";

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
 * An API server that has just started refuses what it does not serve yet, and a list until its cache is filled, as with a new CRD. Either
 * takes milliseconds; the second, or five, that it asks for would be lost to an ADD. @see k8s.io/apiserver storage/cacher, type ready;
 * util/notfoundhandler
 */
const STARTING: ReadonlySet<string> = new Set([
  "storage is (re)initializing",
  "the request has been made before all known HTTP paths have been installed, please try again",
]);
