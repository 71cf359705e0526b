import { beforeEach, describe, expect, test } from "bun:test";
import type { Datastore } from "../../src/datastore/datastore.ts";
import { inFrontOf } from "../../src/datastore/in-front-of.ts";
import { NetplugError } from "../../src/lib/errors.ts";
import { containerAddressesIn } from "../support/cli/container-addresses.ts";
import { endpointName, endpointYaml, resourceYaml } from "../support/cli/documents.ts";
import { shareEtcdCliWorld } from "../support/cli/etcd-cli-world.ts";
import { NETWORK } from "../support/ipam/ipam.ts";

const world = shareEtcdCliWorld();

beforeEach(() => world.reset());

const { give, take } = containerAddressesIn(world);

/** What a block says of a container's endpoint. */
const OWNER = { endpoint: endpointName({ containerID: "c1", node: "n1" }) };

const endpoint = (ip: string): string => endpointYaml({ containerID: "c1", node: "n1", ipNetworks: [ip] });

const reservation = (name: string): string => resourceYaml("IPReservation", name, { reservedCIDRs: ["10.65.0.0/30"] });

describe("ipam show", () => {
  test("counts exactly, however large the pool", async () => {
    await world.createPool("blue", "10.65.0.0/24");
    await world.createPool("six", "fd00::/48");
    await world.create(reservation("r"));
    await give("c1", "n1", { address: "10.65.0.9" });
    expect(await world.json("ipam", "show")).toEqual({
      pools: [
        { name: "blue", cidr: "10.65.0.0/24", total: 256, inUse: 1, reserved: 4, free: 251 },
        { name: "six", cidr: "fd00::/48", total: 2 ** 80, inUse: 0, reserved: 0, free: 2 ** 80 },
      ],
      blocks: [{ cidr: "10.65.0.0/26", node: "n1", total: 64, inUse: 1, borrowed: 0 }],
    });
    expect((await world.ctl(["ipam", "show", "-o", "json"])).stdout).toContain('"total": 1208925819614629174706176,');
    const table = await world.done(["ipam", "show", "--show-blocks"]);
    expect(table.split("\n").slice(1, 3)).toEqual([
      expect.stringMatching(/^IP Pool +blue +10\.65\.0\.0\/24 +256 +1 \(0\.4%\) +4 \(1\.6%\) +251 \(98\.0%\)$/),
      expect.stringMatching(/^Block +n1 +10\.65\.0\.0\/26 +64 +1 \(1\.6%\) +- +63 \(98\.4%\)$/),
    ]);
  });

  test("tells who has an address, and that nobody has", async () => {
    await world.createPool("blue", "10.65.0.0/24");
    const ip = await give("c1", "n1", { owner: { pod: "web-0", namespace: "prod" } });
    expect(await world.json("ipam", "show", `--ip=${ip}`)).toEqual({
      ip,
      inUse: true,
      containerID: "c1",
      ifName: "eth0",
      network: NETWORK,
      pod: "web-0",
      namespace: "prod",
      node: "n1",
      since: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/),
    });
    expect(await world.done(["ipam", "show", "--ip", ip])).toMatch(
      /^10\.65\.0\.\d+ is in use by pod "prod\/web-0".*\nit lies in pool "blue" \(10\.65\.0\.0\/24\)\nblock 10\.65\.0\.\d+\/26 belongs to node "n1"\n$/,
    );
    expect(await world.json("ipam", "show", `--ip=${ip}/32`)).toMatchObject({ ip, inUse: true });
    expect((await world.ctl(["ipam", "show", "--ip=10.65.0.0/26"])).status).toBe(2);
    expect(await world.json("ipam", "show", "--ip=10.65.0.200")).toEqual({ ip: "10.65.0.200", inUse: false });
    expect((await world.ctl(["ipam", "show", "--ip=10.65.0.200"])).status).toBe(0);
    expect((await world.ctl(["ipam", "show", "--ip=10.65.0.x"])).status).toBe(2);
  });

  test("tells when an endpoint has an address that is allocated to nobody, and when the owner's endpoint does not have it", async () => {
    await world.createPool("blue", "10.65.0.0/24");
    await world.create(endpoint("10.65.0.7/32"));
    const used = await world.done(["ipam", "show", "--ip=10.65.0.7"]);
    expect(used).toStartWith(`10.65.0.7 is not allocated\nbut it is used by endpoint "default/${OWNER.endpoint}"\nit lies in pool "blue"`);
    const ip = await give("c1", "n1", { address: "10.65.0.8", owner: OWNER });
    const missing = `\nbut workloadendpoint "default/${OWNER.endpoint}" does not have it\n`;
    expect(await world.done(["ipam", "show", `--ip=${ip}`])).toContain(missing);
    await give("c1", "n1", { address: "10.65.0.7", owner: OWNER });
    expect(await world.done(["ipam", "show", "--ip=10.65.0.7"])).not.toContain("but ");
  });

  test("tells which pool an address lies in, and who reserves it", async () => {
    await world.createPool("blue", "10.65.0.0/24");
    await world.createPool("off", "10.66.0.0/24", { disabled: true });
    await world.create(reservation("gateways"), resourceYaml("IPReservation", "others", { reservedCIDRs: ["10.65.0.64/30"] }));
    expect(await world.done(["ipam", "show", "--ip=10.65.0.2"])).toBe(
      '10.65.0.2 is not allocated\nit lies in pool "blue" (10.65.0.0/24)\nipreservation "gateways" reserves it\nno block is claimed around it\n',
    );
    expect(await world.done(["ipam", "show", "--ip=10.65.0.4"])).not.toContain("reserves");
    expect(await world.done(["ipam", "show", "--ip=10.66.0.4"])).toContain('it lies in pool "off" (10.66.0.0/24), which is disabled\n');
    expect(await world.done(["ipam", "show", "--ip=192.0.2.7"])).toContain("it lies in no pool\n");
  });

  test("tells what it can of an address where a pool cannot be read, and names that", async () => {
    await world.createPool("blue", "10.65.0.0/24");
    await world.etcd.ctl(["put", "/netplug/v3/ippools/zzz", "x"]);
    const stdout = '10.65.0.2 is not allocated\nit lies in pool "blue" (10.65.0.0/24)\nno block is claimed around it\n';
    const stderr = expect.stringContaining("/netplug/v3/ippools/zzz");
    expect(await world.ctl(["ipam", "show", "--ip=10.65.0.2"])).toEqual({ status: 1, stdout, stderr });
    expect(await world.json("ipam", "show", "--ip=10.65.0.2")).toEqual({ ip: "10.65.0.2", inUse: false });
  });

  test("tells who has an address also where the owner's endpoint cannot be read, names that, and where there is none, says so", async () => {
    await world.createPool("blue", "10.65.0.0/24");
    await give("c1", "n1", { address: "10.65.0.8", owner: OWNER });
    const name = `"default/${OWNER.endpoint}"`;
    expect(await world.done(["ipam", "show", "--ip=10.65.0.8"])).toContain(`\nbut there is no workloadendpoint ${name}\n`);
    await world.etcd.ctl(["put", `/netplug/v3/workloadendpoints/default/${OWNER.endpoint}`, "x"]);
    const { status, stdout, stderr } = await world.ctl(["ipam", "show", "--ip=10.65.0.8"]);
    expect([status, stdout]).toEqual([1, expect.stringMatching(/^10\.65\.0\.8 is in use by container "c1" .*\nit lies in pool "blue"/)]);
    expect(stderr).toContain(`/workloadendpoints/default/${OWNER.endpoint}`);
  });

  test("tells what it can of an address where endpoints cannot be listed, and why they cannot", async () => {
    await world.createPool("blue", "10.65.0.0/24");
    const reason = "list pods is not permitted";
    const read = (inner: Datastore): Datastore["read"] => {
      return async (queries, options) => {
        if (queries.some((query) => query.type === "list" && query.kind === "WorkloadEndpoint"))
          throw new NetplugError("accessDenied", reason);
        return await inner.read(queries, options);
      };
    };
    const instead = (inner: Datastore): Datastore => inFrontOf(inner, { read: read(inner) });
    const stdout = '10.65.0.2 is not allocated\nit lies in pool "blue" (10.65.0.0/24)\nno block is claimed around it\n';
    expect(await world.ctl(["ipam", "show", "--ip=10.65.0.2"], { instead })).toEqual({ status: 1, stdout, stderr: `${reason}\n` });
  });

  test("tells that an address cools down, and how many of a pool do", async () => {
    await world.createPool("blue", "10.65.0.0/24");
    await world.done(["ipam", "configure", "--ip-cooldown-seconds=600"]);
    const ip = await give("c1", "n1");
    await take("c1", "n1");
    expect(await world.done(["ipam", "show", `--ip=${ip}`])).toMatch(
      new RegExp(`^${ip} is not allocated; it was released and is cooling down until \\d{4}-\\S+Z\nit lies in pool "blue"`),
    );
    expect((await world.ctl(["ipam", "show"])).stderr).toBe(
      'ippool "blue": of its free addresses 1 cools down after its release, and nobody gets it yet\n',
    );
    await give("c1", "n1", { address: ip });
    expect((await world.ctl(["ipam", "show"])).stderr).toBe("");
  });

  test("shows each block below its pool, and behind all those that lie in none", async () => {
    for (const [name, third] of [
      ["blue", 65],
      ["gone", 66],
      ["red", 67],
    ] as const) {
      await world.createPool(name, `10.${third}.0.0/24`);
      await give(`c-${name}`, "n1", { address: `10.${third}.0.9` });
    }
    await world.done(["delete", "ippool", "gone"]);
    const table = await world.done(["ipam", "show", "--show-blocks"]);
    expect(table.match(/^(IP Pool|Block|Orphaned block) .*?10\.6\d/gm)?.map((row) => row.replaceAll(/ {2,}/g, " "))).toEqual([
      "IP Pool blue 10.65",
      "Block n1 10.65",
      "IP Pool red 10.67",
      "Block n1 10.67",
      "Orphaned block n1 10.66",
    ]);
  });

  test("without a pool it says so, also where blocks are left", async () => {
    await world.createPool("blue", "10.65.0.0/24");
    await give("c1", "n1");
    await world.done(["delete", "ippool", "blue"]);
    const { stdout, stderr } = await world.ctl(["ipam", "show"]);
    expect([stdout, stderr]).toEqual(["", "no ippools found\nnext: netplugctl create -f FILE\n"]);
    expect(await world.done(["ipam", "show", "--show-blocks"])).toContain("Orphaned block");
  });

  test("lists borrowed addresses", async () => {
    await world.createPool("tiny", "10.65.0.0/30", { blockSize: 30 });
    await give("c1", "n1");
    expect(await world.ctl(["ipam", "show", "--show-borrowed"])).toEqual({ status: 0, stdout: "", stderr: "no borrowed addresses\n" });
    const ip = await give("c2", "n2");
    expect(await world.json("ipam", "show", "--show-borrowed")).toEqual({
      borrowed: [{ ip, borrowingNode: "n2", block: "10.65.0.0/30", blockOwner: "n1", allocatedTo: "c2" }],
    });
    expect(await world.done(["ipam", "show", "--show-borrowed"])).toBe(
      "IP          BORROWING-NODE   BLOCK          BLOCK OWNER   ALLOCATED-TO\n" +
        `${ip}   n2               10.65.0.0/30   n1            c2\n`,
    );
    expect(await world.json("ipam", "show")).toMatchObject({ blocks: [{ inUse: 2, borrowed: 1 }] });
    const several = "read options: got several of --ip, --show-blocks, --show-borrowed, --show-configuration, want one of them";
    expect(await world.ctl(["ipam", "show", "--show-borrowed", `--ip=${ip}`])).toMatchObject({
      status: 2,
      stderr: expect.stringContaining(several),
    });
  });
});
