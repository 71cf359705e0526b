/** What failed requests mean to the callers of the datastore. */

import { KubeError } from "../../../kube/kube-error.ts";
import { NetplugError } from "../../../lib/errors.ts";
import { OutcomeUnknown } from "../../outcome-unknown.ts";
import { adviceIfTooLarge } from "../../too-large.ts";

/** Applies the CRDs of this version. */
export const REMEDY = 'run "netplugctl init"';

/** @returns what to throw for something that a request threw */
export function toDatastoreError(thrown: unknown): unknown {
  if (!(thrown instanceof KubeError)) return thrown;
  // Although its outcome is unknown, too: to find out and try again is in vain until somebody makes room.
  if (isEtcdFull(thrown)) {
    const message = `${thrown.message}; compact and defragment the API server's etcd, then disarm its alarm`;
    return new NetplugError("tryAgainLater", message, { cause: thrown });
  }
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

/** What a failed write of a block means: nobody but us makes such objects. */
export function toBlockError(thrown: unknown): unknown {
  if (thrown instanceof KubeError && thrown.reason === "invalid") {
    if (isDenied(thrown))
      return new NetplugError("accessDenied", `${thrown.message}; an admission rule of the cluster forbids this block`, { cause: thrown });
    return new NetplugError("notInitialised", `${thrown.message}; the CRD of blocks is of another version: ${REMEDY}`, { cause: thrown });
  }
  if (thrown instanceof KubeError && thrown.reason === "badRequest") {
    const advice = adviceIfTooLarge(thrown.message);
    if (advice !== "") return new NetplugError(thrown.kind, `${thrown.message}${advice}`, { cause: thrown });
  }
  return toDatastoreError(thrown);
}

/** What a failed write of a resource means, which people may have written. */
export function toResourceError(thrown: unknown): unknown {
  if (thrown instanceof KubeError && thrown.reason === "invalid")
    return new NetplugError("invalidConfig", thrown.message, { cause: thrown });
  return toDatastoreError(thrown);
}

/** What a failed write into a pod means. It is not ours: an admission policy forbids it, or it has more annotations than one object may. */
export function toEndpointError(thrown: unknown): unknown {
  if (thrown instanceof KubeError && thrown.reason === "invalid") {
    if (isTooMuchAnnotated(thrown)) {
      const message = `${thrown.message}; its other annotations leave no room for the record of its addresses: remove or shorten one`;
      return new NetplugError("malformedRequest", message, { cause: thrown });
    }
    const message = `${thrown.message}; something in the cluster forbids to record addresses in this pod`;
    return new NetplugError("accessDenied", message, { cause: thrown });
  }
  return toDatastoreError(thrown);
}

/** An API server counts all annotations of an object together, keys and values: 256 KiB at most. */
function isTooMuchAnnotated({ message }: KubeError): boolean {
  return message.includes("metadata.annotations: Too long");
}

/** We ask for strict answers: a field that the CRD does not have would get lost. */
function isOlderCrd({ reason, message }: KubeError): boolean {
  return reason === "badRequest" && message.includes("unknown field");
}

/** What policies and webhooks of admission refuse. They may answer as if the object were not valid. */
function isDenied({ message }: KubeError): boolean {
  return message.includes(" denied request") || message.includes(" denied the request");
}

/** What the API server passes on from etcd. @see etcd api/v3/v3rpc/rpctypes ErrNoSpace */
function isEtcdFull({ status, message }: KubeError): boolean {
  return status === 500 && message.includes("database space exceeded");
}

/** A CRD that somebody deletes takes no new objects. The status for that is 405 or 403, by the release of Kubernetes. */
function isTerminatingCrd({ message }: KubeError): boolean {
  return message.includes("not allowed while custom resource definition is terminating");
}
