/** `ipam` on a real API server: blocks against pods, as kubectl makes and damages them. */

import { beforeEach, describe, expect } from "bun:test";
import { blocksShown } from "../support/cli/blocks-shown.ts";
import { allocateFor, releaseOf } from "../support/cli/container-addresses.ts";
import { poolYaml } from "../support/cli/documents.ts";
import { readIpamProblems } from "../support/cli/ipam-report.ts";
import { shareKubernetesCliWorld } from "../support/cli/kubernetes-cli-world.ts";
import { giveAddress, type Given, reportStatus, runWithRecord } from "../support/cli/pod-addresses.ts";
import { failureOf } from "../support/failure-of.ts";
import { releaseStale } from "../support/ipam/ipam-operations.ts";
import { NETWORK } from "../support/ipam/ipam.ts";
import { createNamespace, createNode, createPod, deletePod } from "../support/servers/kubernetes.ts";
import { systemPorts } from "../support/ipam/system-ports.ts";

const [test, world] = shareKubernetesCliWorld(async (world) => {
  await world.done(["init"]);
  await createNamespace(world.api, "prod");
  for (const node of ["n1", "n2"]) await createNode(world.api, node, []);
});

beforeEach(async () => {
  await world.api.kubectl(["delete", "pods", "--all", "-n", "prod", "--force", "--grace-period=0"]);
  await world.api.kubectl(["delete", "ippools,ipamblocks,ipamconfigurations,ipreservations", "--all"]);
  await world.createPool("pods", "10.65.0.0/24");
});

/** Unless it says otherwise so long ago that no ADD can be under way: a check would wait for that. */
const give = (...[pod, node, ip, containerID, agoMs = 120_000]: Given): Promise<string> =>
  giveAddress(world, pod, node, ip, containerID, agoMs);
const run = (pod: string, node: string, ip: string): Promise<void> => runWithRecord(world, pod, node, ip);

const kill = (pod: string): Promise<void> => deletePod(world.api, { namespace: "prod", name: pod });

const problems = (): Promise<readonly string[]> => readIpamProblems(world);

interface BlockObject {
  readonly metadata: { readonly name: string };
  readonly spec: Readonly<Record<string, unknown>>;
}

const readBlocks = async (): Promise<readonly BlockObject[]> => (await world.read<{ items: readonly BlockObject[] }>("ipamblocks")).items;

describe("ipam check compares blocks with pods:", () => {
  test("pods with their addresses are no problem, nor are pods that need none (needs cluster)", async () => {
    await run("web-0", "n1", await give("web-0", "n1", "10.65.0.7"));
    await run("web-1", "n2", await give("web-1", "n2", "10.65.0.70"));
    await createPod(world.api, { name: "host", namespace: "prod", spec: { nodeName: "n1", hostNetwork: true } });
    await createPod(world.api, { name: "waiting", namespace: "prod" });
    await createPod(world.api, { name: "beginning", namespace: "prod", spec: { nodeName: "n1" } });
    expect(await problems()).toEqual([]);
    expect(await world.done(["ipam", "check"])).toBe("checked 1 pool, 2 blocks, 2 allocations, 3 endpoints\nfound 0 problems\n");
  });

  test("nor are those of a node that calls itself otherwise than Kubernetes does (needs cluster)", async () => {
    await run("web-0", "n1", await give("web-0", "rack-7", "10.65.0.7"));
    expect(await problems()).toEqual([]);
  });

  test("nor are addresses of another network plugin, beside which a pod may have an interface of ours (needs cluster)", async () => {
    const annotations = { "containerID.net1": "c-web-0", "podIP.net1": "", "podIPs.net1": "" };
    await createPod(world.api, { name: "web-0", namespace: "prod", spec: { nodeName: "n1" }, annotations });
    await createPod(world.api, { name: "web-1", namespace: "prod", spec: { nodeName: "n1" } });
    for (const [pod, ip] of Object.entries({ "web-0": "192.0.2.1", "web-1": "192.0.2.2" })) await reportStatus(world, pod, ip);
    expect(await problems()).toEqual([]);
  });

  test("the address of a pod that is gone is leaked, and can be released (needs cluster)", async () => {
    const ip = await give("web-0", "n1", "10.65.0.7");
    await run("web-0", "n1", ip);
    await kill("web-0");
    expect(await problems()).toEqual([
      expect.stringMatching(new RegExp(`^leaked-address ${ip}: allocated to pod "prod/web-0".* which does not exist$`)),
    ]);
    const { status, stderr } = await world.ctl(["ipam", "check"]);
    expect([status, stderr]).toEqual([
      1,
      "next: if their containers are gone for good: netplugctl ipam check -o json | netplugctl ipam release --from-report=-\n",
    ]);
    expect(await world.done(["ipam", "release", `--ip=${ip}`])).toContain(`${ip} released; it was allocated to pod "prod/web-0"`);
    expect(await problems()).toEqual([]);
    expect(await world.ctl(["ipam", "release", `--ip=${ip}`])).toMatchObject({ status: 1 });
  });

  test("those of many pods that are gone are released by a report, and those of others stay (needs cluster)", async () => {
    for (const [pod, node, ip] of [
      ["web-0", "n1", "10.65.0.7"],
      ["web-1", "n1", "10.65.0.8"],
      ["web-2", "n2", "10.65.0.70"],
    ] as const) {
      await run(pod, node, await give(pod, node, ip, `c-${pod}`, 120_000));
    }
    for (const pod of ["web-0", "web-2"]) await kill(pod);
    const { stdout } = await world.ctl(["ipam", "check", "-o", "json"]);
    const released = await world.done(["ipam", "release", "--from-report=-"], { stdin: stdout });
    expect(released).toEndWith("released 2 of 2 leaked addresses\n");
    expect(await problems()).toEqual([]);
    expect(await world.done(["ipam", "show", "--ip=10.65.0.8"])).toContain('pod "prod/web-1"');
  });

  test("so is that of a pod that was made anew and has another one (needs cluster)", async () => {
    const [first, second] = [await give("web-0", "n1", "10.65.0.6", "c-old"), await give("web-0", "n1", "10.65.0.7")];
    await run("web-0", "n1", second);
    expect(await problems()).toEqual([expect.stringMatching(new RegExp(`^leaked-address ${first}: .* which has other addresses$`))]);
  });

  test("so is that of a pod that was made anew and has none yet (needs cluster)", async () => {
    const ip = await give("web-0", "n1", "10.65.0.7", "c-old");
    await createPod(world.api, { name: "web-0", namespace: "prod", spec: { nodeName: "n1" } });
    expect(await problems()).toEqual([expect.stringMatching(new RegExp(`^leaked-address ${ip}: .* which has no address$`))]);
  });

  test("an address that a pod has and nobody allocated (needs cluster)", async () => {
    await run("web-0", "n1", "10.65.0.9");
    expect(await problems()).toEqual([
      'unallocated-in-use 10.65.0.9: used by pod "prod/web-0" (endpoint "prod/n1-k8s-web--0-eth0"), but allocated to nobody',
    ]);
  });

  test("what only the kubelet reports counts as well (needs cluster)", async () => {
    await createPod(world.api, { name: "other", namespace: "prod", spec: { nodeName: "n1" } });
    const status = JSON.stringify({ status: { podIP: "10.65.0.8", podIPs: [{ ip: "10.65.0.8" }] } });
    await world.api.kubectl(["patch", "pod", "other", "-n", "prod", "--subresource=status", "--type=merge", "-p", status]);
    expect(await problems()).toEqual([expect.stringContaining("unallocated-in-use 10.65.0.8")]);
  });

  test("two pods with one address, and one outside of all pools (needs cluster)", async () => {
    const ip = await give("web-0", "n1", "10.65.0.7");
    await run("web-0", "n1", ip);
    await run("web-1", "n1", ip);
    await run("web-2", "n1", "192.0.2.1");
    expect(await problems()).toEqual([
      'outside-pool 192.0.2.1: used by pod "prod/web-2" (endpoint "prod/n1-k8s-web--2-eth0")',
      `duplicate-address ${ip}: used by pod "prod/web-0" (endpoint "prod/n1-k8s-web--0-eth0") and pod "prod/web-1" (endpoint "prod/n1-k8s-web--1-eth0")`,
    ]);
    const next = "next: create the pool of the addresses in no pool again, or recreate the workloads that have them\n";
    expect((await world.ctl(["ipam", "check"])).stderr).toBe(next);
  });

  test("blocks of a node or a pool that is gone (needs cluster)", async () => {
    await give("web-0", "n1", "10.65.0.7");
    await createNode(world.api, "n3", []);
    await give("web-1", "n3", "10.65.0.71");
    await world.api.kubectl(["delete", "node", "n3"]);
    expect(await problems()).toContainEqual('orphaned-block 10.65.0.64/26: belongs to node "n3", which does not exist, with 1 address');
    await world.api.kubectl(["delete", "ippool", "pods"]);
    expect(await problems()).toContainEqual('orphaned-block 10.65.0.0/26: belongs to node "n1", and lies in no pool');
  });

  test("a block whose record kubectl has damaged, and the others all the same (needs cluster)", async () => {
    await give("web-0", "n1", "10.65.0.7");
    await give("web-1", "n2", "10.65.0.70");
    const [first] = await readBlocks();
    const damage = JSON.stringify({ spec: { allocations: "{" } });
    await world.api.kubectl(["patch", "ipamblock", first?.metadata.name ?? "", "--type=merge", "-p", damage]);
    const found = await problems();
    expect(found).toContainEqual(expect.stringMatching(/^corrupt-block 10\.65\.0\.0\/26: /));
    expect(found).toContainEqual(expect.stringMatching(/^leaked-address 10\.65\.0\.70: /));
  });
});

test("ipam check asks as little with many nodes as with few (needs cluster)", async () => {
  await run("web-0", "n1", await give("web-0", "n1", "10.65.0.7"));
  const few = await countLists(() => world.done(["ipam", "check"]));
  const others = Array.from({ length: 20 }, (_, at) => `many-${at}`);
  await Promise.all(others.map((name) => createNode(world.api, name, [])));
  const many = await countLists(() => world.done(["ipam", "check"]));
  await world.api.kubectl(["delete", "nodes", ...others]);
  expect(many).toBe(few);
});

test.each(["show", "show --show-blocks", "show --show-borrowed"])("ipam %s asks for many blocks at once (needs cluster)", async (words) => {
  for (let at = 0; at < 4; at++) await give(`web-${at}`, `n${at}`, `10.65.0.${at * 64 + 1}`);
  const show = (): Promise<unknown> => world.done(["ipam", ...words.split(" ")]);
  expect([await countLists(show), await countRequests(show, "GET"), (await shown()).show.cidrs.length]).toEqual([1, 0, 4]);
});

/** Lists of blocks that the API server is asked for meanwhile, by its own count. */
const countLists = (work: () => Promise<unknown>): Promise<number> => countRequests(work, "LIST");

async function countRequests(work: () => Promise<unknown>, verb: "GET" | "LIST"): Promise<number> {
  const isCounted = new RegExp(`^apiserver_request_total\\{.*resource="ipamblocks".*verb="${verb}"`);
  const count = async (): Promise<number> => {
    const lines = (await world.api.kubectl(["get", "--raw", "/metrics"])).split("\n");
    const lists = lines.filter((line) => isCounted.test(line));
    return lists.reduce((sum, line) => sum + Number(line.split(" ").at(-1)), 0);
  };
  const before = await count();
  await work();
  return (await count()) - before;
}

test("a pool that kubectl makes over another one gives nothing, and is warned of (needs cluster)", async () => {
  await world.api.kubectl(["create", "-f", "-"], poolYaml("zz", "10.65.0.0/16"));
  // The API server gives times in whole seconds.
  const made = async (name: string): Promise<string> =>
    (await world.read<{ metadata: { creationTimestamp: string } }>("ippool", name)).metadata.creationTimestamp;
  const other =
    (await made("pods")) === (await made("zz"))
      ? 'pool "pods" (10.65.0.0/24), as old and first by name'
      : 'the older pool "pods" (10.65.0.0/24)';
  const detail = expect.stringContaining(`it overlaps ${other}: only that one is used`);
  expect(await world.json("ipam", "check")).toMatchObject({ problems: [], warnings: [{ kind: "IPPool", object: "zz", detail }] });
  expect(await failureOf(allocateFor(world.datastore, "c1", "n1", { address: "10.65.9.9" }))).toMatchObject({
    kind: "addressOutsidePools",
  });
  await world.done(["delete", "ippool", "zz"]);
  expect(await world.json("ipam", "check")).toMatchObject({ problems: [], warnings: [] });
});

const shown = () => blocksShown((args) => world.ctl(args));

const createBlock = (name: string, spec: object, labels: object = {}): Promise<string> =>
  world.api.kubectl(
    ["create", "-f", "-"],
    JSON.stringify({ apiVersion: "netplug.io/v3", kind: "IPAMBlock", metadata: { name, labels }, spec }),
  );

describe("what kubectl made in the place of blocks is named, and the rest as well:", () => {
  const SOUND = ["10.65.0.0/26"];
  const OTHER = { cidr: "10.65.0.64/26", node: "n1" };

  beforeEach(async () => {
    await run("web-0", "n1", await give("web-0", "n1", "10.65.0.7"));
  });

  test.each(["{", "{}", '{"cidr":"10.65.9.0/26"}'])(
    "a block without labels and with the record %p (needs cluster)",
    async (allocations) => {
      await createBlock("010-065-000-064-26", { ...OTHER, allocations });
      expect(await problems()).toEqual([
        expect.stringMatching(/^corrupt-block 10\.65\.0\.64\/26: read block "10\.65\.0\.64\/26" of node "n1": /),
      ]);
      expect(await world.ctl(["ipam", "check"])).toMatchObject({ status: 1, stdout: expect.stringContaining(", 2 blocks,") });
      const { show, get } = await shown();
      expect([show.status, show.cidrs, get.status, get.cidrs]).toEqual([1, SOUND, 1, SOUND]);
      expect(show.stderr).toContain('block 10.65.0.64/26 is not counted: read block "10.65.0.64/26" of node "n1": ');
      expect(get.stderr).toContain('left out: read block "10.65.0.64/26" of node "n1": ');
    },
  );

  test("an object whose name no block has; its node works on, whatever its labels say (needs cluster)", async () => {
    const [block] = await readBlocks();
    const labels = { "netplug.io/cell": "010-065-000-000", "holder.netplug.io/n1": "", "netplug.io/node": "n1", "netplug.io/spare": "" };
    await createBlock("garbage", block?.spec ?? {}, labels);
    expect(await problems()).toEqual([
      'corrupt-block garbage: read ipamblock "garbage": it is not what netplug writes there; restore it or delete it',
    ]);
    const { show, get } = await shown();
    expect([show.status, show.cidrs, get.status, get.cidrs]).toEqual([1, SOUND, 1, SOUND]);
    for (const { stderr } of [show, get]) expect(stderr).toContain("garbage");
    expect(await world.ctl(["get", "ipamblock", "10.65.0.0/26", "-o", "name"])).toMatchObject({ status: 0, stderr: "" });
    const ip = await give("web-1", "n1", "10.65.0.8");
    expect(await releaseOf(world.datastore, "c-web-1", "n1")).toEqual([ip]);
    const stale = { node: "n1", network: NETWORK, valid: [{ containerID: "c-web-0", ifName: "eth0" }] };
    expect(await releaseStale(systemPorts(world.datastore), stale)).toEqual([]);
  });

  test("an object that has the name of one block and is another (needs cluster)", async () => {
    const [block] = await readBlocks();
    const labels = { "netplug.io/cell": "010-065-000-000", "holder.netplug.io/n2": "", "netplug.io/node": "n2" };
    await createBlock("010-065-000-128-26", { ...block?.spec, node: "n2" }, labels);
    const notOurs = 'read ipamblock "010-065-000-128-26": it is not what netplug writes there; restore it or delete it';
    expect(await problems()).toEqual([`corrupt-block 10.65.0.128/26: ${notOurs}`]);
    const { show, get } = await shown();
    expect([show.status, show.cidrs, get.status, get.cidrs]).toEqual([1, SOUND, 1, SOUND]);
    for (const { stderr } of [show, get]) expect(stderr).toContain(notOurs);
    // It is n2's business, and nobody else's.
    expect(await give("web-1", "n1", "10.65.0.8")).toBe("10.65.0.8");
    await expect(give("web-2", "n2", "10.65.0.70")).rejects.toThrow(notOurs);
  });

  test.each(["n9", "n2"])("an object that names %s in the place that n2 would claim; n2 takes another (needs cluster)", async (node) => {
    const places = ["010-065-000-064-26", "010-065-000-192-26"];
    for (const name of places) await createBlock(name, { cidr: "10.65.9.0/26", node, allocations: "{}" });
    expect(await allocateFor(world.datastore, "c", "n2")).toBe("10.65.0.128");
    expect((await readBlocks()).map(({ spec }) => spec["cidr"])).toContain("10.65.0.128/26");
    expect((await problems()).map((text) => text.slice(0, text.indexOf(":")))).toEqual(
      ["10.65.0.64/26", "10.65.0.192/26"].map((cidr) => `corrupt-block ${cidr}`),
    );
  });
});

describe("labels that kubectl has changed are named, and so is the command that mends them:", () => {
  test.each([
    ["holder.netplug.io/n1-", 'label "holder.netplug.io/n1" is missing'],
    ["netplug.io/spare-", 'label "netplug.io/spare" is missing'],
    ["netplug.io/cell-", 'label "netplug.io/cell" is missing'],
    ["netplug.io/cell=010-099-000-000", 'label "netplug.io/cell" is "010-099-000-000", want "010-065-000-000"'],
    ["netplug.io/node=n9", 'label "netplug.io/node" is "n9", want "n1"'],
    ["netplug.io/empty=7", 'label "netplug.io/empty" does not belong there'],
    ["holder.netplug.io/n9=", 'label "holder.netplug.io/n9" does not belong there'],
  ])("%s (needs cluster)", async (change, fault) => {
    await run("web-0", "n1", await give("web-0", "n1", "10.65.0.7"));
    const [block] = await readBlocks();
    await world.api.kubectl(["label", "--overwrite", "ipamblock", block?.metadata.name ?? "", change]);
    const found = await problems();
    expect(found).toEqual([expect.stringMatching(/^corrupt-block 10\.65\.0\.0\/26: /)]);
    expect(found[0]).toContain(`: ${fault}, so that `);
    const [, command = ""] = (found[0] ?? "").split("or: kubectl ");
    await world.api.kubectl(command.split(" "));
    expect(await problems()).toEqual([]);
  });

  test("so is the annotation of a node whose name is no label, in a command for a shell (needs cluster)", async () => {
    const node = "it's rack 7";
    await run("web-0", "n1", await give("web-0", node, "10.65.0.7"));
    const [block] = await readBlocks();
    await world.api.kubectl(["annotate", "ipamblock", block?.metadata.name ?? "", "netplug.io/node-", "team=blue"]);
    const found = await problems();
    expect(found).toEqual([expect.stringContaining('10.65.0.0/26: annotation "netplug.io/node" is missing, so that ')]);
    const [, command = ""] = (found[0] ?? "").split("or: ");
    const args = Bun.spawnSync(["sh", "-c", `kubectl() { printf '%s\\n' "$@"; }; ${command}`]).stdout.toString();
    await world.api.kubectl(args.trimEnd().split("\n"));
    expect(await problems()).toEqual([]);
  });

  test("the block's next write mends them as well, and people's own labels are theirs (needs cluster)", async () => {
    await run("web-0", "n1", await give("web-0", "n1", "10.65.0.7"));
    const [block] = await readBlocks();
    const name = block?.metadata.name ?? "";
    await world.api.kubectl(["label", "ipamblock", name, "team=blue"]);
    expect(await problems()).toEqual([]);
    await world.api.kubectl(["label", "ipamblock", name, "holder.netplug.io/n1-", "netplug.io/spare-"]);
    await world.api.kubectl(["annotate", "--overwrite", "ipamblock", name, "netplug.io/next=x"]);
    const [first, ...more] = await problems();
    expect(first).toContain('label "holder.netplug.io/n1" is missing, label "netplug.io/spare" is missing, annotation "netplug.io/next" ');
    expect(more).toEqual([]);
    await run("web-9", "n1", "10.65.0.9");
    expect((await problems()).slice(1)).toEqual([expect.stringContaining("unallocated-in-use 10.65.0.9: ")]);
    await kill("web-9");
    await run("web-1", "n1", await give("web-1", "n1", "10.65.0.8"));
    expect(await problems()).toEqual([]);
  });

  test("without the label of its holder a block is not found by its node: a release without a hint does nothing (needs cluster)", async () => {
    const ip = await give("web-0", "n1", "10.65.0.7");
    const [block] = await readBlocks();
    await world.api.kubectl(["label", "ipamblock", block?.metadata.name ?? "", "holder.netplug.io/n1-"]);
    expect(await releaseOf(world.datastore, "c-web-0", "n1")).toEqual([]);
    expect(await problems()).toEqual([
      expect.stringContaining('label "holder.netplug.io/n1" is missing'),
      expect.stringContaining(`leaked-address ${ip}: `),
    ]);
    await world.done(["ipam", "release", `--ip=${ip}`]);
    expect(await problems()).toEqual([]);
  });
});

describe("ipam show, configure and split", () => {
  test("count what kubectl sees (needs cluster)", async () => {
    const ip = await give("web-0", "n1", "10.65.0.7");
    expect(JSON.parse(await world.done(["ipam", "show", "-o", "json"]))).toEqual({
      pools: [{ name: "pods", cidr: "10.65.0.0/24", total: 256, inUse: 1, reserved: 0, free: 255 }],
      blocks: [{ cidr: "10.65.0.0/26", node: "n1", total: 64, inUse: 1, borrowed: 0 }],
    });
    expect(JSON.parse(await world.done(["ipam", "show", `--ip=${ip}`, "-o", "json"]))).toMatchObject({
      ip,
      inUse: true,
      pod: "web-0",
      node: "n1",
    });
    const [block] = await readBlocks();
    expect(block?.spec).toMatchObject({ cidr: "10.65.0.0/26", node: "n1" });
  });

  test("show a block by its CIDR and by its name there (needs cluster)", async () => {
    await give("web-0", "n1", "10.65.0.7");
    const [block] = await readBlocks();
    for (const name of ["10.65.0.0/26", block?.metadata.name ?? ""]) {
      const shown = JSON.parse(await world.done(["get", "ipamblock", name, "-o", "json"])) as BlockObject;
      expect([name, shown.spec["cidr"], shown.metadata.name]).toEqual([name, "10.65.0.0/26", block?.metadata.name ?? ""]);
    }
  });

  test("change the settings that kubectl reads (needs cluster)", async () => {
    await world.done(["ipam", "configure", "--strict-affinity=true", "--max-blocks-per-host=4"]);
    const { spec } = await world.read<{ spec: object }>("ipamconfiguration", "default");
    expect(spec).toMatchObject({ strictAffinity: true, maxBlocksPerHost: 4, autoAllocateBlocks: true });
  });

  test("make several pools of one while the datastore is locked (needs cluster)", async () => {
    expect(await world.ctl(["ipam", "split", "4", "--name", "pods"])).toMatchObject({ status: 1 });
    await world.done(["patch", "clusterinfo", "default", "-p", '{"spec":{"datastoreReady":false}}']);
    await world.done(["ipam", "split", "4", "--name", "pods"]);
    await world.done(["patch", "clusterinfo", "default", "-p", '{"spec":{"datastoreReady":true}}']);
    const { items } = await world.read<{ items: readonly { spec: { cidr: string } }[] }>("ippools");
    expect(items.map(({ spec }) => spec.cidr).sort()).toEqual(["10.65.0.0/26", "10.65.0.128/26", "10.65.0.192/26", "10.65.0.64/26"]);
  });
});
