/** For tests: a node on the Kubernetes datastore, and a proxy before the API server that decides what becomes of each request. */

import type { ApiServer } from "../../support/servers/api-server.ts";
import { type FaultProxy, startFaultProxy } from "../../support/servers/fault-proxy.ts";
import { startPodWorldOnKubernetes } from "../../support/node/pod-world.ts";
import type { TestNode } from "../../support/node/test-node.ts";

export interface ProxiedNode extends AsyncDisposable {
  readonly api: ApiServer;
  readonly node: TestNode;
  readonly proxy: FaultProxy;
}

/** @param cidrs of its pools */
export async function startProxiedNode(cidrs: readonly string[]): Promise<ProxiedNode> {
  const { api, node } = await startPodWorldOnKubernetes({ cidrs });
  const proxy = await startFaultProxy(api);
  return {
    api,
    node,
    proxy,
    async [Symbol.asyncDispose]() {
      await proxy[Symbol.asyncDispose]();
      await node[Symbol.asyncDispose]();
    },
  };
}
