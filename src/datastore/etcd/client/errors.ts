/** Failures of etcd as errors for people. */

import { type ErrorName, NetplugError } from "../../../lib/errors.ts";
import { OutcomeUnknown } from "../../outcome-unknown.ts";
import { adviceIfTooLarge } from "../../too-large.ts";
import { type EtcdFailure, type FailureClass, NO_REPLY, STATUS } from "../protocol/failure.ts";

/** What was being done. */
export type Action = "read from" | "commit to" | "watch";

/** One failed try. */
export interface FailedTry {
  readonly endpoint: string;
  readonly failure: EtcdFailure;
}

/** No endpoint could do it, or one refused for good. */
export function failedError(action: Action, tries: readonly FailedTry[], failureClass: FailureClass): NetplugError {
  const text = tries.map(({ endpoint, failure }) => `${endpoint}: ${failure.message}`).join("; ") || "no time left to ask";
  return new NetplugError(kindOf(tries, failureClass), `${action} etcd: ${text}${adviceFor(tries, failureClass)}`, {
    cause: tries.at(-1)?.failure,
  });
}

/** A write whose reply did not come. */
export function lostCommitError({ endpoint, failure }: FailedTry): OutcomeUnknown {
  return new OutcomeUnknown(`commit to etcd: ${endpoint}: ${failure.message}; it may have been applied`, failure);
}

/** The caller's signal ended it; what the signal says is what the caller hears. */
export function abortedError(action: Action, reason: unknown): NetplugError {
  if (reason instanceof NetplugError) return reason;
  return new NetplugError("tryAgainLater", `${action} etcd: interrupted`, { cause: reason });
}

function kindOf(tries: readonly FailedTry[], failureClass: FailureClass): ErrorName {
  if (failureClass === "defect") return "internal";
  if (failureClass === "denied" || failureClass === "log-in-again" || failureClass === "needs-user" || failureClass === "use-grpc")
    return "accessDenied";
  // A retry does not make a certificate trusted, but an endpoint that is merely down may come back.
  return tries.length > 0 && tries.every(({ failure }) => failure.reason === "untrusted") ? "accessDenied" : "tryAgainLater";
}

/** What to do when etcd takes no commit, by its alarm. */
export const ALARM_ADVICE = {
  "no-space": "compact and defragment etcd, then disarm its alarm",
  corrupt: "its members do not have the same data; replace those that are wrong, then disarm the alarm",
} as const;

function adviceFor(tries: readonly FailedTry[], failureClass: FailureClass): string {
  if (failureClass === "needs-user")
    return "; give etcd_username and etcd_password, or a client certificate whose common name is an etcd user";
  if (failureClass === "no-space" || failureClass === "corrupt") return `; ${ALARM_ADVICE[failureClass]}`;
  if (failureClass === "denied") {
    const { status, advice = "check the etcd user, its password and its roles" } = tries.at(-1)?.failure ?? {};
    const isForbidden = status === STATUS.permissionDenied;
    return `; ${advice}${isForbidden ? ": it needs readwrite on the prefix /netplug/" : ""}`;
  }
  if (tries.some(({ failure }) => failure.message === NO_REPLY)) return "; if it is up, check http and https in etcd_endpoints";
  if (failureClass === "defect") return adviceIfTooLarge(tries.at(-1)?.failure.message ?? "");
  const untrusted = tries.find(({ failure }) => failure.reason === "untrusted");
  return untrusted === undefined ? "" : `; ${untrusted.failure.advice ?? adviceForCertificates(untrusted.failure.message)}`;
}

/** The first two are about etcd's own certificate: no file of ours is wrong. Where it was ours that was refused, `tls-check.ts` has said what to do. */
function adviceForCertificates(handshake: string): string {
  if (/CERT_(HAS_EXPIRED|NOT_YET_VALID)/.test(handshake)) return "renew etcd's certificate, or set the clock of this machine";
  if (handshake.includes("ALTNAME")) return "write the host in etcd_endpoints as etcd's certificate names it";
  if (/ISSUER|SELF_SIGNED|SIGNATURE/.test(handshake)) return "etcd_ca_cert_file must name a file with the authority of etcd's certificate";
  return "check etcd_ca_cert_file, etcd_cert_file and etcd_key_file";
}
