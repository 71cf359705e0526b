/** What an account may do, asked of the API server without doing it. */

import type { KubeClient } from "./client.ts";
import { toDenial } from "./failure/denial.ts";
import type { KubeError } from "./kube-error.ts";
import type { KubeObject } from "./kube-object.ts";
import type { CallOptions, Verb } from "./request.ts";
import { type ResourceType, toResourceText } from "./resource-type.ts";

/** Something that a role may permit. */
export interface Action {
  readonly verb: Verb;
  readonly type: ResourceType;
  readonly subresource?: string;
  /** @default all */
  readonly namespace?: string;
}

/** @see Kubernetes API, authorization.k8s.io/v1 SelfSubjectAccessReview */
interface AccessReview extends KubeObject {
  readonly spec: {
    readonly resourceAttributes: {
      readonly verb: Verb;
      readonly group: string;
      readonly resource: string;
      readonly subresource?: string | undefined;
      readonly namespace?: string | undefined;
    };
  };
  readonly status?: { readonly allowed?: boolean; readonly evaluationError?: string };
}

const ACCESS_REVIEWS: ResourceType<AccessReview> = {
  group: "authorization.k8s.io",
  version: "v1",
  plural: "selfsubjectaccessreviews",
  kind: "SelfSubjectAccessReview",
  isNamespaced: false,
};

/**
 * Asks whether the client's account may do something, which the role `system:basic-user` lets every account ask. Never throws: nothing is
 * known where that role was taken away, where the server does not answer, or where it could not find out.
 *
 * @returns what doing it would fail with; undefined: it is permitted, or nobody knows
 */
export async function findDenial(client: KubeClient, action: Action, options: CallOptions): Promise<KubeError | undefined> {
  const { verb, type, subresource, namespace } = action;
  const resourceAttributes = { verb, group: type.group, resource: type.plural, subresource, namespace };
  try {
    const { status = {} } = await client.create(ACCESS_REVIEWS, { metadata: {}, spec: { resourceAttributes } }, options);
    if (status.allowed !== false || (status.evaluationError ?? "") !== "") return undefined;
    const { requester } = client;
    const { role } = requester.contextOf(await requester.login());
    return toDenial({ verb, resource: toResourceText(type, subresource), namespace }, role);
  } catch {
    return undefined;
  }
}
