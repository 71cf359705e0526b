/** What an answer says about its failure: the object of kind Status in it, and Retry-After. */

import { isJsonObject, tryParseJson } from "../../lib/json.ts";
import type { StatusCause } from "../kube-error.ts";

/** The parts of a Status that are used here. @see k8s.io/apimachinery meta/v1, type Status */
export interface Status {
  readonly message: string;
  /** `AlreadyExists`, `Conflict`, `Expired`, …; "" when there is none. */
  readonly reason: string;
  readonly causes: readonly StatusCause[];
  readonly retryAfterSeconds: number | undefined;
}

/** An answer as it came. */
export interface FailedAnswer {
  readonly status: number;
  readonly body: string;
  /** The header. */
  readonly retryAfter: string | undefined;
  /** Milliseconds since 1970, against which a date in that header is held. */
  readonly now: number;
}

/** @returns undefined when there is no Status in it */
export function parseStatus(body: string): Status | undefined {
  const value = tryParseJson(body);
  if (!isJsonObject(value) || value["kind"] !== "Status") return undefined;
  const { message, reason } = value;
  const details = isJsonObject(value["details"]) ? value["details"] : {};
  const seconds = details["retryAfterSeconds"];
  return {
    message: typeof message === "string" ? message : "no message",
    reason: typeof reason === "string" ? reason : "",
    causes: Array.isArray(details["causes"]) ? details["causes"].map(toCause) : [],
    retryAfterSeconds: typeof seconds === "number" && seconds > 0 ? seconds : undefined,
  };
}

/** Proxies, and an API server that is starting, answer in other forms. */
export function toStatus({ body }: FailedAnswer): Status {
  return { message: body === "" ? "nothing more" : body, reason: "", causes: [], retryAfterSeconds: undefined };
}

/** How long the server wants to be left alone, by header or Status. @see RFC 9110 §10.2.3: seconds or a date */
export function toRetryAfterMs({ retryAfter, now }: FailedAnswer, status: Status | undefined): number | undefined {
  if (retryAfter === undefined || retryAfter === "") {
    return status?.retryAfterSeconds === undefined ? undefined : status.retryAfterSeconds * 1000;
  }
  const seconds = Number(retryAfter);
  if (Number.isFinite(seconds)) return Math.max(0, seconds * 1000);
  const date = Date.parse(retryAfter);
  return Number.isNaN(date) ? undefined : Math.max(0, date - now);
}

/**
 * Whether a webhook of admission refuses the write. It does so with a status of its own choice, such as that of another request which it made
 * itself: 409 is no conflict then, and 404 does not say that the object is gone. @see k8s.io/apiserver admission/plugin/webhook/errors, ToStatusErr
 */
export function isRefusedByWebhook(status: Status | undefined): boolean {
  return status !== undefined && /^admission webhook "[^"]*" denied the request/.test(status.message);
}

/** The same of a policy, which may choose 401, 403, 413 or 422. @see k8s.io/apiserver admission/plugin/policy/validating, reasonToCode */
export function isRefusedByAdmission(status: Status | undefined): boolean {
  return isRefusedByWebhook(status) || (status !== undefined && POLICY.test(status.message));
}

const POLICY = /^[^:]* is forbidden: ValidatingAdmissionPolicy '[^']*' with binding '[^']*' denied request: /;

function toCause(value: unknown): StatusCause {
  const { field, message } = isJsonObject(value) ? value : {};
  return { field: typeof field === "string" ? field : "", message: typeof message === "string" ? message : "no message" };
}
