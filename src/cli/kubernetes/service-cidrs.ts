/** Where Services of the cluster get their addresses. An API server says so from Kubernetes 1.33 on, else only its command line. */

import type { ServiceCidr } from "../../ipam/admin/pools/pools-over-services.ts";
import type { KubeClient } from "../../kube/client.ts";
import { isKubeError } from "../../kube/kube-error.ts";
import type { KubeObject } from "../../kube/kube-object.ts";
import type { ResourceType } from "../../kube/resource-type.ts";
import { NetplugError } from "../../lib/errors.ts";
import { tryParsePrefix } from "../../lib/ip/prefix.ts";
import type { OpenKube } from "../io.ts";

/** @see Kubernetes API, networking.k8s.io/v1, ServiceCIDR */
interface ServiceCidrObject extends KubeObject {
  readonly spec?: { readonly cidrs?: readonly string[] | null };
}

const SERVICE_CIDRS: ResourceType<ServiceCidrObject> = {
  group: "networking.k8s.io",
  version: "v1",
  plural: "servicecidrs",
  kind: "ServiceCIDR",
  isNamespaced: false,
};

/**
 * None of an older API server: nobody is told of that, who could not change it.
 *
 * @param onUnread gets why they cannot be read, such as a right that is missing
 */
export async function readServiceCidrs(openKube: OpenKube, onUnread: (reason: NetplugError) => void): Promise<readonly ServiceCidr[]> {
  try {
    const objects = await listServiceCidrs(await openKube());
    return objects.flatMap(({ metadata: { name = "" }, spec }) =>
      (spec?.cidrs ?? []).flatMap((text) => {
        const cidr = tryParsePrefix(text);
        return cidr === undefined ? [] : [{ name, cidr }];
      }),
    );
  } catch (thrown) {
    if (!(thrown instanceof NetplugError)) throw thrown;
    onUnread(thrown);
    return [];
  }
}

/** @returns none of an API server that does not know them */
async function listServiceCidrs(client: KubeClient): Promise<readonly ServiceCidrObject[]> {
  try {
    return (await client.list(SERVICE_CIDRS)).items;
  } catch (thrown) {
    if (isKubeError(thrown, "notServed")) return [];
    throw thrown;
  }
}
