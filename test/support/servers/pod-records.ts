/** For tests: what pods record of their attachments, by their annotations on a real API server. */

import type { ApiServer } from "./api-server.ts";
import { podsIn } from "./kubernetes.ts";

/** Of one interface that has addresses. */
export interface PodRecord {
  readonly namespace: string;
  readonly pod: string;
  readonly ifName: string;
  /** "" where none is recorded. */
  readonly containerID: string;
  /** `10.65.0.1/32` */
  readonly addresses: readonly string[];
}

interface Pod {
  readonly metadata: { readonly namespace: string; readonly name: string; readonly annotations?: Readonly<Record<string, string>> };
}

/** Those of all pods. */
export async function readPodRecords(api: ApiServer): Promise<readonly PodRecord[]> {
  const { items } = await api.mustRequest<{ readonly items: readonly Pod[] }>("GET", "/api/v1/pods");
  return items.flatMap(({ metadata: { namespace, name, annotations = {} } }) =>
    Object.entries(annotations).flatMap(([key, value]): PodRecord[] => {
      const [isAddresses, ofInterface = ""] = /^cni\.netplug\.io\/podIPs(\..+)?$/.exec(key) ?? [];
      if (isAddresses === undefined || value === "") return [];
      const containerID = annotations[`cni.netplug.io/containerID${ofInterface}`] ?? "";
      return [{ namespace, pod: name, ifName: ofInterface.slice(1) || "eth0", containerID, addresses: value.split(",") }];
    }),
  );
}

/** The annotations of a pod that are ours, as they stand. @throws Error when there is no such pod */
export async function annotationsOf(
  api: ApiServer,
  { namespace, name }: { readonly namespace: string; readonly name: string },
): Promise<Readonly<Record<string, string>>> {
  const { metadata } = await api.mustRequest<Pod>("GET", `${podsIn(namespace)}/${name}`);
  return Object.fromEntries(Object.entries(metadata.annotations ?? {}).filter(([key]) => key.startsWith("cni.netplug.io/")));
}
