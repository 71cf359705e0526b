/** A refusal whose reason is `forbidden`: what no role permits, told apart from what quotas, pod security and other admission forbid. */

import { type DeniedAction, KubeError, type KubeErrorOptions } from "../kube-error.ts";
import { isRead, type KubeRequest, toActionText } from "../request.ts";
import { toResourceText } from "../resource-type.ts";
import type { FailureContext } from "./failure-context.ts";
import { toPlainText } from "./plain-text.ts";
import { isRefusedByAdmission, type Status } from "./status.ts";

/**
 * The failure that a refusal means. Only the server's words tell a missing permission from the rest; a webhook may say of a request of its own
 * what a role does not permit.
 */
export function toForbidden(request: KubeRequest, status: Status, context: FailureContext, options: KubeErrorOptions): KubeError {
  const text = toPlainText(status.message);
  const denied = isRefusedByAdmission(status) ? undefined : (parseDenied(text) ?? deniedCreate(request, text) ?? deniedRead(request));
  if (denied === undefined) return new KubeError("forbidden", `${toActionText(request)}: refused: ${text}`, options);
  const asWhom = describeAnonymous(text, context);
  if (denied.verb.startsWith("impersonate")) return toImpersonationDenied(denied, asWhom, { ...options, details: text });
  return toDenial(denied, context.role, { ...options, details: text }, asWhom);
}

/**
 * The failure of what no role permits.
 *
 * @param role permits what this client does
 * @param asWhom what else is to be told, at the end of the message
 */
export function toDenial(denied: DeniedAction, role: string | undefined, options: KubeErrorOptions = {}, asWhom = ""): KubeError {
  const message = `${denied.verb} ${denied.resource} is not permitted${role === undefined ? "" : `; role ${role}`}${asWhom}`;
  return new KubeError("forbidden", message, { ...options, denied });
}

/** Without `denied`: no role of ours permits it, and nothing is gained by waiting for a server that starts. */
function toImpersonationDenied({ verb, resource }: DeniedAction, asWhom: string, options: KubeErrorOptions): KubeError {
  return new KubeError(
    "forbidden",
    `${verb} ${resource} is not permitted; "as" of the kubeconfig asks to impersonate: permit that, or leave "as" out${asWhom}`,
    options,
  );
}

/** Whom an API server takes everybody for who shows it nothing that it looks at. @see k8s.io/apiserver authentication/user */
const ANONYMOUS = "system:anonymous";

/** A role is of no use to somebody whom the server does not know. */
function describeAnonymous(text: string, { identity, actsAs }: FailureContext): string {
  if (!text.includes(`User "${ANONYMOUS}" cannot `) || actsAs === ANONYMOUS) return "";
  return `; the API server counts the ${identity} as ${ANONYMOUS}`;
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
