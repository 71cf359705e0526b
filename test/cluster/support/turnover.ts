/** Pods that go while as many others come: what faults are tried on. */

import { expect } from "bun:test";
import { untilAddressesAgree } from "./addresses.ts";
import type { Cluster } from "./cluster.ts";
import type { ClusterNode } from "./node.ts";
import { untilCallsRun } from "./running-calls.ts";
import { createReplicas } from "./workload.ts";

/** How often it is looked whether all have gone and come: each look is some processes. */
const POLL_INTERVAL_MS = 500;

/** Two Deployments, one of which has pods. */
export class Turnover {
  readonly #cluster: Cluster;
  readonly #node: ClusterNode;
  readonly #replicas: number;
  #full = "left";
  #empty = "right";

  private constructor(cluster: Cluster, node: ClusterNode, replicas: number) {
    this.#cluster = cluster;
    this.#node = node;
    this.#replicas = replicas;
  }

  /** Makes them, and waits until the pods are Ready. @param node the cluster's only one */
  static async begin(cluster: Cluster, node: ClusterNode, replicas: number): Promise<Turnover> {
    const turnover = new Turnover(cluster, node, replicas);
    await createReplicas(cluster, "Deployment", turnover.#full, replicas);
    await createReplicas(cluster, "Deployment", turnover.#empty, 0);
    await turnover.#untilTurned();
    return turnover;
  }

  /**
   * Deletes all pods and makes as many others at the same time. Ends when they are Ready, the old ones are gone, and the addresses agree.
   *
   * @param disturb begins while calls of the plugin run, some ADDs and some DELs having begun
   */
  async swap(disturb: () => Promise<unknown>): Promise<void> {
    await this.turn();
    await untilCallsRun(this.#node);
    await disturb();
    await this.settle();
  }

  /** Lets the pods go and the others come, and does not wait. */
  async turn(): Promise<void> {
    [this.#full, this.#empty] = [this.#empty, this.#full];
    await this.#cluster.kubectl(["scale", `deployment/${this.#empty}`, "--replicas=0"]);
    await this.#cluster.kubectl(["scale", `deployment/${this.#full}`, `--replicas=${this.#replicas}`]);
  }

  /** Waits until those that go have gone, those that come are Ready, and the addresses in blocks are theirs. */
  async settle(): Promise<void> {
    await this.#untilTurned();
    await untilAddressesAgree(this.#cluster, this.#replicas);
  }

  /** Deletes all, and waits until no address is in use. */
  async end(): Promise<void> {
    await this.#cluster.kubectl(["scale", "deployment/left", "deployment/right", "--replicas=0"]);
    await untilAddressesAgree(this.#cluster, 0);
  }

  async #untilTurned(): Promise<void> {
    for (const end = performance.now() + 180_000; ; await Bun.sleep(POLL_INTERVAL_MS)) {
      try {
        expect(await this.#names(this.#empty)).toEqual([]);
        const ready = ["get", "deployment", this.#full, "-o", "jsonpath={.status.readyReplicas}"];
        expect(await this.#cluster.kubectl(ready)).toBe(String(this.#replicas));
        return;
      } catch (thrown) {
        if (performance.now() > end) throw new Error(await this.#cluster.warnings().catch(String), { cause: thrown });
        await wakeKubelet(this.#cluster).catch(() => undefined);
      }
    }
  }

  async #names(app: string): Promise<readonly string[]> {
    return (await this.#cluster.kubectl(["get", "pods", "-l", `app=${app}`, "-o", "name"])).split("\n").filter((name) => name !== "");
  }
}

/** After a failure the kubelet waits 10 s before it looks at a pod again; a pod that changes it looks at at once. */
export async function wakeKubelet(cluster: Cluster): Promise<void> {
  await cluster.kubectl(["annotate", "pods", "--all", "--overwrite", `looked=${performance.now()}`]);
}
