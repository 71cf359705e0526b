/** `ipam explain` as a person meets it; that it says what an ADD does is in `test/cni/explain.test.ts`. */

import { beforeEach, describe, expect, test as always } from "bun:test";
import { allocateFor, releaseOf } from "../support/cli/container-addresses.ts";
import { resourceYaml } from "../support/cli/documents.ts";
import { shareEtcdCliWorld } from "../support/cli/etcd-cli-world.ts";
import { shareKubernetesCliWorld } from "../support/cli/kubernetes-cli-world.ts";
import { ShownDocument } from "../support/documents/document.ts";
import { createNamespace, createNode, createPod } from "../support/servers/kubernetes.ts";

describe("on etcd", () => {
  const world = shareEtcdCliWorld();
  beforeEach(async () => {
    await world.reset();
    await world.create(resourceYaml("Node", "n1", {}));
  });

  always("it prints what docs/address-forecast.md shows", async () => {
    await world.createPool("pods", "10.65.0.0/16");
    await world.createPool("rack2", "10.66.0.0/16", { nodeSelector: "rack == 'r2'" });
    const [command = "", ...lines] = new ShownDocument("docs/address-forecast.md").block("", "$ netplugctl ipam explain").split("\n");
    expect(await world.ctl(command.split(" ").slice(2))).toEqual({ status: 0, stdout: lines.join("\n"), stderr: "" });
  });

  always("it writes nothing", async () => {
    await world.createPool("pods", "10.65.0.0/16");
    const stored = await world.stored("/");
    for (let times = 0; times < 2; times++) await world.done(["ipam", "explain", "--node=n1", "--families=IPv4"]);
    expect(await world.stored("/")).toEqual(stored);
  });

  always("of two families it tells each, and that a pod which wants both would get none", async () => {
    await world.createPool("pods", "10.65.0.0/16");
    const { status, stdout, stderr } = await world.ctl(["ipam", "explain", "--node=n1", "--families=IPv4,IPv6"]);
    expect([status, stdout]).toEqual([1, expect.stringMatching(/^a container on node "n1" could get 10\.65\..* of pool "pods"/)]);
    expect(stderr).toMatch(
      /^an ADD would fail with code 101: allocate an IPv6 address on node "n1": no address left: there is no IPv6 pool; .*\n$/,
    );
  });

  always("it counts what is reserved, and what others have", async () => {
    await world.createPool("pods", "10.65.0.0/30", { blockSize: 30 });
    await world.create(resourceYaml("IPReservation", "r", { reservedCIDRs: ["10.65.0.0/31"] }));
    await allocateFor(world.datastore, "c1", "n1", { address: "10.65.0.2" });
    expect(await world.json("ipam", "explain", "--node=n1")).toMatchObject({
      addresses: [{ ip: "10.65.0.3", block: "10.65.0.0/30", source: "own", pool: "pods" }],
    });
  });

  always("it says of another node's block whether that is empty, so that the node would take it over", async () => {
    await world.createPool("p", "10.65.0.0/30", { blockSize: 31 });
    for (const containerID of ["c1", "c2"]) await allocateFor(world.datastore, containerID, "n1");
    const other = await allocateFor(world.datastore, "c3", "n2");
    const explain = () => world.json("ipam", "explain", "--node=n1");
    expect(await explain()).toMatchObject({ addresses: [{ source: "borrowed" }] });
    await releaseOf(world.datastore, "c3", "n2");
    expect(await explain()).toMatchObject({ addresses: [{ source: "taken over" }] });
    expect(await allocateFor(world.datastore, "c4", "n1")).not.toBe(other);
    expect(await explain()).toMatchObject({ addresses: [{ ip: other, source: "own" }] });
  });

  always("a node that is not known is a warning where pools select nodes, because no selector of labels matches it", async () => {
    await world.createPool("pods", "10.65.0.0/16");
    expect(await world.ctl(["ipam", "explain", "--node=n9"])).toMatchObject({ status: 0, stderr: "" });
    await world.createPool("rack2", "10.66.0.0/16", { nodeSelector: "rack == 'r2'" });
    const { status, stderr } = await world.ctl(["ipam", "explain", "--node=n9"]);
    const warning = 'warning: node "n9" is not known, so it has no labels; "netplugctl get nodes" shows those that are\n';
    expect([status, stderr]).toEqual([0, warning]);
    expect((await world.ctl(["ipam", "explain", "--node=n1"])).stderr).toBe("");
  });

  always("of pools that could be used it says why those before the giving one give none", async () => {
    await world.createPool("a-full", "10.65.0.0/31", { blockSize: 31 });
    await world.createPool("b-other", "10.66.0.0/31", { blockSize: 31 });
    await world.createPool("c-free", "10.67.0.0/16");
    for (const [id, address, node] of [
      ["c1", "10.65.0.0", "n2"],
      ["c2", "10.65.0.1", "n2"],
      ["c3", "10.66.0.0", "n2"],
    ] as const)
      await allocateFor(world.datastore, id, node, { address });
    const full = { name: "a-full", order: 1, reason: "full: all 2 addresses are in use" };
    const pools = async () => (await world.json<{ readonly pools: readonly object[] }>("ipam", "explain", "--node=n1")).pools;
    expect(await pools()).toMatchObject([
      full,
      { name: "b-other", reason: 'a new block of pool "c-free" comes first' },
      { name: "c-free" },
    ]);
    await world.createPool("b-own", "10.68.0.0/16");
    await allocateFor(world.datastore, "c4", "n1", { address: "10.67.0.0" });
    const reason = 'the node\'s own block of pool "c-free" comes first';
    const [, ...others] = await pools();
    expect(others).toMatchObject([{ name: "b-other", reason }, { name: "b-own", reason }, { name: "c-free" }]);
    expect(others.map((pool) => "reason" in pool)).toEqual([true, true, false]);
  });

  always("where those that could be used are full, it says so of each, and what finds addresses that leaked", async () => {
    await world.createPool("pods", "10.65.0.0/32", { blockSize: 32 });
    await allocateFor(world.datastore, "c1", "n1", { address: "10.65.0.0" });
    const { status, stdout, stderr } = await world.ctl(["ipam", "explain", "--node=n1"]);
    expect([status, stdout]).toEqual([1, expect.stringMatching(/1 {3}pods {3}10\.65\.0\.0\/32 {3}full: its only address is in use\n$/)]);
    expect(stderr).toEndWith("full: its only address is in use\nnext: netplugctl ipam check\n");
  });

  always("where a pool of one family comes later, and the other has none, no address has leaked", async () => {
    await world.createPool("a", "10.65.0.0/16");
    await world.createPool("b", "10.66.0.0/16");
    await allocateFor(world.datastore, "c1", "n1", { address: "10.66.0.0" });
    const { status, stdout, stderr } = await world.ctl(["ipam", "explain", "--node=n1", "--families=IPv4,IPv6"]);
    expect([status, stdout]).toEqual([1, expect.stringContaining('the node\'s own block of pool "b" comes first')]);
    expect(stderr).toMatch(/^an ADD would fail with code 101: .* there is no IPv6 pool; [^\n]*\n$/);
  });

  always("while nobody is given anything, the report says why, and what the pools are", async () => {
    await world.createPool("pods", "10.65.0.0/16");
    await world.done(["patch", "clusterinformation", "default", "-p", '{"spec":{"datastoreReady":false}}']);
    const pools = [{ name: "pods", order: 1, cidr: "10.65.0.0/16" }];
    const locked = { addresses: [], refusals: [{ code: 11, message: expect.stringContaining("it is locked") }], pools };
    expect(await world.json("ipam", "explain", "--node=n1")).toMatchObject(locked);
    await world.etcd.ctl(["del", "--prefix", "/netplug/v3/clusterinformations/"]);
    const { status, stdout, stderr } = await world.ctl(["ipam", "explain", "--node=n1", "-o", "json"]);
    expect([status, JSON.parse(stdout)]).toMatchObject([1, { addresses: [], refusals: [{ code: 112 }], pools }]);
    expect(stderr).toEndWith("\nnext: netplugctl init\n");
  });

  always.each([
    [[], 2, 'read options: got no --node, want one, or -f with a manifest that has "nodeName"\n'],
    [["--node=a b"], 2, 'got "a b" as --node, want letters'],
    [["--node=n1", "--families=4"], 2, "IPv4"],
    [["--node="], 2, 'got "" as --node, want letters'],
    [["--node=n1", "--ipv4-pools="], 2, 'read option "--ipv4-pools": got "", want a name'],
    [["--node=n1", "--ipv6-pools=a,,b"], 2, 'read option "--ipv6-pools": got "", want a name'],
    [["--node=n1", "--pod=web"], 1, "the datastore is etcd, which knows of none before it runs; give --node alone"],
    [["--node=n1", "-n", "shop"], 1, "the datastore is etcd, which knows of none before it runs; give --node alone"],
  ])("%j ends with %d", async (words, status, message) => {
    expect(await world.ctl(["ipam", "explain", ...words])).toMatchObject({ status, stdout: "", stderr: expect.stringContaining(message) });
  });
});

describe("on Kubernetes", () => {
  const [test, world] = shareKubernetesCliWorld(async (world) => {
    await world.done(["init"]);
    await world.createPool("pods", "10.65.0.0/16");
    await createNode(world.api, "n1", []);
    await createNamespace(world.api, "shop", { annotations: { ipv4pool: '["blue"]' } });
    await createPod(world.api, { name: "unbound", annotations: { ipaddrs: '["10.65.0.9"]' }, namespace: "shop" });
    await createPod(world.api, { name: "on-host", spec: { nodeName: "n1", hostNetwork: true } });
  });

  const explain = async (...words: readonly string[]) => await world.ctl(["ipam", "explain", ...words]);

  test("annotations without effect are named, the namespace's too (needs cluster)", async () => {
    const { status, stdout, stderr } = await explain("--pod=unbound", "--namespace=shop", "--node=n1");
    expect([status, stdout]).toEqual([0, expect.stringMatching(/^pod "shop\/unbound" on node "n1" would get 10\.65\./)]);
    expect(stderr.split("\n")).toEqual([expect.stringMatching(/^warning: .*ipaddrs/), expect.stringMatching(/^warning: .*ipv4pool/), ""]);
  });

  test("a pod that is bound to another node is a warning: the answer is not its own (needs cluster)", async () => {
    await createNode(world.api, "n2", []);
    await createPod(world.api, { name: "bound", spec: { nodeName: "n1" } });
    const { status, stderr } = await explain("--pod=bound", "--node=n2");
    expect([status, stderr]).toEqual([0, 'warning: pod "default/bound" is bound to node "n1": the answer is for one like it\n']);
    expect((await explain("--pod=bound", "--node=n1")).stderr).toBe("");
  });

  test("a name that no node has in Kubernetes may be the bound node's own (needs cluster)", async () => {
    await createPod(world.api, { name: "renamed", spec: { nodeName: "n1" } });
    expect((await explain("--pod=renamed", "--node=rack-7")).stderr.split("\n")).toEqual([
      'warning: pod "default/renamed" is bound to node "n1": unless "nodename" there is "rack-7", the answer is for one like it',
      'warning: node "rack-7" is not known, so it has no labels; "netplugctl get nodes" shows those that are',
      "",
    ]);
  });

  test("without a pod, one of the namespace is meant, and messages name none (needs cluster)", async () => {
    expect((await explain("--node=n1")).stdout).toMatch(/^a pod of namespace "default" on node "n1" would get 10\.65\./);
    expect((await explain("--node=n1", "--namespace=shop")).stderr).toStartWith(
      'warning: annotation "cni.netplug.io/ipv4pool" of namespace "shop" is unknown',
    );
    await createNamespace(world.api, "grey", { annotations: { ipv4pools: '["grey"]' } });
    const message = expect.stringMatching(/; annotation "cni\.netplug\.io\/ipv4pools" of namespace "grey" names it$/);
    expect(await world.json("ipam", "explain", "--node=n1", "-n", "grey")).toMatchObject({ refusals: [{ code: 100, message }] });
  });

  test("a pod may be named with its namespace (needs cluster)", async () => {
    expect((await explain("--pod=shop/unbound", "--node=n1")).stdout).toStartWith('pod "shop/unbound" on node "n1" would get 10.65.');
    expect((await explain("--pod=shop/unbound", "--node=n1", "--namespace=shop")).status).toBe(0);
  });

  test("what an annotation asks for in vain is in the report, too (needs cluster)", async () => {
    await createPod(world.api, { name: "odd", annotations: { ipAddrs: "10.65.0.9" }, spec: { nodeName: "n1" } });
    const message = expect.stringContaining('read annotation "cni.netplug.io/ipAddrs" of pod "default/odd"');
    expect(await world.json("ipam", "explain", "--pod=odd")).toMatchObject({
      addresses: [],
      refusals: [{ code: 104, message }],
      pools: [],
    });
  });

  test("names of pods complete, also of those without an address (needs cluster)", async () => {
    const propose = async (...words: readonly string[]) =>
      (await world.done(["__complete", "ipam", "explain", ...words])).split("\n").map((line) => line.split("\t")[0]);
    expect(await propose("-n", "shop", "--pod", "")).toEqual(["unbound", ""]);
    expect(await propose("--namespace=shop", "--pod=unb")).toEqual(["--pod=unbound", ""]);
    expect(await propose("--pod", "shop/u")).toEqual(["shop/unbound", ""]);
    expect(await propose("--pod", "on-")).toEqual(["on-host", ""]);
  });

  test.each([
    [["--pod=unbound", "--namespace=shop"], 2, 'got no --node, and pod "shop/unbound" is bound to none yet: kubectl describe pod says why'],
    [["--namespace=shop"], 2, "read options: got no --node, want one, or a --pod that is bound to one"],
    [["--node=n1", "--pod="], 2, 'read option "--pod": got "", want NAME or NAMESPACE/NAME'],
    [["--node=n1", "--namespace="], 2, 'read option "--namespace": got "", want a DNS name in lower case'],
    [
      ["--node=n1", "--pod=shop/unbound", "-n", "default"],
      2,
      'got "default" as --namespace, and "shop/unbound" as --pod, want one namespace',
    ],
    [["--node=n1", "--pod=shop/"], 2, 'read option "--pod": got "shop/", want NAME'],
    [["--node=n1", "--pod=pod/shop/unbound"], 2, 'read option "--pod": got "pod/shop/unbound", want NAME'],
    [["--node=n1", "--pod=/unbound"], 2, 'read option "--pod": got "/unbound", want NAME'],
    [["--node=n1", "--pod=../unbound"], 2, 'read option "--pod": got "../unbound", want NAME'],
    [["--node=n1", "--pod=.."], 2, 'read option "--pod": got "..", want NAME'],
    [["--node=n1", "--pod=a b/unbound"], 2, 'read the namespace in option "--pod": got "a b", want a DNS name in lower case'],
    [["--pod=none", "--node=n1"], 1, 'find pod "default/none": there is none'],
    [["--node=n1", "--namespace=none"], 1, 'find namespace "none": there is none'],
    [["--pod=on-host"], 1, 'pod "default/on-host": it uses the host\'s network (hostNetwork: true), so it gets none'],
  ])("%j ends with %d (needs cluster)", async (words, status, message) => {
    expect(await explain(...words)).toMatchObject({ status, stdout: "", stderr: expect.stringContaining(message) });
  });

  test("of a namespace that is being deleted it says that new pods are refused, and answers for those that are there (needs cluster)", async () => {
    await createNamespace(world.api, "ending");
    await createPod(world.api, { name: "old", namespace: "ending", spec: { nodeName: "n1" } });
    await world.api.kubectl(["delete", "namespace", "ending", "--wait=false"]);
    const manifest = `apiVersion: v1\nkind: Pod\nmetadata: { name: new, namespace: ending }\nspec: { containers: [{ name: main, image: none }] }\n`;
    const file = world.file("new.yaml", manifest);
    const withNamespace = world.file("both.yaml", `apiVersion: v1\nkind: Namespace\nmetadata: { name: ending }\n---\n${manifest}`);
    const stderr = 'netplugctl: use namespace "ending": it is being deleted, so the API server refuses new pods in it\n';
    for (const words of [
      ["-n", "ending"],
      ["-f", file],
      ["-f", withNamespace],
    ])
      expect(await explain("--node=n1", ...words)).toEqual({ status: 1, stdout: "", stderr });
    expect((await explain("--pod=ending/old")).stdout).toStartWith('pod "ending/old" on node "n1" would get 10.65.');
    expect(await world.api.kubectl(["create", "-f", file]).catch(String)).toContain("because it is being terminated");
  });

  test("of a missing namespace that nobody named, it says where it comes from (needs cluster)", async () => {
    const kubeconfig = world.file("none.kubeconfig", await world.api.kubectl(["config", "view", "--raw"]));
    await world.api.kubectl(["config", "set-context", "--current", "--namespace=none", "--kubeconfig", kubeconfig]);
    const ask = async (...words: readonly string[]) =>
      (await world.ctl(["ipam", "explain", ...words], { env: { KUBECONFIG: kubeconfig } })).stderr;
    const missing = 'netplugctl: find namespace "none": there is none';
    const file = world.file("web.yaml", "apiVersion: v1\nkind: Pod\nmetadata: { name: web }\n");
    for (const words of [["--node=n1"], ["--pod=unbound"], ["--node=n1", "-f", file]])
      expect(await ask(...words)).toBe(`${missing}; it is that of the context, as no --namespace is given\n`);
    const inNone = world.file("none.yaml", "apiVersion: v1\nkind: Pod\nmetadata: { name: web, namespace: none }\n");
    for (const words of [["--pod=none/unbound"], ["-f", inNone], ["-f", file, "--pod=none/web"]])
      expect(await ask("--node=n1", ...words)).toBe(`${missing}\n`);
  });
});
