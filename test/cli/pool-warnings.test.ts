/**
 * Pools that give no address: `ipam check` and `ipam show` warn of them, but for those that somebody has disabled, which `ipam show` marks. And
 * those that hold addresses of nodes.
 */

import { beforeEach, expect, test } from "bun:test";
import { allocateFor } from "../support/cli/container-addresses.ts";
import { endpointName, poolYaml, resourceYaml } from "../support/cli/documents.ts";
import { shareEtcdCliWorld } from "../support/cli/etcd-cli-world.ts";

const world = shareEtcdCliWorld();
beforeEach(() => world.reset());

/** As kubectl and etcdctl write it, past the rules between objects. */
async function putPool(name: string, cidr: string, createdAt: string, more: object = {}): Promise<void> {
  const metadata = { name, creationTimestamp: createdAt };
  const pool = { apiVersion: "netplug.io/v3", kind: "IPPool", metadata, spec: { cidr, ...more } };
  await world.etcd.ctl(["put", `/netplug/v3/ippools/${name}`, JSON.stringify(pool)]);
}

const MAY = "2026-05-01T00:00:00Z";
const JUNE = "2026-06-01T00:00:00Z";

const shadowedBy = (other: string): string =>
  `it overlaps ${other}: only that one is used, even while it is disabled; delete one of the two`;

const COMPARISONS = '"==", "!=", "in", "not in", "contains", "starts with" or "ends with"';

test.each<[which: string, pools: readonly Parameters<typeof putPool>[], object: string, detail: string]>([
  [
    "the younger one",
    [
      ["x", "10.9.0.0/16", JUNE],
      ["y", "10.9.4.0/24", MAY],
    ],
    "x",
    shadowedBy('the older pool "y" (10.9.4.0/24)'),
  ],
  [
    "of the same second the later by name",
    [
      ["y", "10.9.0.0/16", MAY],
      ["x", "10.9.4.0/24", MAY],
    ],
    "y",
    shadowedBy('pool "x" (10.9.4.0/24), as old and first by name'),
  ],
  [
    "also one that overlaps a disabled one",
    [
      ["x", "10.9.0.0/16", JUNE],
      ["y", "10.9.4.0/24", MAY, { disabled: true }],
    ],
    "x",
    shadowedBy('the older pool "y" (10.9.4.0/24)'),
  ],
  [
    "one whose block size is impossible",
    [["x", "10.9.0.0/16", MAY, { blockSize: 8 }]],
    "x",
    'its blockSize 8 does not fit 10.9.0.0/16: want 20..32; make another pool, and "netplugctl delete ippool x"',
  ],
  [
    "one whose selector is none, unless it must be named",
    [
      ["x", "10.9.0.0/16", MAY, { nodeSelector: "zone = a" }],
      ["y", "10.8.0.0/16", MAY, { namespaceSelector: "zone = a", assignmentMode: "Manual" }],
      ["z", "10.7.0.0/16", MAY, { namespaceSelector: "zone = a", disabled: true }],
    ],
    "x",
    `its nodeSelector "zone = a" is no selector: at character 6 got "=", want ${COMPARISONS}; correct it by "netplugctl patch ippool x"`,
  ],
  [
    "one whose podSelector is none",
    [
      ["x", "10.9.0.0/16", MAY, { podSelector: "app = a" }],
      ["y", "10.8.0.0/16", MAY, { podSelector: 'app == "a"' }],
      ["z", "10.7.0.0/16", MAY, { podSelector: "" }],
    ],
    "x",
    `its podSelector "app = a" is no selector: at character 5 got "=", want ${COMPARISONS}; correct it by "netplugctl patch ippool x"`,
  ],
])("%s", async (_which, pools, object, detail) => {
  await world.done(["init"]);
  for (const pool of pools) await putPool(...pool);
  const { status, stdout, stderr } = await world.ctl(["ipam", "check", "-o", "json"]);
  expect([status, JSON.parse(stdout), stderr]).toMatchObject([0, { problems: [], warnings: [{ kind: "IPPool", object, detail }] }, ""]);
  const text = await world.ctl(["ipam", "check"]);
  expect([text.status, text.stderr]).toEqual([0, ""]);
  expect(text.stdout).toEndWith(`\nwarning: ippool "${object}": ${detail}\nfound 0 problems, 1 warning\n`);
  expect(await world.ctl(["ipam", "show"])).toMatchObject({ status: 0, stderr: `warning: ippool "${object}": ${detail}\n` });
});

test("a pool is made with fields that nobody acts on yet: that is said, of new pools", async () => {
  const made = {
    stdin: `${poolYaml("x", "10.9.0.0/16", { vxlanMode: "Always", natOutgoing: true })}\n---\n${poolYaml("y", "10.8.0.0/16", { disableBGPExport: true })}`,
  };
  const detail =
    "vxlanMode Always and natOutgoing true have no effect as long as there is no node agent; docs/install.md says what to do meanwhile";
  expect(await world.ctl(["apply", "-f", "-"], made)).toEqual({
    status: 0,
    stdout: "ippool/x created\nippool/y created\n",
    stderr: `warning: ippool "x": ${detail}\n`,
  });
  expect((await world.ctl(["apply", "-f", "-"], made)).stderr).toBe("");
});

test("a disabled pool is not warned of; of three pools that overlap, the two younger ones are", async () => {
  await putPool("x", "10.9.0.0/16", JUNE, { disabled: true });
  await putPool("y", "10.9.4.0/24", MAY);
  expect(await world.json("ipam", "check")).toMatchObject({ warnings: [] });
  await putPool("x", "10.9.0.0/16", MAY);
  await putPool("z", "10.9.5.0/24", JUNE);
  expect(await world.json("ipam", "check")).toMatchObject({ warnings: [{ object: "y" }, { object: "z" }] });
  expect((await world.ctl(["ipam", "check"])).stdout).toEndWith("found 0 problems, 2 warnings\n");
});

test("warnings do not change the exit status that problems give", async () => {
  await world.createPool("x", "10.9.0.0/16");
  await putPool("z", "10.9.5.0/24", "2100-01-01T00:00:00Z");
  await allocateFor(world.datastore, "c9", "n1", {
    owner: { endpoint: endpointName({ containerID: "c9", node: "n1" }), namespace: "default" },
  });
  const { status, stdout } = await world.ctl(["ipam", "check"]);
  expect([status, stdout]).toEqual([1, expect.stringMatching(/leaked-address .*\nwarning: ippool "z": .*\nfound 1 problem, 1 warning\n$/)]);
});

test("disabled ones are marked, in the table alone", async () => {
  await world.createPool("blue", "10.65.0.0/24");
  await world.createPool("off", "10.66.0.0/24", { disabled: true });
  const { stdout, stderr } = await world.ctl(["ipam", "show"]);
  const rows = stdout.trimEnd().split("\n").slice(1);
  expect(rows).toEqual([expect.stringMatching(/^IP Pool +blue /), expect.stringMatching(/^IP Pool \(disabled\) +off /)]);
  expect(stderr).toBe("");
  const off = { name: "off", cidr: "10.66.0.0/24", total: 256, inUse: 0, reserved: 0, free: 256 };
  expect(await world.json("ipam", "show")).toEqual({ pools: [{ ...off, name: "blue", cidr: "10.65.0.0/24" }, off], blocks: [] });
});

test("a pool that holds addresses of nodes is warned of when it is made and by the check, until they are reserved", async () => {
  await world.create(
    resourceYaml("Node", "n1", { addresses: [{ address: "10.9.0.11", type: "InternalIP" }, { address: "fd00::11" }] }),
    resourceYaml("Node", "n2", { bgp: { ipv4Address: "10.9.0.12/24" } }),
  );
  const detail =
    'it contains 10.9.0.11, an address of node "n1" and 1 more, which no other node keeps from pods; reserve such addresses by an IPReservation';
  const made = await world.ctl(["apply", "-f", "-"], {
    stdin: [poolYaml("x", "10.9.0.0/16"), poolYaml("y", "10.8.0.0/16")].join("\n---\n"),
  });
  expect(made).toEqual({ status: 0, stdout: "ippool/x created\nippool/y created\n", stderr: `warning: ippool "x": ${detail}\n` });
  expect(await world.json("ipam", "check")).toMatchObject({ problems: [], warnings: [{ kind: "IPPool", object: "x", detail }] });
  await world.done(["patch", "ippool", "x", "-p", '{"spec":{"disabled":true}}']);
  expect(await world.json("ipam", "check")).toMatchObject({ warnings: [] });
  await world.done(["patch", "ippool", "x", "-p", '{"spec":{"disabled":false}}']);
  await world.create(resourceYaml("IPReservation", "nodes", { reservedCIDRs: ["10.9.0.0/28"] }));
  expect(await world.json("ipam", "check")).toMatchObject({ warnings: [] });
});

test("addresses of a node that have another shape stop neither the check nor whoever makes a pool", async () => {
  await world.done(["init"]);
  const spec = { addresses: [null, "10.9.0.1", { address: 7 }, { address: "10.9.0.11" }], bgp: 3 };
  const node = { apiVersion: "netplug.io/v3", kind: "Node", metadata: { name: "n1" }, spec };
  await world.etcd.ctl(["put", "/netplug/v3/nodes/n1", JSON.stringify(node)]);
  const made = await world.ctl(["apply", "-f", "-"], { stdin: poolYaml("x", "10.9.0.0/16") });
  expect(made).toMatchObject({ status: 0, stderr: expect.stringContaining('it contains 10.9.0.11, an address of node "n1", which') });
  expect(await world.json("ipam", "check")).toMatchObject({ warnings: [{ object: "x" }] });
});
