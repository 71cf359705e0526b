/** What failed requests mean to the callers of the datastore. */

import { KubeError } from "../../../kube/kube-error.ts";
import { NetplugError } from "../../../lib/errors.ts";
import { OutcomeUnknown } from "../../outcome-unknown.ts";

/** Applies the CRDs of this version. */
export const REMEDY = 'run "netplugctl init"';

/** @returns what to throw for something that a request threw */
export function toDatastoreError(thrown: unknown): unknown {
  if (!(thrown instanceof KubeError)) return thrown;
  if (thrown.isOutcomeUnknown) return new OutcomeUnknown(`${thrown.message}; it may have been done`, thrown);
  if (thrown.reason === "notServed") {
    return new NetplugError("notInitialised", `${thrown.message}: its CRD is missing; ${REMEDY}`, { cause: thrown });
  }
  if (isOlderCrd(thrown)) {
    return new NetplugError("notInitialised", `${thrown.message}; its CRD is of another version: ${REMEDY}`, { cause: thrown });
  }
  if (isTerminatingCrd(thrown)) return new NetplugError("tryAgainLater", `${thrown.message}; ${REMEDY} when it is gone`, { cause: thrown });
  return thrown;
}

/** Of an object that nobody but us makes. */
export function toBlockError(thrown: unknown): unknown {
  if (thrown instanceof KubeError && thrown.reason === "invalid") {
    return new NetplugError("notInitialised", `${thrown.message}; the CRD of blocks is of another version: ${REMEDY}`, { cause: thrown });
  }
  return toDatastoreError(thrown);
}

/** Of an object that people write. */
export function toResourceError(thrown: unknown): unknown {
  if (thrown instanceof KubeError && thrown.reason === "invalid")
    return new NetplugError("invalidConfig", thrown.message, { cause: thrown });
  return toDatastoreError(thrown);
}

/** Of a pod, which is not ours: an admission policy, or annotations beyond what one object may have. */
export function toEndpointError(thrown: unknown): unknown {
  if (thrown instanceof KubeError && thrown.reason === "invalid") {
    const message = `${thrown.message}; something in the cluster forbids to record addresses in this pod`;
    return new NetplugError("accessDenied", message, { cause: thrown });
  }
  return toDatastoreError(thrown);
}

/** We ask for strict answers: a field that the CRD does not have would get lost. */
function isOlderCrd({ reason, message }: KubeError): boolean {
  return reason === "badRequest" && message.includes("unknown field");
}

/** A CRD that somebody deletes takes no new objects. */
function isTerminatingCrd({ reason, status }: KubeError): boolean {
  return reason === "badRequest" && status === 405;
}
