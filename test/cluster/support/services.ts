/** Services as tests of a cluster make them and ask them: each pod behind one tells its own name, so that an answer says whose it is. */

import { expect } from "bun:test";
import { dirname } from "node:path";
import { clusterProgram } from "../../../tools/prerequisites/cluster-programs.ts";
import { ShownDocument } from "../../support/documents/document.ts";
import type { Json } from "../../support/programs/cni-call.ts";
import { eventually } from "../../support/time/eventually.ts";
import type { Cluster } from "./cluster.ts";
import type { ClusterNode } from "./node.ts";
import type { RunningPod } from "./pods.ts";
import { createWorkload, podTemplate } from "./workload.ts";

/** For `startCluster()`: what docs/kube-proxy.md has people tell kube-proxy. */
export function shownKubeProxyConfig(): Json {
  return Bun.YAML.parse(new ShownDocument("docs/kube-proxy.md").block("yaml", "kind: KubeProxyConfiguration")) as Json;
}

/** Where a Service is asked. */
export type ServiceAddress = readonly [address: string, port: number];

/** A Service that has been made. */
export interface CreatedService {
  /** One of each of its families. */
  readonly clusterIPs: readonly [string, ...string[]];
  /** The same on each node; 0 unless its type is `NodePort`. */
  readonly nodePort: number;
}

/** Makes one in the namespace `default`, for port 80. @param spec `selector`, and what else it is to have */
export async function createService(cluster: Cluster, name: string, spec: Json): Promise<CreatedService> {
  const object = { apiVersion: "v1", kind: "Service", metadata: { name }, spec: { ports: [{ port: 80 }], ...spec } };
  const made = JSON.parse(await cluster.kubectl(["create", "-o", "json", "-f", "-"], JSON.stringify(object))) as {
    readonly spec: { readonly clusterIPs: readonly [string, ...string[]]; readonly ports: readonly { readonly nodePort?: number }[] };
  };
  return { clusterIPs: made.spec.clusterIPs, nodePort: made.spec.ports[0]?.nodePort ?? 0 };
}

/** Where pods of {@link createServers} have this machine's kubectl. */
export const KUBECTL_IN_POD = "/programs/kubectl";
/** What makes a pod tell its own name on port 80, of the file that Kubernetes gives it. It runs in the background. */
export const SERVE = ["busybox", "httpd", "-h", "/etc"] as const;
/** The log has a line for each request, which begins with who asks. */
const SERVE_AND_LOG = `trap exit TERM; ${SERVE.join(" ")} -f -v & wait`;
const REQUEST = "GET /hostname HTTP/1.0\r\n\r\n";

/** Makes a Deployment whose pods each tell their own name on port 80, and waits for them. */
export async function createServers(cluster: Cluster, app: string, replicas: number): Promise<void> {
  const programs = { name: "programs", hostPath: { path: dirname(clusterProgram("kubectl")) } };
  const mounts = [{ name: programs.name, mountPath: dirname(KUBECTL_IN_POD), readOnly: true }];
  const template = podTemplate(app, { command: ["/bin/sh", "-c", SERVE_AND_LOG], volumes: [programs], volumeMounts: mounts });
  await createWorkload(cluster, "Deployment", app, { replicas, selector: { matchLabels: { app } }, template });
  await cluster.kubectl(["rollout", "status", `deployment/${app}`, "--timeout=180s"]);
}

/** So many that two pods are both among those that answer, but for once in a thousand times. */
const REQUESTS = 12;

/** Waits until these pods and no others answer a pod that asks again and again, and each time is answered. */
export async function untilAnswered(
  cluster: Cluster,
  asker: RunningPod,
  [address, port]: ServiceAddress,
  by: readonly RunningPod[],
): Promise<void> {
  // a static busybox has no other client: its wget is beyond it
  const script = `for _ in $(busybox seq ${REQUESTS}); do printf '${REQUEST}' | nc -w 3 ${address} ${port} | busybox tail -n 1; done`;
  await eventually(async () => {
    const answers = (await cluster.kubectl(["exec", asker.name, "--", "sh", "-c", script])).trim().split("\n");
    expect([...new Set(answers)].sort()).toEqual(by.map(({ name }) => name).sort());
    expect(answers).toHaveLength(REQUESTS);
  });
}

/** Asks once, from the node itself. @returns the name of the pod that answers */
export function askFrom(node: ClusterNode, [address, port]: ServiceAddress): string {
  const answer = node.must(["busybox", "nc", "-w", "3", address, String(port)], { stdin: REQUEST });
  return answer.trim().split("\n").at(-1) ?? "";
}

/** Addresses that the pods of an app were asked from, as they logged them. */
export async function askersOf(cluster: Cluster, app: string): Promise<ReadonlySet<string>> {
  const log = await cluster.kubectl(["logs", "-l", `app=${app}`, "--tail=-1"]);
  return new Set([...log.matchAll(/^\[(?:::ffff:)?([\da-f.:]+)\]:\d+: response:200$/gm)].map(([, address = ""]) => address));
}
