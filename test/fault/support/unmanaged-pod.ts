/** The Kubernetes API, whose pod asks for an address that nobody manages. */

import { KUBERNETES_POD } from "./flows.ts";

export function serveUnmanagedPod(address: string): ReturnType<typeof Bun.serve> {
  const { namespace, name, uid } = KUBERNETES_POD;
  const annotations = { "cni.netplug.io/ipAddrsNoIpam": `["${address}"]` };
  const pod = {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { namespace, name, uid, resourceVersion: "1", annotations },
    spec: { containers: [] },
  };
  const place = { apiVersion: "v1", kind: "Namespace", metadata: { name: namespace, uid: "0", resourceVersion: "1" } };
  return Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch: ({ url }) => (url.includes("/api/") ? Response.json(url.includes("/pods/") ? pod : place) : new Response(null, { status: 204 })),
  });
}
