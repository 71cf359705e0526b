/** `ipam adopt` where something changes meanwhile; `test/cni/restored-datastore.test.ts` has it with real interfaces. */

import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readCachedAddresses } from "../../src/cli/host/cached-addresses.ts";
import type { HostAddress } from "../../src/cli/host/host-addresses.ts";
import type { Datastore } from "../../src/datastore/datastore.ts";
import { parseAddress } from "../../src/lib/ip/address.ts";
import { linuxFiles } from "../../src/linux/files.ts";
import { allocateFor } from "../support/cli/container-addresses.ts";
import { endpointYaml } from "../support/cli/documents.ts";
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
  expect(stderr).toContain('allocate addresses to node "m1": this host was node "n1" when it got 10.65.0.1\n');
  expect(stderr).toContain("next: netplugctl ipam adopt --node=n1\n");
  expect(await inUse()).toEqual([true, false]);
  expect((await adopt("n1", "10.65.0.2", "10.65.0.1")).stdout).toContain(
    "allocated 1 of 2 addresses in use on this host, 1 already were\n",
  );
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
  expect(lines[0]).toMatch(/^10\.65\.0\.1 is in use by container "c1" .*, but allocated to container "c9"/);
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
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "npgt-results-"));
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
