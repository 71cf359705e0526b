/** For tests of netplugctl: documents for its stdin. JSON is YAML, too. */

/** @param namespace @default the document names none */
export function resourceYaml(kind: string, name: string, spec: object = {}, namespace?: string): string {
  return JSON.stringify({ apiVersion: "netplug.io/v3", kind, metadata: { name, ...(namespace !== undefined && { namespace }) }, spec });
}

/** One pool. */
export function poolYaml(name: string, cidr: string, more: object = {}): string {
  return resourceYaml("IPPool", name, { cidr, ...more });
}

/** The endpoint of a container that is no pod. */
export interface EndpointOptions {
  readonly containerID: string;
  readonly node: string;
  /** @default the document names none */
  readonly namespace?: string;
  /** Its addresses. @default it has none recorded */
  readonly ipNetworks?: readonly string[];
}

export function endpointYaml({ containerID, node, namespace, ipNetworks }: EndpointOptions): string {
  const spec = { orchestrator: "cni", node, containerID, endpoint: "eth0", ...(ipNetworks !== undefined && { ipNetworks }) };
  return resourceYaml("WorkloadEndpoint", endpointName({ containerID, node }), spec, namespace);
}

/** What such an endpoint is called. */
export function endpointName({ containerID, node }: Pick<EndpointOptions, "containerID" | "node">): string {
  return `${node}-cni-${containerID}-eth0`;
}
