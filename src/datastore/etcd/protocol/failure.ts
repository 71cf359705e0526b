/** What can go wrong between us and etcd, and what it means for the request that met it. */

import { messageOf } from "../../../lib/errors.ts";

/** Why a request has no result. */
export type FailureReason =
  /** Nothing was sent: refused, no route, no such host. */
  | "unreachable"
  /** Nothing was sent: we do not trust the server's certificate, or it not ours. */
  | "untrusted"
  /** It was sent, maybe, and no reply came: the connection broke or the time was up. */
  | "lost"
  /** The server does not have what we talk to, e.g. its JSON gateway is switched off. */
  | "unsupported"
  /** The server refused, with a gRPC status. */
  | "refused";

/** One try at one endpoint failed. Never holds a secret. */
export class EtcdFailure extends Error {
  override readonly name: string = "EtcdFailure";
  readonly reason: FailureReason;
  /** gRPC status when `reason` is `refused`, else 0. */
  readonly status: number;
  /** What to do, where that was found out apart from the message. */
  readonly advice: string | undefined;

  constructor(reason: FailureReason, message: string, status = 0, cause?: unknown, advice?: string) {
    super(message, cause === undefined ? undefined : { cause });
    this.reason = reason;
    this.status = status;
    this.advice = advice;
  }
}

/** What a signal says that aborted before the first byte was sent. */
export function neverSent(reason: unknown): EtcdFailure {
  return new EtcdFailure("unreachable", messageOf(reason), 0, reason);
}

/** Seen by a client that speaks plain HTTP to a TLS port, or the reverse; also when the server is stopping. */
export const NO_REPLY = "connection closed without a reply";

/** @see https://grpc.github.io/grpc/core/md_doc_statuscodes.html */
export const STATUS = {
  invalidArgument: 3,
  permissionDenied: 7,
  resourceExhausted: 8,
  failedPrecondition: 9,
  outOfRange: 11,
  unimplemented: 12,
  unavailable: 14,
  unauthenticated: 16,
} as const;

/** What the caller of one try does next. */
export type FailureClass =
  /** The next endpoint, or the same one later, may do it. */
  | "try-elsewhere"
  /** Our token is old: log in and try again. */
  | "log-in-again"
  /** etcd has users, and got none from us: users were just switched on, or it takes ours from a client certificate, over gRPC only. */
  | "needs-user"
  /** The JSON gateway does not serve us. */
  | "use-grpc"
  /** The revision that a read is pinned to is gone. */
  | "compacted"
  /** We may not do this. */
  | "denied"
  /** Nothing can be written until somebody makes space. */
  | "no-space"
  /** The same, until its members have the same data. */
  | "corrupt"
  /** A defect of ours. */
  | "defect";

/** Statuses that always come before a write is proposed to the cluster. */
const NOTHING_PROPOSED: readonly number[] = [
  STATUS.invalidArgument,
  STATUS.permissionDenied,
  STATUS.resourceExhausted,
  STATUS.failedPrecondition,
  STATUS.outOfRange,
  STATUS.unimplemented,
  STATUS.unauthenticated,
];

/** Whether a failed write was surely not applied, so that it may be sent again. */
export function isSurelyNotApplied(failure: EtcdFailure): boolean {
  if (failure.reason !== "refused") return failure.reason !== "lost";
  // For a user without a password, etcd reports this with the status "unknown".
  if (isLogInRefused(failure) || classify(failure) === "corrupt") return true;
  // After a timeout, a stopped server or a change of leader, a proposal may still be applied. These texts come before there is one.
  if (failure.status === STATUS.unavailable) {
    return /no leader|not capable|not supported for learner/.test(failure.message);
  }
  return NOTHING_PROPOSED.includes(failure.status);
}

function isLogInRefused({ message }: EtcdFailure): boolean {
  return message.includes("authentication failed");
}

/** What is to be done about a failure, by its status and by etcd's own text. */
export function classify(failure: EtcdFailure): FailureClass {
  if (failure.reason === "unsupported") return "use-grpc";
  if (failure.reason !== "refused") return "try-elsewhere";
  const { message, status } = failure;
  if (/invalid auth token|revision of auth store is old/.test(message)) return "log-in-again";
  if (/user name is empty/.test(message)) return "needs-user";
  if (/revision has been compacted|is a future revision/.test(message)) return "compacted";
  if (/database space exceeded/.test(message)) return "no-space";
  if (/corrupt cluster/.test(message)) return "corrupt";
  if (message.includes("larger than max")) return "defect";
  if (status === STATUS.permissionDenied || status === STATUS.unauthenticated || isLogInRefused(failure)) return "denied";
  return status === STATUS.invalidArgument || status === STATUS.unimplemented || status === STATUS.outOfRange ? "defect" : "try-elsewhere";
}
