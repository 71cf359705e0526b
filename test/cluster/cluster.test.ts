/** The cluster itself: it starts, runs pods that reach each other, and goes without a trace, also when its maker is killed. */

import { expect, test as always } from "bun:test";
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { nodePlace } from "../support/node/netns.ts";
import { planCgroups } from "../support/daemons/cgroups.ts";
import { canStartCluster, startCluster } from "./support/cluster.ts";
import type { Cluster } from "./support/cluster.ts";
import { eventually } from "../support/time/eventually.ts";
import { ptpNetwork } from "./support/networks.ts";
import { listPods, pingFrom, runPods } from "./support/pods.ts";
import { startTimeOf } from "../support/daemons/process-status.ts";

const test = always.skipIf(!canStartCluster());

/** Where `host-local` keeps what it has given. */
const RESERVATIONS = "/var/lib/cni/networks/pods";

/** Those of the machine itself, which may use `host-local`, too; undefined: the folder is not there. */
function reservationsOfMachine(): readonly string[] | undefined {
  return existsSync(RESERVATIONS) ? readdirSync(RESERVATIONS).sort() : undefined;
}

/** What a cluster leaves on the machine while it runs, and must not afterwards. */
function tracesOf(cluster: Cluster): () => readonly string[] {
  const netns = cluster.nodes.map(({ wire }) => `/run/netns/${wire.netns}`);
  const cgroups = cluster.nodes.flatMap(({ wire }) => planCgroups(wire.netns).roots);
  const processes = [cluster.api.server, cluster.api.etcd, cluster.controllerManager, cluster.scheduler]
    .concat(cluster.nodes.flatMap((node) => [node.init, node.containerd, node.kubelet]))
    .map((daemon) => [daemon.name, daemon.pid ?? 0] as const);
  return () => [
    ...[cluster.api.folder, ...netns, ...cgroups].filter((path) => existsSync(path)),
    ...processes.filter(([, pid]) => startTimeOf(pid) !== undefined).map(([name]) => name),
    ...nodePlace
      .links()
      .map(({ ifname }) => ifname)
      .filter((ifname) => ifname.startsWith(`npgk${process.pid.toString(36)}`)),
  ];
}

test("two nodes with ptp and host-local: pods are Ready, ping each other on one node and across, and nothing stays", async () => {
  const before = reservationsOfMachine();
  const cluster = await startCluster({ nodes: 2, network: ptpNetwork() });
  const traces = tracesOf(cluster);
  try {
    const [first, second] = cluster.nodes;
    if (first === undefined || second === undefined) throw new Error("want two nodes");
    for (const node of [first, second]) cluster.route(cluster.podCidrsOf(node)[0], node);
    const [a, b, c] = await runPods(cluster, [
      { name: "a", node: first.name },
      { name: "b", node: first.name },
      { name: "c", node: second.name },
    ]);
    if (a === undefined || b === undefined || c === undefined) throw new Error("want three pods");
    for (const [pod, range] of [
      [a, /^10\.244\.0\./],
      [b, /^10\.244\.0\./],
      [c, /^10\.244\.1\./],
    ] as const)
      expect(pod.address).toMatch(range);
    await pingFrom(cluster, "a", [b.address, c.address]);
    await pingFrom(cluster, "c", [a.address, b.address]);
    expect(await cluster.kubectl(["exec", "c", "--", "hostname"])).toBe("c\n");
    expect(existsSync(second.path(RESERVATIONS))).toBe(true);
    expect(reservationsOfMachine()).toEqual(before);
    expect(traces().length).toBeGreaterThan(15);
  } finally {
    await cluster.stop();
  }
  expect(traces()).toEqual([]);
});

test("pods outlive containerd and the kubelet; a node without a network is NotReady", async () => {
  await using cluster = await startCluster({ network: ptpNetwork([4, 6]) });
  const [node] = cluster.nodes;
  const [a, b] = await runPods(cluster, [{ name: "a" }, { name: "b" }]);
  if (a === undefined || b === undefined) throw new Error("want two pods");
  expect(a.addresses).toEqual([expect.stringMatching(/^10\.244\.0\./), expect.stringMatching(/^fd10:244:/)]);
  await pingFrom(cluster, "a", [b.address]);
  await node.containerd.stop();
  await node.kubelet.stop("SIGTERM");
  await node.containerd.start();
  await node.kubelet.start();
  // a kubelet that is healthy need not have heard of its pods yet
  await eventually(() => pingFrom(cluster, "b", a.addresses));
  expect((await listPods(cluster, [])).map(({ restarts }) => restarts)).toEqual([0, 0]);

  node.setNetwork(undefined);
  await cluster.kubectl(["wait", "--for=condition=Ready=false", `node/${node.name}`, "--timeout=180s"]);
});

test("a maker that is killed leaves nothing: the kernel ends the programs, the janitor removes the rest", async () => {
  const program = `
    import { startCluster } from ${JSON.stringify(join(import.meta.dir, "support/cluster.ts"))};
    import { ptpNetwork } from ${JSON.stringify(join(import.meta.dir, "support/networks.ts"))};
    const cluster = await startCluster({ network: ptpNetwork() });
    const { folder, cleaner } = cluster.api;
    const [{ wire, kubelet }] = cluster.nodes;
    console.log(JSON.stringify({ folder, netns: wire.netns, kubelet: kubelet.pid, janitor: cleaner.pid }));
    await Bun.sleep(600_000);`;
  const maker = Bun.spawn([process.execPath, "--eval", program], { stdin: "ignore", stdout: "pipe", stderr: "inherit" });
  const { value } = await maker.stdout.getReader().read();
  const made = JSON.parse(new TextDecoder().decode(value)) as Record<"folder" | "netns", string> & Record<"kubelet" | "janitor", number>;
  const processes = [made.kubelet, made.janitor].map((pid) => [pid, startTimeOf(pid)] as const);
  const left = (): readonly string[] => [
    ...[made.folder, `/run/netns/${made.netns}`, ...planCgroups(made.netns).roots].filter((path) => existsSync(path)),
    ...processes.filter(([pid, startTime]) => startTimeOf(pid) === startTime).map(([pid]) => `process ${pid}`),
    ...nodePlace
      .links()
      .map(({ ifname }) => ifname)
      .filter((ifname) => ifname.startsWith(`npgk${maker.pid.toString(36)}`)),
  ];
  expect(left().length).toBeGreaterThan(5);
  maker.kill("SIGKILL");
  await maker.exited;
  for (const end = performance.now() + 90_000; left().length > 0 && performance.now() < end; await Bun.sleep(50));
  expect(left()).toEqual([]);
});
