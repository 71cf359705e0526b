/** netplug under Kubernetes' own tests of networks, those that `specs.txt` names: each passes, and then every address is free again. */

import { expect } from "bun:test";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { keepRouted } from "../../tools/cluster/block-routes.ts";
import { areClusterProgramsBuilt, CONFORMANCE_PROGRAMS } from "../../tools/prerequisites/cluster-programs.ts";
import { untilAddressesAgree } from "../cluster/support/addresses.ts";
import { canStartCluster, startCluster } from "../cluster/support/cluster.ts";
import { kubernetesAccess } from "../cluster/support/datastores.ts";
import { netplugOnKubernetes, shownNetworkConfig } from "../cluster/support/networks.ts";
import { shownKubeProxyConfig } from "../cluster/support/services.ts";
import { shareIf } from "../support/share.ts";
import { makeAgnhostImage } from "./agnhost-image.ts";
import { keptFolder, runSpecs, SPECS } from "./run-specs.ts";

let outcomes: ReadonlyMap<string, string>;
const network = netplugOnKubernetes({ pools: ["10.65.0.0/16", "fd65::/112"], networkConfig: shownNetworkConfig() });
const [test, cluster] = shareIf(
  canStartCluster() && areClusterProgramsBuilt(CONFORMANCE_PROGRAMS),
  () => startCluster({ nodes: 2, network, kubeProxy: shownKubeProxyConfig() }),
  async (started) => {
    const image = makeAgnhostImage(join(started.api.folder, "agnhost"));
    for (const node of started.nodes) node.importImage(image);
    using stack = new DisposableStack();
    stack.defer(keepRouted(started, kubernetesAccess(started)));
    outcomes = await runSpecs(started, SPECS, join(started.api.folder, "specs"));
  },
);

for (const name of SPECS) test(name, () => expect(outcomes.get(name)).toBe("passed"));

test("those specs ran, and no others", () => {
  expect([...outcomes.keys()].toSorted()).toEqual(SPECS.toSorted());
});

test("what ginkgo said is kept, however it went", () => {
  expect(readdirSync(keptFolder()).toSorted()).toEqual(["ginkgo.log", "report.json"]);
});

test("when their pods are gone, so are addresses and interfaces, and `ipam check` finds nothing", async () => {
  expect(await untilAddressesAgree(cluster, 0)).toEqual([]);
  for (const node of cluster.nodes) expect(node.must(["ip", "-o", "link", "show"])).not.toContain("npg");
});
