/** Every version of pods that there was, as a watch tells them. */

import { readFileSync } from "node:fs";
import type { Cluster } from "./cluster.ts";

/** Of a pod, at one moment. */
export interface PodVersion {
  readonly name: string;
  readonly uid: string;
  /** As the plugin stamped them. */
  readonly containerID: string | undefined;
  readonly podIPs: string | undefined;
  /** As the kubelet reported them. */
  readonly statusIPs: readonly string[];
}

export interface PodWatch extends Disposable {
  /** In their order. */
  readonly seen: readonly PodVersion[];
}

interface WatchEvent {
  readonly object: {
    readonly metadata: { readonly name: string; readonly uid: string; readonly annotations?: Readonly<Record<string, string>> };
    readonly status?: { readonly podIPs?: readonly { readonly ip: string }[] };
  };
}

/** Notes them from now on. @param selector labels of the pods, in the namespace `default` */
export async function watchPods({ api }: Cluster, selector: string): Promise<PodWatch> {
  const seen: PodVersion[] = [];
  const ending = new AbortController();
  const response = await fetch(`${api.url}/api/v1/namespaces/default/pods?watch=true&labelSelector=${encodeURIComponent(selector)}`, {
    headers: { authorization: `Bearer ${api.token}` },
    tls: { ca: readFileSync(api.caFile, "utf8") },
    signal: ending.signal,
  });
  if (!response.ok || response.body === null) throw new Error(`watch pods: ${response.status} ${await response.text()}`);
  note(response.body, seen).catch((thrown: unknown) => {
    if (!ending.signal.aborted) throw thrown;
  });
  return { seen, [Symbol.dispose]: () => ending.abort() };
}

async function note(body: ReadableStream<Uint8Array>, seen: PodVersion[]): Promise<void> {
  const decoder = new TextDecoder();
  let rest = "";
  for await (const chunk of body) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) seen.push(toVersion(JSON.parse(line) as WatchEvent));
  }
}

function toVersion({ object: { metadata, status } }: WatchEvent): PodVersion {
  const { name, uid, annotations = {} } = metadata;
  return {
    name,
    uid,
    containerID: annotations["cni.netplug.io/containerID"],
    podIPs: annotations["cni.netplug.io/podIPs"],
    statusIPs: (status?.podIPs ?? []).map(({ ip }) => ip),
  };
}
