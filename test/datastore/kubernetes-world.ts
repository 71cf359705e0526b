/** For tests: a real API server with our CRDs, the driver on it, and a proxy in front of it that makes faults. */

import type { IPPoolSpec } from "../../src/api/ip-pool.ts";
import type { Datastore } from "../../src/datastore/datastore.ts";
import type { KubernetesConfig } from "../../src/datastore/config/datastore-config.ts";
import { initialise } from "../../src/datastore/initialise.ts";
import { systemClock } from "../../src/lib/clock.ts";
import { systemRandom } from "../../src/lib/random.ts";
import type { ApiServer, ApiServerOptions } from "../support/servers/api-server.ts";
import { collection, startWithCrds } from "../crds/definitions.ts";
import { type FaultProxy, startFaultProxy } from "../support/servers/fault-proxy.ts";
import { openKubernetes, wipe } from "./open-kubernetes.ts";
import { type Pods, podsOf } from "./pods.ts";
import { commit } from "./steps.ts";

/** Made once for a file of tests; {@link KubernetesWorld.empty} before each of them. */
export class KubernetesWorld implements AsyncDisposable {
  readonly server: ApiServer;
  readonly proxy: FaultProxy;
  readonly pods: Pods;
  /** As the administrator, past the proxy. */
  readonly admin: Datastore;

  private constructor(server: ApiServer, proxy: FaultProxy) {
    this.server = server;
    this.proxy = proxy;
    this.pods = podsOf(server);
    this.admin = openKubernetes(server);
  }

  static async start(options: ApiServerOptions = {}): Promise<KubernetesWorld> {
    const server = await startWithCrds(options);
    return new KubernetesWorld(server, await startFaultProxy(server));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.admin.close();
    await this.proxy[Symbol.asyncDispose]();
    await this.server.stop();
  }

  /** A driver whose requests the proxy lets through or not; the caller closes it. */
  openThroughProxy(config: KubernetesConfig = {}): Datastore {
    return openKubernetes(this.server, { kubeconfig: undefined, apiRoot: this.proxy.url, ...config });
  }

  /** Deletes all objects of ours, all nodes, and the pods of the namespaces given; lets all requests pass. */
  async empty(namespaces?: readonly string[]): Promise<void> {
    this.proxy.decide = () => "pass";
    this.proxy.seen.length = 0;
    await wipe(this.server, namespaces);
  }

  /** As `netplugctl init` leaves the datastore, with these pools. */
  async initialise(pools: Readonly<Record<string, IPPoolSpec>> = {}): Promise<void> {
    await initialise(this.admin, { clock: systemClock, random: systemRandom, version: "v3.31.0" });
    for (const [name, spec] of Object.entries(pools)) await this.putPool(name, spec);
  }

  async putPool(name: string, spec: IPPoolSpec): Promise<void> {
    const resource = { apiVersion: "netplug.io/v3", kind: "IPPool", metadata: { name }, spec } as const;
    const revision = await commit(this.admin, { op: "create", resource });
    // ADDs list what the server has in its cache: answered once that has come so far.
    await this.server.mustRequest("GET", `${collection("ippools")}?resourceVersion=${revision}&resourceVersionMatch=NotOlderThan`);
  }
}
