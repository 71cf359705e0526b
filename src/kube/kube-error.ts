/** What a request to the API server can fail with. */

import type { ErrorName } from "../lib/errors.ts";
import { NetplugError } from "../lib/errors.ts";

/** Every reason, and the kind of error that people see when nobody catches it. */
const KINDS = {
  /** 401: credentials are missing, wrong or too old. */
  unauthorized: "accessDenied",
  /** 403, or what an admission webhook or policy refuses with another status: see {@link KubeError.denied}. */
  forbidden: "accessDenied",
  /** 404: the object is not there, or the namespace in which it should be created. */
  notFound: "internal",
  /** 404: the API server does not know the resource; for one of ours its CRD is missing. */
  notServed: "notInitialised",
  /** 409 of a create. */
  alreadyExists: "tryAgainLater",
  /** 409: another revision than the request expects, or a field that another manager owns; of a read, nothing that lasts. */
  conflict: "tryAgainLater",
  /** 409 or 422: another UID than the request expects; the object was deleted, and made again under its name. */
  otherObject: "tryAgainLater",
  /** 410: the revision or the page asked for is too old. */
  expired: "tryAgainLater",
  /**
   * 422 of a write: see {@link KubeError.causes}; of a JSON patch without causes, a test that does not hold or a path that is not there.
   */
  invalid: "internal",
  /** Other refusals of the content of a write. */
  badRequest: "internal",
  /** Anything else, such as any other 4xx for a read: an API server does not answer like that. */
  unexpected: "ioFailure",
  /** 429: it has too much to do. */
  throttled: "tryAgainLater",
  /** 5xx, 408. */
  serverFault: "tryAgainLater",
  /** Nothing was sent: no connection. */
  unreachable: "tryAgainLater",
  /** Nothing was sent: the TLS handshake failed. */
  untrusted: "accessDenied",
  /** The connection broke, or the time was over. */
  lost: "tryAgainLater",
} as const satisfies Readonly<Record<string, ErrorName>>;

/** What callers decide by; the text of the server is for people. */
export type KubeReason = keyof typeof KINDS;

/** One field that the API server does not accept. */
export interface StatusCause {
  /** `spec.cidr`; "" when the whole object is meant. */
  readonly field: string;
  readonly message: string;
}

/** What a role must permit. */
export interface DeniedAction {
  readonly verb: string;
  /** As {@link toResourceText} writes it. */
  readonly resource: string;
  readonly namespace: string | undefined;
}

/** What an answer said besides its reason. */
export interface KubeErrorOptions {
  /** HTTP status; 0 without an answer. */
  readonly status?: number;
  /** Whether the request may have been carried out all the same. */
  readonly isOutcomeUnknown?: boolean;
  /** How long the server asks to wait, in milliseconds. */
  readonly retryAfterMs?: number | undefined;
  readonly causes?: readonly StatusCause[];
  readonly denied?: DeniedAction | undefined;
  /** The denial alone, where the server may just not know its roles yet. */
  readonly doubted?: KubeError | undefined;
  readonly details?: string | undefined;
  readonly cause?: unknown;
}

/**
 * A failed request. A caller that can do more than give up looks at `reason`; with `isOutcomeUnknown` a write may have been carried out, so
 * it first reads what is stored.
 */
export class KubeError extends NetplugError {
  override readonly name = "KubeError";
  readonly reason: KubeReason;
  readonly status: number;
  readonly isOutcomeUnknown: boolean;
  readonly retryAfterMs: number | undefined;
  readonly causes: readonly StatusCause[];
  readonly denied: DeniedAction | undefined;
  readonly doubted: KubeError | undefined;

  constructor(reason: KubeReason, message: string, options: KubeErrorOptions = {}) {
    super(KINDS[reason], message, options);
    this.reason = reason;
    this.status = options.status ?? 0;
    this.isOutcomeUnknown = options.isOutcomeUnknown ?? false;
    this.retryAfterMs = options.retryAfterMs;
    this.causes = options.causes ?? [];
    this.denied = options.denied;
    this.doubted = options.doubted;
  }

  /** The failure of a request that was tried several times: an earlier try may have been carried out, and may say more than the last. */
  after(earlier: readonly KubeError[]): KubeError {
    const before = earlier.at(-1);
    if (before === undefined) return this;
    const { status, retryAfterMs, causes, cause, denied, doubted } = this;
    const isOutcomeUnknown = this.isOutcomeUnknown || earlier.some((failure) => failure.isOutcomeUnknown);
    const details = this.details ?? (before.message === this.message ? undefined : `before that: ${before.message}`);
    return new KubeError(this.reason, this.message, { status, isOutcomeUnknown, retryAfterMs, causes, details, cause, denied, doubted });
  }
}

/** Whether something thrown is a failed request for this reason. */
export function isKubeError(thrown: unknown, reason: KubeReason): thrown is KubeError {
  return thrown instanceof KubeError && thrown.reason === reason;
}
