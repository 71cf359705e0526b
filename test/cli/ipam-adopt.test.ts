/** `ipam adopt` where something changes meanwhile; `test/cni/restored-datastore.test.ts` has it with real interfaces. */

import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { hostname, tmpdir } from "node:os";
import { join } from "node:path";
import { readCachedAddresses } from "../../src/cli/host/cached-addresses.ts";
import type { HostAddress } from "../../src/cli/host/host-addresses.ts";
import type { Datastore } from "../../src/datastore/datastore.ts";
import { parseAddress } from "../../src/lib/ip/address.ts";
import { linuxFiles } from "../../src/linux/files.ts";
import { allocateFor } from "../support/cli/container-addresses.ts";
import { endpointYaml, resourceYaml } from "../support/cli/documents.ts";
import { shareEtcdCliWorld } from "../support/cli/etcd-cli-world.ts";
import { netplugctl } from "../support/cli/netplugctl.ts";
import { FaultyDatastore } from "../support/ipam/faulty-datastore.ts";
import { runProgram } from "../support/programs/programs.ts";

const world = shareEtcdCliWorld();
beforeEach(async () => {
  await world.reset();
  await world.createPool("blue", "10.65.0.0/24");
});

const toHostAddress = (containerID: string, ip: string): HostAddress => ({
  attachment: { network: "test-net", containerID, ifName: "eth0" },
  address: parseAddress(ip),
  where: `npg-${containerID}`,
});

const inUse = async (): Promise<readonly boolean[]> => {
  const shown = ["10.65.0.1", "10.65.0.2"].map(async (ip) => JSON.parse(await world.done(["ipam", "show", `--ip=${ip}`, "-o", "json"])));
  return ((await Promise.all(shown)) as readonly { readonly inUse: boolean }[]).map((one) => one.inUse);
};

test("an address is released again when its interface ends meanwhile: its DEL may have found nothing", async () => {
  const second = toHostAddress("c2", "10.65.0.2");
  const looks = [
    [toHostAddress("c1", "10.65.0.1"), second],
    [toHostAddress("c3", "10.65.0.1"), second],
  ];
  const { status, stdout } = await world.ctl(["ipam", "adopt", "--node=n1"], { hostAddresses: () => looks.shift() ?? [] });
  expect([status, stdout.trimEnd().split("\n").slice(2)]).toEqual([
    0,
    ["10.65.0.1 released again: its interface is gone", "allocated 1 of 2 addresses in use on this host, 0 already were"],
  ]);
  expect(await inUse()).toEqual([false, true]);
});

test("so is one whose allocation had no reply", async () => {
  const lossy = (datastore: Datastore): Datastore => {
    const faulty = new FaultyDatastore(datastore);
    faulty.next = "applied, reply lost";
    return faulty.datastore;
  };
  const looks = [[toHostAddress("c1", "10.65.0.1")], []];
  const { status, stdout } = await world.ctl(["ipam", "adopt", "--node=n1"], { hostAddresses: () => looks.shift() ?? [], instead: lossy });
  expect([status, stdout.trimEnd().split("\n").slice(1)]).toEqual([
    0,
    ["10.65.0.1 released again: its interface is gone", "allocated 0 of 1 addresses in use on this host, 0 already were"],
  ]);
  expect(await inUse()).toEqual([false, false]);
});

test("a node whose addresses have another one's name is not taken for it", async () => {
  const adopt = async (node: string, ...ips: readonly string[]): ReturnType<typeof world.ctl> =>
    await world.ctl(["ipam", "adopt", `--node=${node}`], { hostAddresses: () => ips.map((ip) => toHostAddress("c1", ip)) });
  expect((await adopt("n1", "10.65.0.1")).status).toBe(0);
  const { status, stdout, stderr } = await adopt("m1", "10.65.0.2", "10.65.0.1");
  expect([status, stdout]).toEqual([1, ""]);
  expect(stderr).toBe(
    'netplugctl: allocate addresses to node "m1": this host got 10.65.0.1 as node "n1"; ' +
      "if that name is right: netplugctl ipam adopt --node=n1; if it was wrong: netplugctl ipam adopt --node=m1 --instead-of=n1\n",
  );
  expect(await inUse()).toEqual([true, false]);
  expect((await adopt("n1", "10.65.0.2", "10.65.0.1")).stdout).toContain(
    "allocated 1 of 2 addresses in use on this host, 1 already were\n",
  );
});

describe("a name of a node", () => {
  const adopt = async (words: string, ...found: readonly HostAddress[]): ReturnType<typeof world.ctl> =>
    await world.ctl(["ipam", "adopt", ...words.split(" ")], { hostAddresses: () => found });
  const first = toHostAddress("c1", "10.65.0.1");
  const second = toHostAddress("c2", "10.65.0.2");
  const blocks = async (): Promise<readonly string[]> => {
    const shown = await world.json<{ readonly blocks: readonly { node: string; cidr: string; inUse: number }[] }>("ipam", "show");
    return shown.blocks.map(({ node, cidr, inUse }) => `${node} ${cidr} ${inUse}`);
  };

  test("that the datastore does not know is warned of with those that are known, and it may be right: it gets the addresses", async () => {
    const nothing = 'warning: the datastore knows no node "n1", nor any other; if the name is wrong, correct that by ';
    expect(await adopt("--node=n1", first)).toMatchObject({
      status: 0,
      stderr: `${nothing}netplugctl ipam adopt --node=RIGHT-NAME --instead-of=n1\n`,
    });
    // the second time its addresses tell of it
    expect(await adopt("--node=n1", first)).toMatchObject({ status: 0, stderr: "" });
    await world.create(...["rack-1", "rack-2", "rack-3", "rack-4", "web"].map((name) => resourceYaml("Node", name)));
    const some = 'but "n1", "rack-1", "rack-2", "rack-3", "rack-4", and 1 more; if the name is wrong, correct that by ';
    expect(await adopt("--node=wbe", second)).toMatchObject({
      status: 0,
      stderr: `warning: the datastore knows no node "wbe", ${some}netplugctl ipam adopt --node=RIGHT-NAME --instead-of=wbe\n`,
    });
  });

  test("is not warned of where the host has it, or anything else, or where nothing is to be written", async () => {
    expect(await adopt("--node=n1")).toMatchObject({ status: 0, stderr: "" });
    const own = hostname().toLowerCase();
    expect(await adopt(`--node=${own}`, first)).toMatchObject({ status: 0, stderr: "" });
    await world.create(endpointYaml({ containerID: "c9", node: "n2" }));
    expect(await adopt("--node=n2", second)).toMatchObject({ status: 0, stderr: "" });
  });

  test("that the host has is warned of where the agent's file has another: the plugin takes that one", async () => {
    const own = hostname().toLowerCase();
    const options = { hostAddresses: () => [first], files: { "/var/lib/netplug/nodename": "rack-7\n" } };
    expect((await world.ctl(["ipam", "adopt", `--node=${own}`], options)).stderr).toStartWith(
      `warning: the datastore knows no node "${own}", `,
    );
    const { status, stderr } = await world.ctl(["ipam", "adopt", "--node=rack-7", `--instead-of=${own}`], options);
    expect([status, stderr]).toEqual([0, ""]);
  });

  test("that is not the one which the record of a container here has is refused", async () => {
    await world.create(endpointYaml({ containerID: "c2", node: "n1" }), resourceYaml("Node", "n2"));
    for (const name of ["n2", "ghost"]) {
      const { status, stdout, stderr } = await adopt(`--node=${name} --instead-of=n1`, first, second);
      expect([status, stdout]).toEqual([1, ""]);
      expect(stderr).toContain(`to node "${name}": container "c2", which is on this host, is recorded on node "n1"\n`);
      expect(stderr).toContain("next: netplugctl ipam adopt --node=n1\n");
    }
    expect(await inUse()).toEqual([false, false]);
    expect((await adopt("--node=n1", first, second)).status).toBe(0);
  });

  test("that was wrong is given up by the command that the refusal of the right one shows: addresses and blocks are moved", async () => {
    await adopt("--node=ghost", first, second);
    await world.create(resourceYaml("Node", "n1"));
    const { status, stdout, stderr } = await adopt("--node=n1", first, second);
    expect([status, stdout]).toEqual([1, ""]);
    expect(stderr).toContain('to node "n1": this host got 10.65.0.2 as node "ghost"; if ');
    expect(stderr).toEndWith("; if it was wrong: netplugctl ipam adopt --node=n1 --instead-of=ghost\n");
    const moved = await adopt("--node=n1 --instead-of=ghost", first, second);
    expect([moved.status, moved.stdout.trimEnd().split("\n")]).toEqual([
      0,
      [
        '10.65.0.1 allocated to container "c1" (interface "eth0", network "test-net", here "npg-c1"), and no longer to node "ghost"',
        '10.65.0.2 allocated to container "c2" (interface "eth0", network "test-net", here "npg-c2"), and no longer to node "ghost"',
        'block 10.65.0.0/26 moved from node "ghost" to node "n1"',
        "allocated 2 of 2 addresses in use on this host, 0 already were",
      ],
    ]);
    expect(await blocks()).toEqual(["n1 10.65.0.0/26 2"]);
    expect((await adopt("--node=n1 --instead-of=ghost", first, second)).stdout).toContain("allocated 0 of 2 ");
    expect(await world.done(["ipam", "check"])).toContain("found 0 problems");
  });

  test("that is another node's by right loses this host's addresses only", async () => {
    await allocateFor(world.datastore, "c9", "n2", { address: "10.65.0.9" });
    await adopt("--node=n2", first);
    expect((await adopt("--node=n1 --instead-of=n2", first)).status).toBe(0);
    expect(await blocks()).toEqual(["n2 10.65.0.0/26 2"]);
    const shown = await Promise.all(["10.65.0.1", "10.65.0.9"].map(async (ip) => await world.json("ipam", "show", `--ip=${ip}`)));
    expect(shown).toMatchObject([{ node: "n1" }, { node: "n2" }]);
  });

  test("is refused although the host has it by then, as long as it has addresses under a wrong one beside", async () => {
    await adopt("--node=ghost", first);
    await adopt("--node=n1", second);
    // What was released under the wrong name, and what another host has, tell nothing of this one.
    await adopt("--node=ghost", toHostAddress("c4", "10.65.0.130"));
    const { status, stdout, stderr } = await adopt("--node=n1", first, second);
    expect([status, stdout]).toEqual([1, ""]);
    expect(stderr).toEndWith("; if it was wrong: netplugctl ipam adopt --node=n1 --instead-of=ghost\n");
    expect((await adopt("--node=n1 --instead-of=gohst", first, second)).stderr).toBe(stderr);
    expect((await adopt("--node=n1 --instead-of=ghost", first, second)).stdout).toContain("allocated 1 of 2 addresses");
    expect(await blocks()).toEqual(["n1 10.65.0.0/26 2", "ghost 10.65.0.128/26 1"]);
  });

  test("that was changed while containers ran is not taken for a wrong one: their records have it", async () => {
    await allocateFor(world.datastore, "c1", "n1", { address: "10.65.0.1", owner: { network: "test-net" } });
    await allocateFor(world.datastore, "c2", "m1", { address: "10.65.0.2", owner: { network: "test-net" } });
    await world.create(endpointYaml({ containerID: "c1", node: "n1" }), endpointYaml({ containerID: "c2", node: "m1" }));
    const { stdout } = await adopt("--node=m1", first, second);
    expect(stdout).toContain("allocated 0 of 2 addresses in use on this host, 1 already were; 1 cannot be: recreate their workloads\n");
  });

  test("that was wrong is given up as well by what may have ended, such as at a boot: a GC under the right name looks for it", async () => {
    await adopt("--node=ghost", first);
    const { status, stdout } = await adopt("--node=n1 --instead-of=ghost", { ...first, where: undefined });
    expect([status, stdout]).toEqual([0, expect.stringContaining("allocated 1 of 1 addresses")]);
    expect(await blocks()).toEqual(["n1 10.65.0.0/26 1"]);
  });

  test("that was wrong is not given up for an interface that ends meanwhile: its address is free", async () => {
    await adopt("--node=ghost", first, second);
    const looks = [[first, second], [first]];
    const argv = ["ipam", "adopt", "--node=n1", "--instead-of=ghost"];
    const { status, stdout } = await world.ctl(argv, { hostAddresses: () => looks.shift() ?? [] });
    expect([status, stdout.trimEnd().split("\n").slice(-2)]).toEqual([
      0,
      ["10.65.0.2 released again: its interface is gone", "allocated 1 of 2 addresses in use on this host, 0 already were"],
    ]);
    expect(await inUse()).toEqual([true, false]);
  });

  test("that several hosts were given is given up by each for its own: the blocks of the others are not taken", async () => {
    const other = toHostAddress("c5", "10.65.0.65");
    await adopt("--node=ghost", first);
    await adopt("--node=ghost", other);
    expect((await adopt("--node=n1 --instead-of=ghost", first)).status).toBe(0);
    expect(await blocks()).toEqual(["n1 10.65.0.0/26 1", "ghost 10.65.0.64/26 1"]);
    expect((await adopt("--node=n2 --instead-of=ghost", other)).status).toBe(0);
    expect(await blocks()).toEqual(["n1 10.65.0.0/26 1", "n2 10.65.0.64/26 1"]);
  });

  test("that is another node's gives up the block that it got with this host's addresses, and none of its own", async () => {
    await allocateFor(world.datastore, "c9", "n2", { address: "10.65.0.65" });
    const ended = await allocateFor(world.datastore, "c8", "n2", { address: "10.65.0.130" });
    await world.done(["ipam", "release", `--ip=${ended}`]);
    await adopt("--node=n2", first);
    expect((await adopt("--node=n1 --instead-of=n2", first)).status).toBe(0);
    expect(await blocks()).toEqual(["n1 10.65.0.0/26 1", "n2 10.65.0.64/26 1", "n2 10.65.0.128/26 0"]);
  });

  test("is refused as well where it changed places with the wrong one", async () => {
    await adopt("--node=ghost", first);
    await allocateFor(world.datastore, "c2", "n1", { address: "10.65.0.2", owner: { network: "test-net" } });
    await world.create(endpointYaml({ containerID: "c2", node: "n1" }));
    const { status, stdout, stderr } = await adopt("--node=ghost --instead-of=n1", first, second);
    expect([status, stdout]).toEqual([1, ""]);
    expect(stderr).toContain('to node "ghost": container "c2", which is on this host, is recorded on node "n1"\n');
    expect((await adopt("--node=n1 --instead-of=ghost", first, second)).status).toBe(0);
  });

  test("that was corrected to another wrong one, by a command that was killed half-way, is given up after all", async () => {
    await adopt("--node=ghost", first);
    await allocateFor(world.datastore, "c2", "gohst", { address: "10.65.0.2", owner: { network: "test-net" } });
    expect((await adopt("--node=n1 --instead-of=ghost", first, second)).stdout).toContain("allocated 1 of 2 addresses");
    expect((await adopt("--node=n1", first, second)).stderr).toContain("netplugctl ipam adopt --node=n1 --instead-of=gohst\n");
    expect((await adopt("--node=n1 --instead-of=gohst", first, second)).status).toBe(0);
    expect(await blocks()).toEqual(["n1 10.65.0.0/26 2"]);
  });

  test.each(["--node=n1 --instead-of=n1", "--node=n1 --instead-of=Rack:7", "--instead-of=n1"])("in %p is wrong usage", async (words) => {
    const { status, stderr } = await adopt(words, first);
    expect([status, stderr]).toEqual([2, expect.stringMatching(/--instead-of|--node/)]);
    expect(await inUse()).toEqual([false, false]);
  });
});

test.each(["", "Rack 7"])("%p is no name of a node, and gets nothing", async (name) => {
  const { status, stderr } = await world.ctl(["ipam", "adopt", `--node=${name}`], {
    hostAddresses: () => [toHostAddress("c1", "10.65.0.1")],
  });
  expect([status, stderr]).toEqual([2, expect.stringContaining("as --node, want ")]);
  expect(await inUse()).toEqual([false, false]);
});

test("an address that another node's container has by now is refused, and tells nothing of this node's name", async () => {
  await world.ctl(["ipam", "adopt", "--node=n2"], { hostAddresses: () => [toHostAddress("c9", "10.65.0.1")] });
  const found = [toHostAddress("c1", "10.65.0.1"), toHostAddress("c2", "10.65.0.2")];
  const { status, stdout } = await world.ctl(["ipam", "adopt", "--node=n1"], { hostAddresses: () => found });
  const lines = stdout.trimEnd().split("\n");
  expect([status, lines.at(-1)]).toEqual([
    1,
    "allocated 1 of 2 addresses in use on this host, 0 already were; 1 cannot be: recreate their workloads",
  ]);
  expect(lines[0]).toMatch(/^10\.65\.0\.1 is in use by container "c1" .*, but allocated to container "c9" .* since \S+; if that is gone: /);
  // which is enough then, without a new container
  expect(lines[0]).toEndWith("; if that is gone: netplugctl ipam release --ip=10.65.0.1, then this command again");
  await world.done(["ipam", "release", "--ip=10.65.0.1"]);
  const again = await world.ctl(["ipam", "adopt", "--node=n1"], { hostAddresses: () => found });
  expect(again).toMatchObject({
    status: 0,
    stdout: expect.stringContaining("allocated 1 of 2 addresses in use on this host, 1 already were\n"),
  });
});

test("an address that this container has under another name of its host is not said to be free to release", async () => {
  await allocateFor(world.datastore, "c1", "n1", { address: "10.65.0.1", owner: { network: "test-net" } });
  await world.create(endpointYaml({ containerID: "c1", node: "n1" }), endpointYaml({ containerID: "c2", node: "m1" }));
  const found = [toHostAddress("c1", "10.65.0.1"), toHostAddress("c2", "10.65.0.2")];
  const { stdout } = await world.ctl(["ipam", "adopt", "--node=m1"], { hostAddresses: () => found });
  expect(stdout).toMatch(/^10\.65\.0\.1 is in use by container "c1" .*, but allocated to container "c1" .* on node "n1" since \S+$/m);
});

test("that this host has no address to allocate is said: it may be the wrong one, or a container", async () => {
  const adopt = (onUnread?: string): ReturnType<typeof world.ctl> =>
    world.ctl(["ipam", "adopt", "--node=n1"], { hostAddresses: (tell) => (onUnread === undefined || tell(onUnread), []) });
  expect(await adopt()).toEqual({
    status: 0,
    stdout: "allocated 0 of 0 addresses in use on this host, 0 already were; no interface here has an address of netplug\n",
    stderr: "",
  });
  expect(await adopt("read x")).toMatchObject({ status: 1, stdout: "allocated 0 of 0 addresses in use on this host, 0 already were\n" });
});

test("addresses of no pool that a delegate gave are left to it", async () => {
  const record = endpointYaml({ containerID: "c1", node: "n1", ipNetworks: ["10.70.0.1/32"] });
  await world.create(record.replace('"metadata":{', '"metadata":{"annotations":{"netplug.io/ipam":"host-local"},'));
  const found = ["10.70.0.1", "10.65.0.1"].map((ip) => toHostAddress("c1", ip));
  const { status, stdout } = await world.ctl(["ipam", "adopt", "--node=n1"], { hostAddresses: () => found });
  expect([status, stdout.trimEnd().split("\n").at(-1)]).toEqual([0, "allocated 1 of 1 addresses in use on this host, 0 already were"]);
});

/** As libcni before 1.2 writes it. */
function resultWithoutNamespace(containerId: string, ip: string): string {
  const config = Buffer.from(JSON.stringify({ type: "ptp", ipam: { type: "netplug-ipam" } })).toString("base64");
  const result = { ips: [{ address: `${ip}/26` }] };
  return JSON.stringify({ kind: "cniCacheV1", containerId, ifName: "eth0", networkName: "test-net", config, result });
}

test("the results that the runtime keeps are looked at, and those that Multus keeps of the networks it calls", async () => {
  const folders = ["/var/lib/cni/results", "/var/lib/cni/multus/results"];
  const writes = folders.map((folder, at) => `printf %s '${resultWithoutNamespace(`c${at}`, `10.65.0.${at}`)}' > ${folder}/kept`);
  const script = ["mount -t tmpfs none /var/lib", `mkdir -p ${folders.join(" ")}`, ...writes, 'exec "$@"'].join(" && ");
  const command = ["unshare", "--mount", "sh", "-c", script, "sh", netplugctl, "ipam", "adopt", "--node=n1"];
  const { stdout } = await runProgram(command, { env: { PATH: process.env["PATH"] ?? "", ETCD_ENDPOINTS: world.etcd.endpoint } });
  expect(stdout).toContain('10.65.0.0 may be in use by container "c0" ');
  expect(stdout).toContain('10.65.0.1 may be in use by container "c1" ');
});

describe("a result that libcni keeps", () => {
  let folder: string;
  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), "npgt-results-"));
    await world.create(resourceYaml("Node", "n1"));
  });
  afterEach(() => rmSync(folder, { recursive: true }));
  const adopt = (): ReturnType<typeof world.ctl> =>
    world.ctl(["ipam", "adopt", "--node=n1"], {
      hostAddresses: (onUnread) => [toHostAddress("c1", "10.65.0.1"), ...readCachedAddresses(linuxFiles, onUnread, [folder])],
    });
  const write = (name: string, text: string): void => writeFileSync(join(folder, name), text);

  test("and that nobody can read is named, and the others are adopted", async () => {
    mkdirSync(join(folder, "folder"));
    write("cut", '{"kind":"cniCacheV1","conta');
    write("list", "[1]");
    write("empty", "");
    const { status, stdout, stderr } = await adopt();
    expect([status, stdout]).toEqual([1, expect.stringContaining("allocated 1 of 1 addresses in use on this host, 0 already were\n")]);
    expect(stderr.split("\n")).toEqual([
      expect.stringMatching(/^read ".*\/cut": .*; end the container that its name says, or remove it if there is none$/),
      expect.stringMatching(/^read ".*\/empty": .*; end the container that its name says, or remove it if there is none$/),
      expect.stringMatching(/^read ".*\/folder": EISDIR .*; end the container that its name says, or remove it if there is none$/),
      "",
    ]);
    expect(await inUse()).toEqual([true, false]);
  });

  test("without a namespace, as libcni before 1.2 writes it, is named unless its address is allocated", async () => {
    write("c2", resultWithoutNamespace("c2", "10.65.0.2"));
    const { status, stdout } = await adopt();
    expect([status, stdout.split("\n").slice(-3)]).toEqual([
      1,
      [
        '10.65.0.2 may be in use by container "c2" (interface "eth0", network "test-net"), but nothing tells whether it still is',
        "allocated 1 of 2 addresses in use on this host, 0 already were; 1 cannot be: recreate their workloads",
        "",
      ],
    ]);
    expect(await inUse()).toEqual([true, false]);
    await allocateFor(world.datastore, "c2", "n1", { address: "10.65.0.2", owner: { network: "test-net" } });
    expect((await adopt()).status).toBe(0);
  });
});
