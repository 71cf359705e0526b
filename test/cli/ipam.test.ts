import { beforeEach, describe, expect, test } from "bun:test";
import { parseAddress } from "../../src/lib/ip/address.ts";
import { prefixOf, toPrefixText } from "../../src/lib/ip/prefix.ts";
import { containerAddressesIn } from "../support/cli/container-addresses.ts";
import { endpointName, endpointYaml, poolYaml } from "../support/cli/documents.ts";
import { shareEtcdCliWorld } from "../support/cli/etcd-cli-world.ts";

const world = shareEtcdCliWorld();

beforeEach(() => world.reset());

const { give, take } = containerAddressesIn(world);

/** What a block says of a container's endpoint. */
const OWNER = { endpoint: endpointName({ containerID: "c1", node: "n1" }) };

const endpoint = (ip: string): string => endpointYaml({ containerID: "c1", node: "n1", ipNetworks: [ip] });

describe("ipam release", () => {
  test("takes an address away; one that is free is status 1", async () => {
    await world.createPool("blue", "10.65.0.0/24");
    const ip = await give("c1", "n1");
    expect(await world.done(["ipam", "release", `--ip=${ip}`])).toStartWith(`${ip} released; it was allocated to container "c1"`);
    // An endpoint that has another address by now.
    const next = await give("c1", "n1", { owner: OWNER });
    await world.create(endpoint(ip));
    expect(await world.ctl(["ipam", "release", `--ip=${next}`])).toMatchObject({ status: 0, stderr: "" });
    expect(await world.ctl(["ipam", "release", `--ip=${ip}`])).toEqual({
      status: 1,
      stdout: "",
      stderr: `netplugctl: release ${ip}: it is not allocated\nnext: netplugctl ipam show --ip=${ip}\n`,
    });
    expect((await world.ctl(["ipam", "release"])).status).toBe(2);
  });

  test.each([
    ["a workload of namespace", "default", OWNER, ""],
    ["a workload of namespace", "prod", { ...OWNER, namespace: "prod" }, ""],
    [
      "a pod, which may wait for it in a new container, of namespace",
      "prod",
      { ...OWNER, namespace: "prod", pod: "web-0" },
      'unless its container "c1" has ended, ',
    ],
  ])("warns when %s %s still has the address", async (_what, namespace, owner, exception) => {
    await world.createPool("blue", "10.65.0.0/24");
    const ip = await give("c1", "n1", { owner });
    await world.create(endpointYaml({ containerID: "c1", node: "n1", namespace, ipNetworks: [ip] }));
    expect((await world.ctl(["ipam", "release", `--ip=${ip}`])).stderr).toContain(
      `warning: workloadendpoint "${namespace}/n1-cni-c1-eth0" still has ${ip}; ${exception}end that workload before the address is given again\n`,
    );
  });
});

describe("ipam check", () => {
  test("finds nothing in a sound datastore", async () => {
    await world.createPool("blue", "10.65.0.0/24");
    const ip = await give("c1", "n1", { owner: OWNER });
    await world.create(endpoint(ip));
    const { status, stdout } = await world.ctl(["ipam", "check", "-o", "json"]);
    const report = { problems: [], warnings: [], pools: 1, blocks: 1, allocations: 1, endpoints: 1, unread: [], silentLeaks: 0 };
    expect([status, JSON.parse(stdout)]).toEqual([0, report]);
  });

  test("fails and names what leaked, and how to release it", async () => {
    await world.createPool("blue", "10.65.0.0/24");
    await give("c1", "n1", { owner: OWNER });
    const { status, stdout, stderr } = await world.ctl(["ipam", "check"]);
    expect(status).toBe(1);
    expect(stdout).toMatch(/leaked-address +10\.65\.0\.\d+(\/32)? +allocated to container "c1"/);
    expect(stdout).toEndWith("found 1 problem\n");
    expect(stderr).toBe(
      "next: if their containers are gone for good: netplugctl ipam check -o json | netplugctl ipam release --from-report=-\n",
    );
    expect(await world.json("ipam", "check")).toMatchObject({ problems: [{ class: "leaked-address", detail: expect.any(String) }] });
  });

  test.each(["show", "release"])("is not the next command where ipam %s --ip cannot ask at all", async (command) => {
    const env = { ETCD_ENDPOINTS: "https://127.0.0.1:1", ETCD_CA_CERT_FILE: "/nowhere/ca.pem" };
    const { status, stderr } = await world.ctl(["ipam", command, "--ip=10.65.0.1"], { env });
    expect([status, stderr.includes("/nowhere/ca.pem"), stderr.includes("ETCD_CA_CERT_FILE")]).toEqual([1, true, true]);
    expect(stderr).not.toContain("ipam check");
  });

  test.each(["show", "release"])("is the next command where ipam %s --ip meets what cannot be read, and that is named", async (command) => {
    await world.createPool("blue", "10.65.0.0/24");
    const ip = await give("c1", "n1");
    const keys = (await world.etcd.ctl(["get", "--prefix", "/netplug/ipam/", "--keys-only"])).split("\n");
    const [record = "", claim = ""] = ["/blocks/", "/claims/"].map((part) => keys.find((key) => key.includes(part)));
    const block = toPrefixText(prefixOf(parseAddress(ip), 26));
    const stderrOf = async (): Promise<string> => {
      const done = await world.ctl(["ipam", command, `--ip=${ip}`]);
      expect([done.status, done.stdout]).toEqual([1, ""]);
      return done.stderr;
    };
    const end = `  who has ${ip} is not known until that is repaired\nnext: netplugctl ipam check\n`;
    await world.etcd.ctl(["put", "/netplug/ipam/blocks/n9/010.066.000.000-26", "{"]); // which has nothing to do with it
    await world.etcd.ctl(["put", record, "{"]);
    const fault = `netplugctl: read block "${block}" of node "n1": its record of 1 characters is no JSON; run "netplugctl ipam check"\n`;
    expect(await stderrOf()).toBe(`${fault}  damaged: block ${block} of node "n1": "${record}"\n${end}`);
    await world.etcd.ctl(["put", claim, "{"]);
    expect(await stderrOf()).toEndWith(
      `restore it or delete the key\n  damaged: block ${block}: "${claim}"\n  damaged: block ${block} of node "n1": "${record}"\n${end}`,
    );
    await world.etcd.ctl(["del", record]);
    await world.etcd.ctl(["put", claim, '{"node":"n1"}']);
    expect(await stderrOf()).toBe(
      `netplugctl: read the block around "${ip}": it is claimed, but has no record; see "netplugctl ipam check"\n${end}`,
    );
  });
});

describe("ipam split", () => {
  const lock = (ready: boolean): Promise<string> =>
    world.done(["patch", "clusterinfo", "default", "-p", JSON.stringify({ spec: { datastoreReady: ready } })]);

  test("makes equal pools of one and leaves blocks alone", async () => {
    await world.createPool("blue", "10.65.0.0/24", { natOutgoing: true });
    const ip = await give("c1", "n1");
    await lock(false);
    const { status, stdout, stderr } = await world.ctl(["ipam", "split", "4", "--name", "blue"]);
    expect([status, stderr]).toEqual([0, ""]);
    expect(stdout).toMatch(/ippool\/blue deleted\nwhatever names pool "blue" must name the new ones: .*\n$/);
    const { items } = JSON.parse(await world.done(["get", "ipp", "-o", "json"])) as { items: { metadata: object; spec: object }[] };
    expect(items.map(({ metadata, spec }) => ({ ...metadata, ...spec }))).toMatchObject(
      [0, 64, 128, 192].map((base, index) => ({
        name: `split-blue-${index}`,
        uid: expect.any(String),
        creationTimestamp: expect.stringMatching(/T\d\d:\d\d:\d\dZ$/),
        cidr: `10.65.0.${base}/26`,
        natOutgoing: true,
      })),
    );
    expect(await world.json("ipam", "show", `--ip=${ip}`)).toMatchObject({ inUse: true });
  });

  test("takes the pool that has the CIDR", async () => {
    for (const [name, cidr] of [
      ["blue", "10.65.0.0/24"],
      ["red", "10.66.0.0/24"],
    ] as const)
      await world.createPool(name, cidr);
    await lock(false);
    expect(await world.done(["ipam", "split", "2", "--cidr", "10.66.0.0/24"])).toStartWith(
      "ippool/split-red-0 created (10.66.0.0/25)\nippool/split-red-1 created (10.66.0.128/25)\nippool/red deleted\n",
    );
    expect(await world.done(["get", "ipp", "-o", "name"])).toBe("ippool/blue\nippool/split-red-0\nippool/split-red-1\n");
  });

  test.each([
    [["3", "--name", "blue"], 2, 'got "3", want a power of two: 2, 4, 8, …'],
    [["1", "--name", "blue"], 2, 'got "1", want a power of two: 2, 4, 8, …'],
    [["8", "--name", "blue"], 1, 'netplugctl: split pool "blue": got 8 parts, want a power of two from 2 to 4'],
    [["2", "--name", "one-block"], 1, "10.66.0.0/26 has the size of one block (blockSize 26), which cannot be split"],
    [["2", "--name", "nope"], 1, "there is none\n"],
    [["2", "--name", "10.65.0.0/24"], 1, 'split pool "10.65.0.0/24": there is none; want the name of a pool, --cidr takes a CIDR\n'],
    [
      ["2", "--name", "taken"],
      1,
      'split pool "taken": ippool "split-taken-1" exists (10.68.0.0/24), and is not what this split makes\n' +
        "next: netplugctl get ippool split-taken-1\n",
    ],
    [["2"], 2, "want either --name or --cidr"],
    [["2", "--name="], 2, 'read option "--name": got "", want a name'],
    [["2", "--name", "blue", "--cidr", "10.65.0.0/24"], 2, "want either --name or --cidr"],
    [["x", "--name", "blue"], 2, "want a whole number"],
  ])("%j is status %p: %p", async (argv, status, message) => {
    await world.createPool("blue", "10.65.0.0/24");
    await world.createPool("one-block", "10.66.0.0/26");
    await world.createPool("taken", "10.67.0.0/24");
    await world.createPool("split-taken-1", "10.68.0.0/24");
    await lock(false);
    const result = await world.ctl(["ipam", "split", ...argv]);
    expect([result.status, result.stderr]).toEqual([status, expect.stringContaining(message)]);
  });

  test.each(["text", '{"apiVersion":"netplug.io/v3","kind":"IPPool","metadata":{"name":"split-blue-1"}}'])(
    "names a part in whose place %p is stored, of which nobody knows the CIDR",
    async (stored) => {
      await world.createPool("blue", "10.65.0.0/24");
      await world.etcd.ctl(["put", "/netplug/v3/ippools/split-blue-1", stored]);
      await lock(false);
      const { status, stderr } = await world.ctl(["ipam", "split", "2", "--name", "blue"]);
      expect([status, stderr]).toEqual([
        1,
        'netplugctl: split pool "blue": ippool "split-blue-1" exists, and is not what this split makes\nnext: netplugctl get ippool split-blue-1\n',
      ]);
    },
  );

  test("wants a locked datastore and says how to lock it", async () => {
    await world.createPool("blue", "10.65.0.0/24");
    const { status, stderr } = await world.ctl(["ipam", "split", "2", "--cidr", "10.65.0.0/24"]);
    expect([status, stderr]).toEqual([
      1,
      'netplugctl: split pool "blue": the datastore is not locked; lock it first\n' +
        `next: netplugctl patch clusterinformation default -p '{"spec":{"datastoreReady":false}}'\n`,
    ]);
  });
});

describe("a pool that is deleted while it is in use", () => {
  test("loses its empty blocks; used ones stay, and go with a pool that is created there and deleted when they are empty", async () => {
    await world.createPool("blue", "10.65.0.0/24");
    const ip = await give("c1", "n1");
    await give("c2", "n2");
    await take("c2", "n2");
    expect(await world.done(["delete", "ippool", "blue"])).toBe(
      "ippool/blue deleted; 1 empty block released; 1 block with 1 address in use stays; once it is empty, create the pool again and delete it\n",
    );
    expect(await world.stored("/netplug/v3/ippools/")).toEqual({});
    expect(Object.keys(await world.stored("/netplug/ipam/blocks/"))).toEqual([expect.stringContaining("/netplug/ipam/blocks/n1/")]);
    expect(await world.json("ipam", "show", `--ip=${ip}`)).toMatchObject({ inUse: true });
    expect(give("c3", "n1")).rejects.toThrow();
    await take("c1", "n1");
    await world.createPool("blue", "10.65.0.0/24");
    expect(await world.done(["delete", "ippool", "blue"])).toBe("ippool/blue deleted; 1 empty block released\n");
    expect(await world.stored("/netplug/ipam/blocks/")).toEqual({});
    expect(await world.ctl(["ipam", "check"])).toMatchObject({ status: 0 });
  });

  test("forbids a new pool over its blocks with another block size until they are empty", async () => {
    await world.createPool("blue", "10.65.0.0/24");
    await give("c1", "n1");
    await world.done(["delete", "ippool", "blue"]);
    const { status, stderr } = await world.ctl(["create", "-f", "-"], { stdin: poolYaml("green", "10.65.0.0/16", { blockSize: 28 }) });
    expect([status, stderr]).toEqual([
      1,
      expect.stringMatching(/block 10\.65\.0\.\d+\/26 of node "n1" exists inside 10\.65\.0\.0\/16, and blockSize is 28; want blockSize 26/),
    ]);
    await world.createPool("green", "10.65.0.0/16", { blockSize: 26 });
    await world.done(["delete", "ippool", "green"]);
    await take("c1", "n1");
    await world.createPool("green", "10.65.0.0/16", { blockSize: 28 });
    expect(await world.stored("/netplug/ipam/blocks/")).toEqual({});
  });

  test.each([
    ["before", [0, 1, 2]],
    ["after", [1, 2, 0]],
  ])(
    "keeps a block whose addresses cool down (so set %s their release), which then stands in the way of another block size, and says so",
    async (_when, order) => {
      await world.createPool("blue", "10.65.0.0/24");
      const steps = [
        (): Promise<unknown> => world.done(["ipam", "configure", "--ip-cooldown-seconds=600"]),
        (): Promise<unknown> => give("c1", "n1"),
        (): Promise<unknown> => take("c1", "n1"),
      ];
      for (const index of order) await steps[index]?.();
      const [, until = ""] =
        /^ippool\/blue deleted; 1 block with 0 addresses in use, and others that cool down until (\S+), stays; once it is empty, create the pool again and delete it\n$/.exec(
          await world.done(["delete", "ippool", "blue"]),
        ) ?? [];
      expect(Math.abs(Date.parse(until) - Date.now() - 600_000)).toBeLessThan(60_000);
      const { status, stderr } = await world.ctl(["create", "-f", "-"], { stdin: poolYaml("green", "10.65.0.0/24", { blockSize: 28 }) });
      expect([status, stderr]).toEqual([1, expect.stringMatching(/want blockSize 26, or try again when that block is empty\n/)]);
      expect(await world.stored("/netplug/ipam/blocks/")).not.toEqual({});
    },
  );

  test("is disabled first, so that an ADD that had begun cannot end", async () => {
    await world.createPool("blue", "10.65.0.0/24");
    const results = await Promise.allSettled([
      world.done(["delete", "ippool", "blue"]),
      ...Array.from({ length: 20 }, (_, index) => give(`c${index}`, `n${index % 3}`)),
    ]);
    expect(results[0]?.status).toBe("fulfilled");
    const blocks = JSON.parse(await world.done(["get", "ipamblocks", "-o", "json"])) as { items: { spec: { allocations: object[] } }[] };
    for (const { spec } of blocks.items) expect(spec.allocations).not.toBeEmpty();
  });
});

test("blocks are listed in the order of their addresses, whosever they are", async () => {
  await world.createPool("blue", "10.65.0.0/24");
  for (const [node, address] of [
    ["n1", "10.65.0.70"],
    ["n2", "10.65.0.1"],
  ] as const)
    await give(`c-${node}`, node, { address });
  expect(await world.done(["get", "blocks", "-o", "custom-columns=NODE:.spec.node"])).toBe("NODE\nn2\nn1\n");
});

test("blocks are shown like resources, by name or CIDR", async () => {
  await world.createPool("blue", "10.65.0.0/24");
  await give("c1", "n1", { address: "10.65.0.9" });
  const block = await world.json("get", "ipamblock", "10.65.0.0/26");
  expect(block).toMatchObject({
    kind: "IPAMBlock",
    metadata: { name: "10-65-0-0-26" },
    spec: { cidr: "10.65.0.0/26", node: "n1", free: 63, allocations: [{ ip: "10.65.0.9", containerID: "c1", node: "n1" }] },
  });
  expect(await world.json("get", "block/10-65-0-0-26")).toEqual(block);
  await give("c2", "n1", { address: "10.65.0.10", agoMs: 60_000 });
  await take("c1", "n1");
  const { spec } = await world.json<{ spec: Record<string, { since: string; at: string }[]> }>("get", "block", "10.65.0.0/26");
  const minutesSince = (time: string | undefined): number => Math.abs(Math.round((Date.now() - Date.parse(time ?? "")) / 60_000));
  expect([minutesSince(spec["allocations"]?.[0]?.since), minutesSince(spec["released"]?.[0]?.at)]).toEqual([1, 0]);
  expect(await world.done(["get", "blocks"])).toMatch(/^CIDR +NODE +INUSE +FREE\n10\.65\.0\.0\/26 +n1 +1 +63\n$/);
  expect((await world.ctl(["get", "block", "10.9.0.0/26"])).status).toBe(1);
});
