/** `netplugctl get --watch`, as a person and as a program runs it. */

import { beforeEach, expect, test as onEtcd } from "bun:test";
import { join } from "node:path";
import { repositoryRoot } from "../../tools/repository.ts";
import { endpointYaml, poolYaml } from "../support/cli/documents.ts";
import { shareEtcdCliWorld } from "../support/cli/etcd-cli-world.ts";
import { shareKubernetesCliWorld } from "../support/cli/kubernetes-cli-world.ts";
import { netplugctl } from "../support/cli/netplugctl.ts";
import { startOnTerminal, type TerminalSession } from "../support/programs/terminal.ts";
import { createNode, createPod, deletePod } from "../support/servers/kubernetes.ts";
import { untilAllowed } from "../support/servers/rights.ts";
import { eventually } from "../support/time/eventually.ts";

const etcd = shareEtcdCliWorld();
beforeEach(() => etcd.reset());
const etcdEnv = () => ({ ETCD_ENDPOINTS: etcd.etcd.endpoint, NO_COLOR: "1" });

/** Of somebody who has the role that only shows. */
let viewer: { readonly KUBECONFIG: string; readonly DATASTORE_TYPE: string; readonly NO_COLOR: string };
const [onKubernetes, cluster] = shareKubernetesCliWorld(async (world) => {
  const { api } = world;
  await world.done(["init"]);
  await createNode(api, "n1", []);
  await api.kubectl(["apply", "--server-side", "-f", join(repositoryRoot, "manifests/rbac.yaml")]);
  await api.kubectl(["create", "clusterrolebinding", "viewer", "--clusterrole=netplug-view", "--user=viewer"]);
  await untilAllowed(api, "viewer", "watch", "pods");
  viewer = { KUBECONFIG: api.issue("viewer").kubeconfigFile, DATASTORE_TYPE: "kubernetes", NO_COLOR: "1" };
});

function watching(words: readonly string[], env: Readonly<Record<string, string>>): TerminalSession {
  return startOnTerminal([netplugctl, "get", ...words, "--watch"], env);
}

/** Ends a watch as people do. */
async function interrupt(session: TerminalSession): Promise<void> {
  session.type("\x03");
  expect(await session.ended()).toBe(130);
}

onEtcd("a person sees what is there, then a line for each change, until Ctrl-C", async () => {
  await etcd.done(["init"]);
  await etcd.createPool("blue", "10.65.0.0/24");
  await using session = watching(["ippools"], etcdEnv());
  expect(await session.shows(/all\(\)\r\n/)).toBe(
    "EVENT      NAME   CIDR           SELECTOR\r\nADDED      blue   10.65.0.0/24   all()\r\n",
  );
  await etcd.createPool("longer-than-blue", "10.66.0.0/24");
  expect(await session.shows(/all\(\)\r\n/)).toBe("ADDED      longer-than-blue   10.66.0.0/24   all()\r\n");
  await etcd.done(["patch", "ippool", "blue", "-p", '{"spec":{"nodeSelector":"has(x)"}}']);
  expect(await session.shows(/has\(x\)\r\n/)).toBe("MODIFIED   blue               10.65.0.0/24   has(x)\r\n");
  await etcd.etcd.ctl(["del", "/netplug/v3/ippools/blue"]);
  expect(await session.shows(/has\(x\)\r\n/)).toBe("DELETED    blue               10.65.0.0/24   has(x)\r\n");
  await interrupt(session);
});

onEtcd("an object that is damaged is deleted until it is repaired, and why is said to those who asked for it", async () => {
  await etcd.done(["init"]);
  await etcd.createPool("blue", "10.65.0.0/24");
  await etcd.createPool("red", "10.66.0.0/24");
  await using session = watching(["ippool", "blue", "-o", "custom-columns=NAME"], etcdEnv());
  await session.shows(/ADDED +blue\r\n/);
  const key = "/netplug/v3/ippools/blue";
  const value = await etcd.etcd.ctl(["get", "--print-value-only", key]);
  for (const damaged of ["/netplug/v3/ippools/red", key]) await etcd.etcd.ctl(["put", damaged, "damaged"]);
  const shown = await session.shows(/DELETED +blue\r\n/);
  expect(shown).toMatch(/^left out: read "\/netplug\/v3\/ippools\/blue" in etcd: [^\n]*\nDELETED +blue\r\n$/);
  await etcd.etcd.ctl(["put", key, value.trim()]);
  await session.shows(/ADDED +blue\r\n/);
  await interrupt(session);
});

onEtcd("what changes while etcd is away is told when it is back", async () => {
  await etcd.done(["init"]);
  await etcd.createPool("blue", "10.65.0.0/24");
  await using session = watching(["ippools", "-o", "custom-columns=NAME"], etcdEnv());
  await session.shows(/ADDED +blue\r\n/);
  await etcd.etcd.stop();
  await etcd.etcd.start();
  await etcd.createPool("red", "10.66.0.0/24");
  // How long it was away decides whether that was said.
  expect(await session.shows(/red\r\n/)).toMatch(/^(?:warning: not watched for the moment, .*\r\nwatched again: .*\r\n)?ADDED +red\r\n$/);
  await interrupt(session);
});

onEtcd("while etcd stays away, a person is told so, and when it is back", async () => {
  await etcd.done(["init"]);
  await etcd.createPool("blue", "10.65.0.0/24");
  await using session = watching(["ippools", "-o", "custom-columns=NAME"], etcdEnv());
  await session.shows(/ADDED +blue\r\n/);
  await etcd.etcd.stop();
  expect(await session.shows(/warning: .*\r\n/)).toMatch(
    /^warning: not watched for the moment, so what changes is shown later: .*: connection refused\r\n$/,
  );
  await etcd.etcd.start();
  expect(await session.shows(/again.*\r\n/)).toBe("watched again: what has changed meanwhile follows\r\n");
  await etcd.etcd.ctl(["del", "/netplug/v3/ippools/blue"]);
  expect(await session.shows(/blue\r\n/)).toMatch(/^DELETED +blue\r\n$/);
  await interrupt(session);
});

onEtcd("a program gets an object on each line, of the namespace and the labels that it asks for, and may stop reading", async () => {
  await etcd.done(["init"]);
  const child = Bun.spawn([netplugctl, "get", "wep", "-n", "prod", "-w", "-o", "json"], { env: etcdEnv(), stdout: "pipe", stderr: "pipe" });
  const reader = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
  const endpoint = (containerID: string, namespace: string): string => endpointYaml({ containerID, namespace, node: "n1" });
  // It may be under way, or not have begun to read: the endpoint is told in either case.
  await etcd.create(endpoint("c0", "default"), endpoint("c1", "prod"));
  const { value = "" } = await reader.read();
  expect(value).toEndWith("}\n");
  expect(JSON.parse(value)).toMatchObject({ type: "ADDED", object: { kind: "WorkloadEndpoint", metadata: { name: "n1-cni-c1-eth0" } } });
  await reader.cancel();
  let count = 1;
  // The pipe is closed some time after that, and what is written before goes through.
  await eventually(async () => {
    await etcd.create(endpoint(`c${++count}`, "prod"));
    expect(child.exitCode).toBe(0);
  });
  expect(await child.stderr.text()).toBe("");
});

onKubernetes(
  "endpoints come and go with the addresses of their pods, and other changes of a pod are not told (needs cluster)",
  async () => {
    await using session = watching(["wep", "-A"], viewer);
    await session.shows(/EVENT +NAMESPACE .*\r\n/);
    const pod = { name: "web", namespace: "default" };
    await createPod(cluster.api, { ...pod, spec: { nodeName: "n1" } });
    await cluster.api.kubectl(["annotate", "pod", "web", "cni.netplug.io/podIPs=10.65.0.9/32", "cni.netplug.io/containerID=c1"]);
    expect(await session.shows(/10\.65\.0\.9\/32.*\r\n/)).toMatch(
      /^ADDED +default +web +n1 +npg\w+\r\nMODIFIED +default +web +n1 +10\.65\.0\.9\/32 +npg\w+\r\n$/,
    );
    await cluster.api.kubectl(["patch", "pod", "web", "--subresource=status", "-p", '{"status":{"message":"unseen"}}']);
    await deletePod(cluster.api, pod);
    const rest = await session.shows(/DELETED .*\r\n/);
    expect(rest.split("\r\n").filter((line) => line !== "")).toEqual([expect.stringMatching(/^DELETED +default +web /)]);
    await interrupt(session);
  },
);

onKubernetes("an object is watched by its name (needs cluster)", async () => {
  await using session = watching(["tiers", "default"], viewer);
  await session.shows(/ADDED +default +1000000 +Deny\r\n/);
  await cluster.done(["label", "tier", "default", "a=b"]);
  await session.shows(/MODIFIED +default +1000000 +Deny\r\n/);
  await interrupt(session);
});

onKubernetes("while the API server stays away, a person is told so, and when it is back (needs cluster)", async () => {
  await using session = watching(["tiers", "default", "-o", "custom-columns=NAME"], viewer);
  await session.shows(/ADDED +default\r\n/);
  const { server } = cluster.api;
  await server.stop();
  expect(await session.shows(/warning: .*\r\n/)).toMatch(
    /^warning: not watched for the moment, so what changes is shown later: .*: connection refused\r\n$/,
  );
  await server.start();
  expect(await session.shows(/again.*\r\n/)).toBe("watched again: what has changed meanwhile follows\r\n");
  await cluster.done(["label", "tier", "default", "back=yes"]);
  expect(await session.shows(/default\r\n/)).toMatch(/^MODIFIED +default\r\n$/);
  await interrupt(session);
});

onEtcd.each([
  [["get", "ippool/a", "tier/b", "-w"], 2, "use --watch with several kinds, or namespaces: want one"],
  [["get", "tiers", "-w", "-o", "name"], 2, "use --watch with --output=name: want a table, json or yaml"],
  [["get", "ippool", "nope", "-w"], 1, 'find ippool "nope": there is none'],
])("%j is refused", async (argv, status, message) => {
  await etcd.done(["init"]);
  expect(await etcd.ctl(argv)).toEqual({ status, stdout: "", stderr: expect.stringContaining(message) });
});

onEtcd("a datastore that cannot be reached is said at once", async () => {
  const { status, stderr } = await etcd.ctl(["get", "ippools", "-w"], { env: { ETCD_ENDPOINTS: "http://127.0.0.1:1" } });
  expect([status, stderr]).toEqual([1, expect.stringContaining("http://127.0.0.1:1")]);
});

onEtcd("YAML is a document for each change", async () => {
  await etcd.done(["init"]);
  await etcd.create(poolYaml("blue", "10.65.0.0/24"));
  await using session = watching(["ippool", "blue", "-o", "yaml"], etcdEnv());
  expect(Bun.YAML.parse((await session.shows(/cidr: .*\r\n/)).replaceAll("\r", ""))).toMatchObject({
    type: "ADDED",
    object: { kind: "IPPool", metadata: { name: "blue" }, spec: { cidr: "10.65.0.0/24" } },
  });
  await interrupt(session);
});
