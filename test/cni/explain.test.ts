/** `netplugctl ipam explain` says beforehand what the very next ADD then does, or what it fails with. */

import { afterEach, describe, expect, test as always } from "bun:test";
import { runNetplugctl } from "../support/cli/netplugctl.ts";
import { TestNetns } from "../support/node/netns.ts";
import { isOnEtcd } from "../support/node/node-datastore.ts";
import { startPodWorldOnKubernetes } from "../support/node/pod-world.ts";
import { TestNode } from "../support/node/test-node.ts";
import type { CniCall } from "../support/programs/cni-call.ts";
import { createNamespace, createNode, createPod, deletePod, type PodTemplate } from "../support/servers/kubernetes.ts";
import { onApiServer } from "../support/servers/on-api-server.ts";
import { share } from "../support/share.ts";

interface Report {
  readonly addresses: readonly { readonly ip: string; readonly pool?: string; readonly source?: string }[];
  readonly refusals: readonly { readonly code: number; readonly message: string }[];
  readonly pools: readonly { readonly name: string; readonly order?: number; readonly reason?: string }[];
}

let calls = new AsyncDisposableStack();
afterEach(async () => {
  const ended = calls;
  calls = new AsyncDisposableStack();
  await ended.disposeAsync();
});

/** Explains, and calls ADD, whose attachment ends with the test: both must come to the same. @returns the report */
async function explainThenAdd(
  node: TestNode,
  words: readonly string[],
  call: Omit<CniCall, "containerID" | "netns"> = {},
): Promise<Report> {
  const { status, stdout } = await runNetplugctl(node.datastore.env, ["ipam", "explain", ...words, "-o", "json"]);
  const netns = calls.use(new TestNetns());
  const attachment = { ...call, containerID: node.newContainerID(), netns: netns.path };
  const { json = {} } = await node.call("ADD", attachment);
  calls.defer(async () => await node.del(attachment));
  const { ips = [], code, msg } = json;
  const report = JSON.parse(stdout) as Report;
  expect(report.addresses.map(({ ip }) => ip)).toEqual(ips.map(({ address }) => address.replace(/\/.*/, "")));
  expect(report.refusals).toEqual(code === undefined ? [] : [{ code, message: msg ?? "" }]);
  expect(status).toBe(code === undefined ? 0 : 1);
  return report;
}

/** What a report says of each address. */
const placesOf = ({ addresses }: Report): unknown => addresses.map(({ pool, source }) => [pool, source]);

/** What a report says of each pool. */
const poolsOf = ({ pools }: Report): unknown => pools.map(({ name, order, reason }) => [name, order ?? reason]);

describe("for a container", () => {
  const node = share(() => TestNode.start([]));

  always("the address of a new block, of the node's own, of another node's, and none at last", async () => {
    await node.createPool("small", { cidr: "10.65.0.0/30", blockSize: 31 });
    const places: unknown[] = [];
    for (const nodename of ["node-a", "node-b", "node-a", "node-a"]) {
      if (nodename !== node.nodename) await makeNode(node, nodename);
      // netplug-ipam, because a pod of another node is refused
      const call = { plugin: "netplug-ipam", config: node.config({ nodename }) } as const;
      places.push(placesOf(await explainThenAdd(node, [`--node=${nodename}`], call)));
    }
    expect(places).toEqual([[["small", "claimed"]], [["small", "claimed"]], [["small", "own"]], [["small", "borrowed"]]]);
    const last = await explainThenAdd(node, ["--node=node-a"]);
    expect(last.refusals).toMatchObject([{ code: 101 }]);
    await node.ctl(["delete", "ippool", "small"]);
  });

  always("why others are not used, in the order in which they are", async () => {
    await node.createPool("b", { cidr: "10.66.0.0/24" });
    await node.createPool("a-manual", { cidr: "10.67.0.0/24", assignmentMode: "Manual" });
    await node.createPool("a-rack", { cidr: "10.68.0.0/24", nodeSelector: "rack == 'r9'" });
    await node.createPool("off", { cidr: "10.69.0.0/24", disabled: true });
    await node.createPool("six", { cidr: "fd66::/112" });
    const ipam = { assign_ipv6: "true" };
    const both = ["--node=node-a", "--families=IPv4,IPv6"];
    const report = await explainThenAdd(node, both, { config: node.config({ ipam }) });
    expect(placesOf(report)).toEqual([
      ["b", "claimed"],
      ["six", "claimed"],
    ]);
    expect(poolsOf(report)).toEqual([
      ["b", 1],
      ["a-manual", "its assignmentMode is Manual: it must be named"],
      ["a-rack", `its nodeSelector "rack == 'r9'" does not match node "node-a"`],
      ["off", "it is disabled"],
      ["six", 1],
    ]);
    const named = { ipv4_pools: ["10.68.0.0/24", "a-manual"], assign_ipv6: "true" };
    const chosen = await explainThenAdd(node, [...both, "--ipv4-pools=10.68.0.0/24,a-manual"], {
      config: node.config({ ipam: named }),
    });
    expect(poolsOf(chosen)).toEqual([
      ["a-rack", 1],
      ["a-manual", 2],
      ["b", "it is not named"],
      ["off", "it is disabled"],
      ["six", 1],
    ]);
  });

  always("that pools are named, though another one cannot be used, and why that is", async () => {
    await node.createPool("tunnels", { cidr: "10.70.0.0/24", allowedUses: ["Tunnel"] });
    const report = await explainThenAdd(node, ["--node=node-a", "--ipv4-pools=b,tunnels"], {
      config: node.config({ ipam: { ipv4_pools: ["b", "tunnels"] } }),
    });
    expect(poolsOf(report)).toEqual(
      expect.arrayContaining([
        ["b", 1],
        ["tunnels", "it allows Tunnel, not Workload"],
        ["a-rack", "it is not named"],
      ]),
    );
  });

  always("that nobody gets an address while the datastore is locked", async () => {
    await using _ = await lock(node);
    expect((await explainThenAdd(node, ["--node=node-a"])).refusals).toMatchObject([{ code: 11 }]);
  });

  always.each<[families: string, ipam: Readonly<Record<string, string>>]>([
    ["IPv6,IPv6", { assign_ipv4: "false", assign_ipv6: "true" }],
    ["IPv6,IPv4", { assign_ipv6: "true" }],
  ])("of the families %s one address each, in the order of an ADD", async (families, ipam) => {
    await explainThenAdd(node, ["--node=node-a", `--families=${families}`], { config: node.config({ ipam }) });
  });
});

/** Locks the datastore until it is disposed of. */
async function lock(node: TestNode): Promise<AsyncDisposable> {
  const setReady = (isReady: boolean) =>
    node.ctl(["patch", "clusterinformation", "default", "-p", JSON.stringify({ spec: { datastoreReady: isReady } })]);
  await setReady(false);
  return { [Symbol.asyncDispose]: async () => void (await setReady(true)) };
}

async function makeNode(node: TestNode, name: string): Promise<void> {
  if (isOnEtcd) await node.apply({ apiVersion: "netplug.io/v3", kind: "Node", metadata: { name }, spec: {} });
}

if (!isOnEtcd) {
  describe("for a pod", () => {
    const [test, { api, node }] = onApiServer(
      () => startPodWorldOnKubernetes({ cidrs: ["10.65.0.0/24"] }),
      async ({ api, node }) => {
        await createNode(api, "node-b", []);
        await node.createPool("shop", { cidr: "10.66.0.0/24", namespaceSelector: "team == 'shop'" });
        await node.createPool("blue", { cidr: "10.67.0.0/24", assignmentMode: "Manual" });
        await createNamespace(api, "shop", { labels: { team: "shop" } });
        await createNamespace(api, "blue", { annotations: { ipv4pools: '["blue"]' } });
      },
    );

    /** @returns the report of a pod that has these annotations */
    async function explainPod(template: PodTemplate): Promise<Report> {
      const { name, namespace = "default" } = template;
      const { args } = await createPod(api, { ...template, spec: { nodeName: "node-a" } });
      return await explainThenAdd(node, [`--pod=${name}`, `--namespace=${namespace}`], {
        args,
        config: node.config({ feature_control: { ip_addrs_no_ipam: true } }),
      });
    }

    test("whose namespace has labels and annotations (needs cluster)", async () => {
      expect(poolsOf(await explainPod({ name: "web", namespace: "shop" }))).toEqual([
        ["pool-0", 1],
        ["shop", 2],
        ["blue", "its assignmentMode is Manual: it must be named"],
      ]);
      expect(placesOf(await explainPod({ name: "web", namespace: "blue" }))).toEqual([["blue", "claimed"]]);
    });

    test("that is the mirror of a static one, which the runtime knows by another UID (needs cluster)", async () => {
      const otherAnnotations = { "kubernetes.io/config.mirror": "4f2b9c" };
      const annotations = { ipAddrs: '["10.67.0.44"]' };
      const name = "static-node-a";
      const { args, uid } = await createPod(api, { name, annotations, otherAnnotations, spec: { nodeName: "node-a" } });
      const call = { args: args.replace(uid, "4f2b9c") };
      await explainThenAdd(node, [`--pod=${name}`], call);
      // Its kubelet makes a mirror anew that somebody has deleted.
      await deletePod(api, { namespace: "default", name });
      await createPod(api, { name, annotations, otherAnnotations, spec: { nodeName: "node-a" } });
      expect((await explainThenAdd(node, [`--pod=${name}`], call)).refusals).toMatchObject([{ code: 102 }]);
    });

    test("whose annotation makes no sense, while the datastore is locked, which an ADD says first (needs cluster)", async () => {
      const { args } = await createPod(api, { name: "locked", annotations: { ipAddrs: "10.67.0.77" }, spec: { nodeName: "node-a" } });
      await using _ = await lock(node);
      const { stdout } = await runNetplugctl(node.datastore.env, ["ipam", "explain", "--pod=locked", "-o", "json"]);
      const { refusals } = JSON.parse(stdout) as Report;
      const netns = calls.use(new TestNetns());
      const { json = {} } = await node.call("ADD", { args, containerID: node.newContainerID(), netns: netns.path });
      expect(refusals.map(({ code }) => code)).toEqual([11, 104]);
      expect(refusals[0]).toEqual({ code: 11, message: json.msg ?? "" });
    });

    test("whose address an earlier pod of its name still has (needs cluster)", async () => {
      const pod = { name: "again", annotations: { ipAddrs: '["10.67.0.9"]' } };
      await explainPod(pod);
      await deletePod(api, { namespace: "default", name: pod.name });
      expect((await explainPod(pod)).refusals).toMatchObject([
        { code: 102, message: expect.stringContaining("an earlier pod of this name") },
      ]);
    });

    test.each([
      ["ipAddrsNoIpam", "ip_addrs_no_ipam"],
      ["floatingIPs", "floating_ips"],
    ])("that by %s asks for a feature, which the network config must allow (needs cluster)", async (annotation, feature) => {
      const name = feature.replaceAll("_", "-");
      await createPod(api, { name, annotations: { [annotation]: '["192.0.2.7"]' }, spec: { nodeName: "node-a" } });
      const { stderr } = await runNetplugctl(node.datastore.env, ["ipam", "explain", `--pod=${name}`]);
      expect(stderr).toContain(`needs "feature_control.${feature}": true in the network config, otherwise an ADD fails`);
    });

    test("that runs, and keeps what it has (needs cluster)", async () => {
      const { args } = await createPod(api, { name: "runs", annotations: { ipAddrs: '["10.67.0.55"]' }, spec: { nodeName: "node-a" } });
      const netns = calls.use(new TestNetns());
      const attachment = { args, containerID: node.newContainerID() };
      await node.add(netns, attachment);
      calls.defer(async () => await node.del(attachment));
      const { status, stdout, stderr } = await runNetplugctl(node.datastore.env, ["ipam", "explain", "--pod=runs"]);
      expect([status, stdout.split("\n")[0], stderr]).toEqual([
        0,
        'pod "default/runs" on node "node-a" would get 10.67.0.55 of pool "blue", from 10.67.0.0/26, a block of the node',
        'warning: pod "default/runs" has 10.67.0.55/32 already, which it keeps: the answer is for a new sandbox, after the DEL of this one\n',
      ]);
    });

    test("that runs, and would have room in a new sandbox only because its own ends before (needs cluster)", async () => {
      await node.createPool("one", { cidr: "10.69.0.0/32", blockSize: 32, assignmentMode: "Manual" });
      const { args } = await createPod(api, { name: "only", annotations: { ipv4pools: '["one"]' }, spec: { nodeName: "node-a" } });
      const old = { args, containerID: node.newContainerID() };
      await node.add(calls.use(new TestNetns()), old);
      const { status, stdout } = await runNetplugctl(node.datastore.env, ["ipam", "explain", "--pod=only", "-o", "json"]);
      expect([status, (JSON.parse(stdout) as Report).addresses]).toMatchObject([0, [{ ip: "10.69.0.0", source: "own" }]]);
      await node.del(old);
      await explainThenAdd(node, ["--pod=only"], { args });
    });

    describe("that runs, with an address of another node's block", () => {
      /** Explains for the pod while it runs, then ends it, and explains again and calls ADD. @returns what the first report said */
      async function explainBorrower(name: string, annotations: Readonly<Record<string, string>>, onBorrowed?: () => Promise<unknown>) {
        const { args } = await createPod(api, { name, annotations, spec: { nodeName: "node-a" } });
        const old = { args, containerID: node.newContainerID() };
        await node.add(calls.use(new TestNetns()), old);
        await onBorrowed?.();
        const { stdout } = await runNetplugctl(node.datastore.env, ["ipam", "explain", `--pod=${name}`, "-o", "json"]);
        const { addresses } = JSON.parse(stdout) as Report;
        await node.del(old);
        expect((await explainThenAdd(node, [`--pod=${name}`], { args })).addresses).toEqual(addresses);
        return addresses;
      }

      /** Makes node-b claim the only block of a new pool. @returns a call that ends what it has there */
      async function lend(pool: string, cidr: string): Promise<() => Promise<unknown>> {
        await node.createPool(pool, { cidr, blockSize: 31, assignmentMode: "Manual" });
        // netplug-ipam, because a pod of another node is refused
        const config = node.config({ nodename: "node-b", ipam: { ipv4_pools: [pool] } });
        const lender = { plugin: "netplug-ipam", config, containerID: node.newContainerID() } as const;
        expect((await node.call("ADD", { ...lender, netns: calls.use(new TestNetns()).path })).status).toBe(0);
        const end = async (): Promise<unknown> => await node.call("DEL", lender);
        calls.defer(async () => void (await end()));
        return end;
      }

      test("the last one of it (needs cluster)", async () => {
        await lend("last", "10.69.0.2/31");
        expect(await explainBorrower("last", { ipv4pools: '["last"]' })).toMatchObject([{ ip: "10.69.0.3", source: "borrowed" }]);
      });

      test("one that it asks for (needs cluster)", async () => {
        await lend("asked", "10.69.0.4/31");
        expect(await explainBorrower("asked", { ipAddrs: '["10.69.0.5"]' })).toMatchObject([{ ip: "10.69.0.5", source: "borrowed" }]);
      });

      test("the only one that is used there: then the block is empty (needs cluster)", async () => {
        const end = await lend("left", "10.69.0.6/31");
        expect(await explainBorrower("left", { ipv4pools: '["left"]' }, end)).toMatchObject([{ source: "taken over" }]);
      });
    });

    test("that shows the container of a pod before, which still has the address (needs cluster)", async () => {
      const annotations = { ipAddrs: '["10.67.0.56"]' };
      const { args } = await createPod(api, { name: "copied", annotations, spec: { nodeName: "node-a" } });
      const old = { args, containerID: node.newContainerID() };
      await node.add(calls.use(new TestNetns()), old);
      calls.defer(async () => await node.del(old));
      await deletePod(api, { namespace: "default", name: "copied" });
      const copy = { ...annotations, containerID: old.containerID, podIP: "10.67.0.56/32", podIPs: "10.67.0.56/32" };
      expect((await explainPod({ name: "copied", annotations: copy })).refusals).toMatchObject([{ code: 102 }]);
    });

    test("of which none is named: then the report names none (needs cluster)", async () => {
      const { stdout } = await runNetplugctl(node.datastore.env, ["ipam", "explain", "--node=node-a", "-o", "json"]);
      expect(Object.keys(JSON.parse(stdout) as object)).toEqual(["node", "namespace", "addresses", "refusals", "pools"]);
    });

    test.each<[what: string, annotations: Readonly<Record<string, string>>]>([
      ["a pool", { ipv4pools: '["blue"]' }],
      ["a pool that there is not", { ipv4pools: '["grey"]' }],
      ["an address", { ipAddrs: '["10.67.0.77"]' }],
      ["an address by name", { ipAddrsByPod: '{"an-address-by-name": ["10.67.0.78"]}' }],
      ["addresses for others", { ipAddrsByPod: '{"web-0": ["10.67.0.78"]}' }],
      ["an address of no pool", { ipAddrs: '["192.0.2.7"]' }],
      ["an address that no pool gives", { ipAddrsNoIpam: '["192.0.2.7"]' }],
      ["a family of which there is no pool", { ipFamilies: '["IPv6"]' }],
      ["what makes no sense", { ipAddrs: "10.67.0.77" }],
    ])("that asks for %s (needs cluster)", async (what, annotations) => {
      await explainPod({ name: what.replaceAll(" ", "-"), annotations });
    });
  });
}
