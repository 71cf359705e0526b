/** For tests: a real API server as the datastore of a test's node. Attachments get pods as they need them. */

import { type ApiServer, type ApiServerOptions, startApiServer } from "../servers/api-server.ts";
import type { CniCall, CniVerb, Json } from "../programs/cni-call.ts";
import { createNode, podsIn } from "../servers/kubernetes.ts";
import type { NodeDatastore } from "./node-datastore.ts";
import { readPodRecords } from "../servers/pod-records.ts";
import { applyRoles, untilAllowed } from "../servers/rights.ts";

const NAMESPACE = "default";
/** Its account, as the API server names it. */
const PLUGIN = "system:serviceaccount:kube-system:netplug-cni-plugin";

export class KubernetesNodeDatastore implements NodeDatastore {
  readonly api: ApiServer;
  readonly kubeconfig: string;
  /** Whether an ADD finds the pod that it names, and names one where the test does not. */
  makesPods = true;
  readonly config: Json;
  readonly nowhere: Json;
  readonly env: Readonly<Record<string, string>>;
  readonly #made = new Set<string>();

  private constructor(api: ApiServer, kubeconfig: string) {
    this.api = api;
    this.kubeconfig = kubeconfig;
    this.config = { datastore_type: "kubernetes", kubernetes: { kubeconfig } };
    this.nowhere = { datastore_type: "kubernetes", kubernetes: { kubeconfig, k8s_api_root: "https://127.0.0.1:1" } };
    this.env = { DATASTORE_TYPE: "kubernetes", KUBECONFIG: api.kubeconfigFile };
  }

  /** The plugin is a user with the rights that we ship, and no more. */
  static async start(nodename: string, options: ApiServerOptions = {}): Promise<KubernetesNodeDatastore> {
    const api = await startApiServer(options);
    try {
      await applyRoles(api);
      await untilAllowed(api, PLUGIN, "get", "pods");
      await createNode(api, nodename, []);
      return new KubernetesNodeDatastore(api, api.issue(PLUGIN).kubeconfigFile);
    } catch (thrown) {
      await api.stop();
      throw thrown;
    }
  }

  async prepare(verb: CniVerb, { args = "", containerID, plugin = "netplug" }: CniCall): Promise<string | undefined> {
    if (!this.makesPods || plugin !== "netplug" || containerID === undefined) return args === "" ? undefined : args;
    const named = /(?:^|;)K8S_POD_NAME=([^;]*)/.exec(args)?.[1];
    const name = named ?? containerID.toLowerCase();
    if (verb === "ADD") await this.#requirePod(name);
    return named === undefined ? `${args};K8S_POD_NAMESPACE=${NAMESPACE};K8S_POD_NAME=${name}` : args;
  }

  podOf(containerID: string): { readonly namespace: string; readonly pod: string } {
    return { namespace: NAMESPACE, pod: containerID.toLowerCase() };
  }

  async snapshot(): Promise<readonly string[]> {
    const blocks = JSON.parse(await this.api.kubectl(["get", "ipamblocks", "-o", "json"])) as { readonly items: readonly { spec: Json }[] };
    return [...blocks.items.map(({ spec }) => JSON.stringify(spec)), ...(await this.endpoints()).map((one) => JSON.stringify(one))];
  }

  /** Pods with addresses of ours, once for each interface. */
  async endpoints(): Promise<readonly Json[]> {
    const records = await readPodRecords(this.api);
    return records.map(({ namespace, pod, containerID, addresses }) => ({
      metadata: { namespace, name: pod },
      spec: { containerID, ipNetworks: addresses },
    }));
  }

  async stop(): Promise<void> {
    await this.api.server.stop();
  }

  async start(): Promise<void> {
    await this.api.server.start();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.api.stop();
  }

  async #requirePod(name: string): Promise<void> {
    if (this.#made.has(name)) return;
    this.#made.add(name);
    const pod = { metadata: { name }, spec: { containers: [{ name: "main", image: "localhost/none:1" }] } };
    // the test may have made it
    await this.api.mustRequest("POST", podsIn(NAMESPACE), pod, [409]);
  }
}
