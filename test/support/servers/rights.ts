/** For tests: who may do what. An API server takes a moment to hear of a role, and longer when it has much to do. */

import { expect } from "bun:test";
import { join } from "node:path";
import { repositoryRoot } from "../../../tools/repository.ts";
import type { ApiServer } from "./api-server.ts";
import { eventually } from "../time/eventually.ts";

/** Gives an API server the accounts and roles that we ship, or gives them back. */
export async function applyRoles(api: Pick<ApiServer, "kubectl">, manifest: "rbac.yaml" | "rbac-etcd.yaml" = "rbac.yaml"): Promise<void> {
  await api.kubectl(["apply", "--server-side", "--force-conflicts", "-f", join(repositoryRoot, "manifests", manifest)]);
}

/** @param resource as messages name it: "pods", "pods/status", "ippools.netplug.io" */
export async function isAllowed(api: ApiServer, user: string, verb: string, resource: string): Promise<boolean> {
  const [, plural = "", subresource = "", group = ""] = /^([^./]+)(?:\/([^.]+))?(?:\.(.+))?$/.exec(resource) ?? [];
  const review = {
    apiVersion: "authorization.k8s.io/v1",
    kind: "SubjectAccessReview",
    spec: { user, resourceAttributes: { verb, group, resource: plural, subresource } },
  };
  type Answer = { readonly status: { readonly allowed: boolean } };
  return (await api.mustRequest<Answer>("POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", review)).status.allowed;
}

/** Waits until a role that was given or changed counts. */
export async function untilAllowed(api: ApiServer, user: string, verb: string, resource: string): Promise<void> {
  await eventually(async () =>
    expect([user, verb, resource, await isAllowed(api, user, verb, resource)]).toEqual([user, verb, resource, true]),
  );
}

/** Waits until a right that was taken away is gone. */
export async function untilDenied(api: ApiServer, user: string, verb: string, resource: string): Promise<void> {
  await eventually(async () =>
    expect([user, verb, resource, await isAllowed(api, user, verb, resource)]).toEqual([user, verb, resource, false]),
  );
}
