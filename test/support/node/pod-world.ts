/** For tests of pods: a node beside a real API server, with etcd as its datastore or that very server. */

import { type ApiServer, type ApiServerOptions, startApiServer } from "../servers/api-server.ts";
import type { Json } from "../programs/cni-call.ts";
import { grantReadOnly, type TestPod } from "../servers/kubernetes.ts";
import { KubernetesNodeDatastore } from "./kubernetes-node-datastore.ts";
import { isOnEtcd } from "./node-datastore.ts";
import { TestNode } from "./test-node.ts";

export interface PodWorld extends AsyncDisposable {
  readonly api: ApiServer;
  readonly node: TestNode;
  /** Of a user who may do what the plugin's role permits, and nothing else. */
  readonly kubeconfig: string;
  /** A network config with which pods are looked up. */
  config(extra?: Json): Json;
  /** The endpoint of a pod's first interface: as etcd has it, or as the Kubernetes datastore shows it. */
  record(pod: Pick<TestPod, "namespace" | "name">): Promise<{ readonly metadata: Json; readonly spec: Json }>;
}

export interface PodWorldOptions {
  readonly cidrs: readonly string[];
  /** What the plugin may get beside etcd. */
  readonly rights: readonly string[];
  readonly server?: ApiServerOptions;
}

export async function startPodWorld(options: PodWorldOptions): Promise<PodWorld> {
  return isOnEtcd ? await startBesideEtcd(options) : await startPodWorldOnKubernetes(options);
}

async function startBesideEtcd({ cidrs, rights, server }: PodWorldOptions): Promise<PodWorld> {
  const [api, node] = await Promise.all([startApiServer(server), TestNode.start(cidrs)]);
  await grantReadOnly(api, "cni", rights);
  const { kubeconfigFile: kubeconfig } = api.issue("cni");
  return {
    api,
    node,
    kubeconfig,
    config: (extra = {}) => node.config({ policy: { type: "k8s" }, kubernetes: { kubeconfig }, ...extra }),
    async record({ namespace, name }) {
      const key = `/netplug/v3/workloadendpoints/${namespace}/${endpointName(name)}`;
      return JSON.parse(await node.etcd.ctl(["get", key, "--print-value-only"])) as { readonly metadata: Json; readonly spec: Json };
    },
    async [Symbol.asyncDispose]() {
      await node[Symbol.asyncDispose]();
      await api.stop();
    },
  };
}

/** For tests of what only the Kubernetes datastore has. */
export async function startPodWorldOnKubernetes({ cidrs, server }: Omit<PodWorldOptions, "rights">): Promise<PodWorld> {
  const datastore = await KubernetesNodeDatastore.start("node-a", server);
  datastore.makesPods = false;
  const node = await TestNode.startOn(datastore, cidrs);
  return {
    api: datastore.api,
    node,
    kubeconfig: datastore.kubeconfig,
    config: (extra = {}) => node.config(extra),
    async record({ namespace, name }) {
      const text = await node.ctl(["get", "workloadendpoint", endpointName(name), "-n", namespace, "-o", "json"]);
      return JSON.parse(text) as { readonly metadata: Json; readonly spec: Json };
    },
    [Symbol.asyncDispose]: async () => await node[Symbol.asyncDispose](),
  };
}

function endpointName(pod: string): string {
  return `node--a-k8s-${pod.replaceAll("-", "--")}-eth0`;
}
