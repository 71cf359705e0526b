/**
 * A node loses its power while pods go and come, and is started again: what is in memory is gone, what is on its disk and in the datastore is not.
 */

import { describe, expect } from "bun:test";
import { mustNetplugctl } from "../support/cli/netplugctl.ts";
import { addressesOfPods } from "./support/addresses.ts";
import { etcdAccess, kubernetesAccess } from "./support/datastores.ts";
import { eventually } from "../support/time/eventually.ts";
import { netplugInstalledOnEtcd, netplugOnKubernetes } from "./support/networks.ts";
import { onCluster } from "./support/on-cluster.ts";
import { addressesInUse } from "./support/pod-interfaces.ts";
import { runPods } from "./support/pods.ts";
import { untilCallsRun } from "./support/running-calls.ts";
import { wakeKubelet } from "./support/turnover.ts";
import { createReplicas } from "./support/workload.ts";

const REPLICAS = 5;
const FIXED = { name: "fixed", annotations: { "cni.netplug.io/ipAddrs": '["10.65.7.7"]' } };

describe.each([
  { datastore: "etcd", network: netplugInstalledOnEtcd, access: etcdAccess },
  { datastore: "the Kubernetes API", network: netplugOnKubernetes, access: kubernetesAccess },
])("netplug on $datastore", ({ network, access }) => {
  const [test, cluster] = onCluster({ network: network({ pools: ["10.65.0.0/16"] }) });
  const node = cluster.nodes[0];

  async function ctl(...args: readonly string[]): Promise<string> {
    return await mustNetplugctl(access(cluster), args);
  }

  /** Waits until the node's pods have these addresses and others up to `count`, each its own, and the datastore has no more. */
  async function untilAddressesAgree(count: number, known: readonly string[]): Promise<void> {
    await eventually(async () => {
      await wakeKubelet(cluster);
      const inUse = addressesInUse([node]).map(({ address }) => address);
      expect(new Set(inUse).size).toBe(count);
      expect(inUse).toEqual(expect.arrayContaining([...known]));
      expect(inUse.toSorted()).toEqual([...(await addressesOfPods(cluster))]);
      expect(JSON.parse(await ctl("ipam", "show", "-o", "json"))).toMatchObject({ pools: [{ inUse: count }] });
      expect(await ctl("ipam", "check")).toContain("found 0 problems");
    });
  }

  test("every pod is back with an address of its own, one with the address that it asks for, and no address is lost", async () => {
    await runPods(cluster, [FIXED]);
    await createReplicas(cluster, "StatefulSet", "stays", 2);
    await createReplicas(cluster, "Deployment", "goes", REPLICAS);
    await cluster.kubectl(["rollout", "status", "deployment/goes", "--timeout=180s"]);
    await untilAddressesAgree(REPLICAS + 3, ["10.65.7.7"]);

    await createReplicas(cluster, "Deployment", "comes", REPLICAS);
    await cluster.kubectl(["scale", "deployment/goes", "--replicas=0"]);
    await untilCallsRun(node);
    await node.reboot();
    await untilAddressesAgree(REPLICAS + 3, ["10.65.7.7"]);
    expect(await cluster.warnings()).toContain("has been rebooted");
  });
});
