/** `init` on a real API server: over nothing, over itself, over older definitions; and how it fails. */

import { describe, expect } from "bun:test";
import { join } from "node:path";
import { customResourceDefinitions } from "../../src/api/crd/mod.ts";
import { MANIFEST } from "../crds/definitions.ts";
import { poolYaml, resourceYaml } from "../support/cli/documents.ts";
import { createNode, createPod, deletePod } from "../support/servers/kubernetes.ts";
import { deleteCrds } from "../support/servers/delete-crds.ts";
import { eventually } from "../support/time/eventually.ts";
import { writeKubeconfig } from "../support/servers/kubeconfig.ts";
import { startFaultProxy } from "../support/servers/fault-proxy.ts";
import { shareKubernetesCliWorld } from "../support/cli/kubernetes-cli-world.ts";

const NAMES = customResourceDefinitions().map(({ metadata }) => metadata.name);

const [test, world] = shareKubernetesCliWorld(undefined, { users: { alice: {} } });

interface Definition {
  readonly metadata: { readonly managedFields: readonly { readonly manager: string; readonly operation: string }[] };
  readonly status: { readonly conditions: readonly { readonly type: string; readonly status: string }[] };
}

const readDefinitions = async (): Promise<readonly Definition[]> =>
  (await world.read<{ items: readonly Definition[] }>("crd", "--show-managed-fields")).items;

describe("without definitions", () => {
  test("commands say what brings them (needs cluster)", async () => {
    for (const argv of [
      ["get", "ippools"],
      ["get", "ipamblocks"],
      ["ipam", "show"],
      ["ipam", "check"],
      ["ipam", "show", "--ip=10.65.0.1"],
      ["ipam", "show", "--ip=10.65.0.1", "-o", "json"],
      ["ipam", "configure", "--strict-affinity=true"],
    ]) {
      const { status, stdout, stderr } = await world.ctl(argv);
      expect([argv, status, stdout, stderr]).toEqual([argv, 1, "", expect.stringMatching(/^next: netplugctl init$/m)]);
    }
  });

  test("create says it too, and creates nothing, and diff shows nothing (needs cluster)", async () => {
    const pool = { apiVersion: "netplug.io/v3", kind: "IPPool", metadata: { name: "a" }, spec: { cidr: "10.65.0.0/16" } };
    const { status, stdout, stderr } = await world.ctl(["create", "-f", "-"], { stdin: JSON.stringify(pool) });
    expect([status, stdout]).toEqual([1, ""]);
    expect(stderr).toMatch(/does not serve .*netplug\.io.*\n(.*\n)*next: netplugctl init\n$/);
    const reservation = resourceYaml("IPReservation", "gateways", { reservedCIDRs: ["10.65.0.0/30"] });
    for (const stdin of [JSON.stringify(pool), reservation])
      expect(await world.ctl(["diff", "-f", "-"], { stdin })).toEqual({
        status: 2,
        stdout,
        stderr: stderr.replace('create clusterinformations.netplug.io "default"', "list clusterinformations.netplug.io"),
      });
  });

  test("version says that nothing is there, and which Kubernetes it is (needs cluster)", async () => {
    const { status, stdout, stderr } = await world.ctl(["version"]);
    const { serverVersion } = JSON.parse(await world.api.kubectl(["version", "-o", "json"])) as { serverVersion: { gitVersion: string } };
    expect([status, stdout, stderr]).toEqual([
      0,
      expect.stringMatching(
        new RegExp(`^Client Version:   v3\\.31\\..*\\nKubernetes:       ${serverVersion.gitVersion}\\nCluster Version:  unknown\\n$`),
      ),
      "the datastore was never initialised\nnext: netplugctl init\n",
    ]);
    const report = { clientVersion: expect.stringMatching(/^v3\.31\./), kubernetesVersion: serverVersion.gitVersion };
    expect(JSON.parse(await world.done(["version", "-o", "json"]))).toEqual(report);
  });
});

describe("init", () => {
  test("is refused without permission: verb, resource and role are named, and nothing is done (needs cluster)", async () => {
    const { kubeconfigFile } = world.api.issue("alice");
    const { status, stdout, stderr } = await world.ctl(["init"], { env: { KUBECONFIG: kubeconfigFile } });
    expect([status, stdout]).toEqual([1, ""]);
    expect(stderr).toStartWith("netplugctl: get clusterinformations.netplug.io is not permitted; role netplug-admin (code 108)\n");
    expect(await readDefinitions()).toEqual([]);
  });

  test("brings every definition and fills the datastore, in one call (needs cluster)", async () => {
    const stdout = await world.done(["init"]);
    const lines = stdout.trimEnd().split("\n");
    expect(lines.slice(0, -1)).toEqual(NAMES.map((name) => `customresourcedefinition/${name} created`));
    const { metadata, spec } = await world.read<{ metadata: object; spec: { clusterGUID: string } }>("clusterinformation", "default");
    expect(lines.at(-1)).toBe(`datastore initialised: cluster ${spec.clusterGUID}`);
    expect(metadata).toMatchObject({ name: "default" });
    expect<object>(spec).toEqual({
      clusterGUID: expect.stringMatching(/^[0-9a-f]{32}$/),
      clusterType: "k8s",
      netplugVersion: expect.stringMatching(/^v3\.31\./),
      datastoreReady: true,
    });
    const tiers = await world.read<{ items: readonly { metadata: { name: string }; spec: object }[] }>("tiers");
    expect(Object.fromEntries(tiers.items.map((tier) => [tier.metadata.name, tier.spec]))).toEqual({
      default: { order: 1_000_000, defaultAction: "Deny" },
      "kube-admin": { order: 1_000, defaultAction: "Pass" },
      "kube-baseline": { order: 10_000_000, defaultAction: "Pass" },
    });
  });

  test("leaves definitions that are established, by server-side apply under its own name (needs cluster)", async () => {
    const definitions = await readDefinitions();
    expect(definitions).toHaveLength(NAMES.length);
    for (const { metadata, status } of definitions) {
      expect(status.conditions).toContainEqual(expect.objectContaining({ type: "Established", status: "True" }));
      expect(metadata.managedFields).toContainEqual(expect.objectContaining({ manager: "netplugctl", operation: "Apply" }));
    }
  });

  test("is what diff thinks of where there are definitions only (needs cluster)", async () => {
    await world.api.kubectl(["delete", "clusterinformations,tiers", "--all"]);
    const { status, stdout, stderr } = await world.ctl(["diff", "-f", "-"], { stdin: poolYaml("blue", "10.65.0.0/16") });
    expect([status, stderr]).toEqual([1, "the datastore was never initialised: apply would do that first\n"]);
    expect(stdout).toMatch(/^--- \/dev\/null\n\+\+\+ ippool\/blue of stdin\n/);
    expect(await world.read("clusterinformations,tiers")).toMatchObject({ items: [] });
    await world.done(["init"]);
  });

  test("over itself changes nothing (needs cluster)", async () => {
    const before = await world.read("clusterinformations,tiers,crd");
    const stdout = await world.done(["init"]);
    expect(stdout).toMatch(/^(customresourcedefinition\/\S+ unchanged\n)+datastore already initialised: cluster [0-9a-f]{32}\n$/);
    expect(stdout.split("\n")).toHaveLength(NAMES.length + 2);
    expect(await world.read("clusterinformations,tiers,crd")).toEqual(before);
  });

  test("over what kubectl applied since takes back every field (needs cluster)", async () => {
    const foreign = { apiVersion: "apiextensions.k8s.io/v1", kind: "CustomResourceDefinition", metadata: { name: "tiers.netplug.io" } };
    const names = { kind: "Tier", listKind: "TierList", plural: "tiers", singular: "tier", categories: ["other"] };
    const text = JSON.stringify({ ...foreign, spec: { group: "netplug.io", scope: "Cluster", names } });
    await world.api.kubectl(["apply", "--server-side", "--force-conflicts", "--field-manager=other", "-f", "-"], text);
    expect(await world.done(["init"])).toContain("customresourcedefinition/tiers.netplug.io configured\n");
    const tiers = await world.read<{ spec: { names: object } }>("crd", "tiers.netplug.io");
    expect(tiers.spec.names).toMatchObject({ categories: ["netplug"] });
  });

  describe("after somebody deleted the definitions, and so the blocks,", () => {
    const lost = { annotations: { containerID: "c1", podIP: "10.65.0.7/32", podIPs: "10.65.0.7/32" } };
    const lose = async (): Promise<void> => deleteCrds(world.api, ["clusterinformations.netplug.io", "ipamblocks.netplug.io"]);
    const warning = expect.stringMatching(
      /^warning: address 10\.65\.0\.7 of a pod is allocated to nobody, .*\n.*"netplugctl ipam check".*\nnext: netplugctl patch clusterinformation .*false.*\n$/,
    );

    test("says that others may get the addresses of pods that run (needs cluster)", async () => {
      await createNode(world.api, "n1", ["10.9.0.0/24"]);
      await createPod(world.api, { name: "kept", spec: { nodeName: "n1" }, ...lost });
      await lose();
      expect((await world.ctl(["init"])).stderr).toEqual(warning);
      expect((await world.ctl(["init"])).stderr).toBe("");
      await deleteCrds(world.api, ["ipamblocks.netplug.io"]);
      expect((await world.ctl(["init"])).stderr).toEqual(warning);
    });

    test("so does a command that finds them applied by kubectl (needs cluster)", async () => {
      await lose();
      await world.api.kubectl(["apply", "--server-side", "--force-conflicts", "-f", "-"], MANIFEST);
      await world.api.kubectl(["wait", "crd", "--all", "--for=condition=Established"]);
      const { stderr } = await world.ctl(["apply", "-f", "-"], { stdin: poolYaml("pods", "10.65.0.0/24") });
      expect(stderr).toEqual(warning);
      await world.done(["delete", "ippool", "pods"]);
    });

    test("but not of addresses that netplug does not manage (needs cluster)", async () => {
      await deletePod(world.api, { namespace: "default", name: "kept" });
      const delegated = { annotations: { containerID: "c2", podIP: "10.9.0.7/32", podIPs: "10.9.0.7/32" } };
      await createPod(world.api, { name: "delegated", spec: { nodeName: "n1" }, ...delegated });
      await createPod(world.api, { name: "other", spec: { nodeName: "n1" } });
      const status = JSON.stringify({ status: { podIP: "10.65.0.8", podIPs: [{ ip: "10.65.0.8" }] } });
      await world.api.kubectl(["patch", "pod", "other", "--subresource=status", "--type=merge", "-p", status]);
      await lose();
      expect((await world.ctl(["init"])).stderr).toBe("");
    });
  });

  test("waits for a definition that is being deleted, and makes it anew (needs cluster)", async () => {
    await world.api.kubectl([
      "patch",
      "crd",
      "ipreservations.netplug.io",
      "--type=merge",
      "-p",
      '{"metadata":{"finalizers":["test.io/held"]}}',
    ]);
    await world.api.kubectl(["delete", "crd", "ipreservations.netplug.io", "--wait=false"]);
    await using proxy = await startFaultProxy(world.api);
    const cluster = { url: proxy.url, caFile: world.api.caFile };
    const KUBECONFIG = writeKubeconfig(join(world.api.folder, "proxy.kubeconfig"), cluster, { token: world.api.token });
    const running = world.done(["init"], { env: { KUBECONFIG } });
    // whoever looks again has found it held
    const looks = (): number => proxy.seen.filter((one) => one.startsWith("GET ") && one.endsWith("/ipreservations.netplug.io")).length;
    await eventually(() => expect(looks()).toBeGreaterThan(1));
    await world.api.kubectl(["patch", "crd", "ipreservations.netplug.io", "--type=merge", "-p", '{"metadata":{"finalizers":[]}}']);
    expect(await running).toContain("customresourcedefinition/ipreservations.netplug.io created\n");
    expect(await world.done(["get", "ipreservations", "-o", "name"])).toBe("");
  });

  test("names the definition whose names another one has, at once (needs cluster)", async () => {
    const names = { kind: "Pond", listKind: "PondList", plural: "ponds", singular: "pond", shortNames: ["ipp"] };
    const versions = [{ name: "v1", served: true, storage: true, schema: { openAPIV3Schema: { type: "object" } } }];
    const foreign = {
      apiVersion: "apiextensions.k8s.io/v1",
      kind: "CustomResourceDefinition",
      metadata: { name: "ponds.netplug.io" },
      spec: { group: "netplug.io", scope: "Cluster", names, versions },
    };
    await deleteCrds(world.api, ["ippools.netplug.io"]);
    await world.api.kubectl(["create", "-f", "-"], JSON.stringify(foreign));
    await world.api.kubectl(["wait", "crd/ponds.netplug.io", "--for=condition=Established"]);
    const { status, stderr } = await world.ctl(["init"]);
    expect([status, stderr]).toEqual([1, 'netplugctl: establish customresourcedefinition "ippools.netplug.io": "ipp" is already in use\n']);
    await deleteCrds(world.api, ["ponds.netplug.io"]);
    expect(await world.done(["init"])).toContain("datastore already initialised");
  });

  test("by an older program than the cluster's leaves the definitions alone (needs cluster)", async () => {
    const setVersion = (version: string): Promise<string> =>
      world.api.kubectl([
        "patch",
        "clusterinformation",
        "default",
        "--type=merge",
        "-p",
        JSON.stringify({ spec: { netplugVersion: version } }),
      ]);
    const { spec } = await world.read<{ spec: { netplugVersion: string } }>("clusterinformation", "default");
    await setVersion("v3.99.0");
    const before = await world.read("crd");
    const { status, stdout, stderr } = await world.ctl(["init"]);
    expect([status, stdout]).toEqual([1, ""]);
    expect(stderr).toStartWith("netplugctl: apply custom resource definitions: the cluster is of version v3.99.0, this program of v3.31.");
    expect(await world.read("crd")).toEqual(before);
    await setVersion(spec.netplugVersion);
  });

  test("over an older version makes the cluster's version its own, so that the older program leaves it alone (needs cluster)", async () => {
    const { spec } = await world.read<{ spec: { netplugVersion: string } }>("clusterinformation", "default");
    await world.api.kubectl(["patch", "clusterinformation", "default", "--type=merge", "-p", '{"spec":{"netplugVersion":"v3.30.9"}}']);
    const stdout = await world.done(["init"]);
    expect(stdout).toContain(
      `\nclusterinformation/default configured: version v3.30.9 is now ${spec.netplugVersion}\ndatastore already initialised: `,
    );
    expect(await world.read("clusterinformation", "default")).toMatchObject({ spec });
    expect(await world.done(["version"])).toContain(`Cluster Version:  ${spec.netplugVersion}\n`);
  });

  test("gives an object that kubectl made an identity, and leaves it locked (needs cluster)", async () => {
    await world.api.kubectl(["delete", "clusterinformation", "default"]);
    const object = { apiVersion: "netplug.io/v3", kind: "ClusterInformation", metadata: { name: "default" } };
    await world.api.kubectl(["create", "-f", "-"], JSON.stringify(object));
    const stdout = await world.done(["init"]);
    const { spec } = await world.read<{ spec: { clusterGUID: string } }>("clusterinformation", "default");
    expect<object>(spec).toEqual({
      clusterGUID: expect.stringMatching(/^[0-9a-f]{32}$/),
      clusterType: "k8s",
      netplugVersion: expect.stringMatching(/^v3\.31\./),
    });
    expect(stdout).toEndWith(`datastore already initialised: cluster ${spec.clusterGUID}\n`);
    await world.done(["patch", "clusterinfo", "default", "-p", '{"spec":{"datastoreReady":true}}']);
  });

  test("leaves alone what a migration has frozen (needs cluster)", async () => {
    const freeze = (datastoreFrozen: boolean): Promise<string> =>
      world.api.kubectl(["patch", "clusterinformation", "default", "--type=merge", "-p", JSON.stringify({ spec: { datastoreFrozen } })]);
    await freeze(true);
    const before = await world.read("crd");
    const { status, stdout, stderr } = await world.ctl(["init"]);
    expect([status, stdout, stderr]).toEqual([1, "", expect.stringContaining("definitions: a migration has frozen the datastore; wait")]);
    expect(await world.read("crd")).toEqual(before);
    await freeze(false);
  });

  test("keeps what people have locked or changed (needs cluster)", async () => {
    await world.api.kubectl(["patch", "clusterinformation", "default", "--type=merge", "-p", '{"spec":{"datastoreReady":false}}']);
    const before = await world.read("clusterinformations");
    await world.done(["init"]);
    expect(await world.read("clusterinformations")).toEqual(before);
    await world.done(["patch", "clusterinfo", "default", "-p", '{"spec":{"datastoreReady":true}}']);
  });
});

test.each(["create", "apply"])("where kubectl brought the definitions, the first %s fills the datastore (needs cluster)", async (verb) => {
  await world.api.kubectl(["delete", "clusterinformations,tiers", "--all"]);
  const reservation = {
    apiVersion: "netplug.io/v3",
    kind: "IPReservation",
    metadata: { name: verb },
    spec: { reservedCIDRs: ["10.65.0.0/30"] },
  };
  expect(await world.done([verb, "-f", "-"], { stdin: JSON.stringify(reservation) })).toBe(`ipreservation/${verb} created\n`);
  const { spec } = await world.read<{ spec: object }>("clusterinformation", "default");
  expect(spec).toMatchObject({ clusterGUID: expect.stringMatching(/^[0-9a-f]{32}$/), clusterType: "k8s", datastoreReady: true });
  const { items } = await world.read<{ items: readonly { metadata: { name: string } }[] }>("tiers");
  expect(items.map(({ metadata }) => metadata.name)).toEqual(["default", "kube-admin", "kube-baseline"]);
});
