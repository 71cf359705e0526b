/** `get` of objects of several kinds, and what kinds may be called. */

import { beforeEach, describe, expect, test } from "bun:test";
import type { Datastore } from "../../src/datastore/datastore.ts";
import { inFrontOf } from "../../src/datastore/in-front-of.ts";
import { NetplugError } from "../../src/lib/errors.ts";
import { endpointYaml, poolYaml } from "../support/cli/documents.ts";
import { shareEtcdCliWorld } from "../support/cli/etcd-cli-world.ts";

const world = shareEtcdCliWorld();
beforeEach(() => world.reset());

const ENDPOINT = endpointYaml({ containerID: "c1", node: "n1", namespace: "prod" });

describe("get of several kinds", () => {
  beforeEach(async () => {
    await world.create(poolYaml("blue", "10.65.0.0/16"), poolYaml("red", "10.66.0.0/16"), ENDPOINT);
  });

  test("is one value for programs, which can be applied again", async () => {
    for (const [format, parse] of [
      ["json", JSON.parse],
      ["yaml", Bun.YAML.parse],
    ] as const) {
      const text = await world.done(["get", "ippool/blue", "tier/default", "ippool/red", "-o", format]);
      const kinds = ["IPPool", "IPPool", "Tier"].map((kind) => expect.objectContaining({ kind }));
      expect(parse(text)).toEqual({ apiVersion: "v1", kind: "List", items: kinds });
      expect(await world.done(["apply", "-f", "-"], { stdin: text })).toBe(
        "ippool/blue unchanged\nippool/red unchanged\ntier/default unchanged\n",
      );
    }
  });

  test("with commas between them is all of each, or what has the name in each, and a kind that is named twice comes once", async () => {
    expect(await world.done(["get", "ipp,clusterinfo,ippool", "-o", "name"])).toBe("ippool/blue\nippool/red\nclusterinformation/default\n");
    expect(await world.done(["get", "wep,ipp", "-A"])).toMatch(/^NAMESPACE .*\nprod .*\n\nNAME .*\nblue .*\nred .*\n$/);
    const { status, stdout, stderr } = await world.ctl(["get", "ipp,ipr", "-o", "json"]);
    expect([status, stderr, (JSON.parse(stdout) as { readonly items: object[] }).items.length]).toEqual([0, "", 2]);
    expect(await world.ctl(["get", "ipp,ipr", "blue", "-o", "name"])).toEqual({
      status: 1,
      stdout: "ippool/blue\n",
      stderr: expect.stringContaining('find ipreservation "blue": there is none'),
    });
    expect(await world.ctl(["get", "ipp,ipr", "--watch"])).toMatchObject({
      status: 2,
      stderr: expect.stringContaining("use --watch with several kinds"),
    });
  });

  test.each(["wep,ipp", "ipp,wep"])("%s in a namespace are what of them has one there, and all of what has none", async (kinds) => {
    const names = ["ippool/blue", "ippool/red", "workloadendpoint/n1-cni-c1-eth0"];
    const shown = async (namespace: string): Promise<readonly string[]> =>
      (await world.done(["get", kinds, "-n", namespace, "-o", "name"])).trimEnd().split("\n").toSorted();
    expect([await shown("prod"), await shown("other")]).toEqual([names, names.slice(0, 2)]);
    expect(await world.ctl(["get", "ipp,tiers", "-n", "prod"])).toMatchObject({
      status: 2,
      stderr: expect.stringContaining('use namespace "prod": ippools, tiers have no namespace'),
    });
  });

  test("and their removal in a namespace", async () => {
    expect(await world.done(["delete", "ipp/blue", "wep/n1-cni-c1-eth0", "-n", "prod"])).toBe(
      "ippool/blue deleted\nworkloadendpoint/n1-cni-c1-eth0 deleted\n",
    );
    expect((await world.ctl(["delete", "ipp/red", "tier/default", "-n", "prod"])).status).toBe(2);
  });

  test("leaves no gap for a kind of which there is none", async () => {
    const pools = await world.done(["get", "ippools"]);
    const none = "no ipreservations found\n";
    for (const kinds of ["ipr,ipp", "ipp,ipr"]) expect(await world.ctl(["get", kinds])).toEqual({ status: 0, stdout: pools, stderr: none });
    expect((await world.ctl(["get", "ipp,ipr,clusterinfo"])).stdout).toMatch(/^NAME .*\nblue .*\nred .*\n\nNAME .*\ndefault .*\n$/);
    expect(await world.ctl(["get", "ipr,ipamconfigs"])).toEqual({ status: 0, stdout: "", stderr: `${none}no ipamconfigurations found\n` });
  });

  test("fails for whatever is missing or cannot be read, whichever kind comes last", async () => {
    await world.etcd.ctl(["put", "/netplug/v3/nodes/broken", "no JSON"]);
    for (const [first, fault] of [
      ["ippool/nope", 'find ippool "nope": there is none'],
      ["node/broken", 'left out: read "/netplug/v3/nodes/broken"'],
    ] as const)
      expect(await world.ctl(["get", first, "tier/default", "-o", "name"])).toEqual({
        status: 1,
        stdout: "tier/default\n",
        stderr: expect.stringContaining(fault),
      });
  });

  test("is a table for each", async () => {
    expect(await world.done(["get", "ippool/blue", "tier/default"])).toBe(
      "NAME   CIDR           SELECTOR\nblue   10.65.0.0/16   all()\n\nNAME      ORDER     DEFAULTACTION\ndefault   1000000   Deny\n",
    );
  });

  test("by files are looked for in the namespaces that these say, and one kind is one table", async () => {
    const stdin = [poolYaml("blue", "10.65.0.0/16"), ENDPOINT, poolYaml("red", "10.66.0.0/16")].join("\n");
    expect(await world.done(["get", "-f", "-", "-o", "name"], { stdin })).toBe(
      "ippool/blue\nippool/red\nworkloadendpoint/n1-cni-c1-eth0\n",
    );
    expect(await world.done(["get", "-f", "-"], { stdin })).toMatch(/^NAME .*\nblue .*\nred .*\n\nWORKLOAD .*\nc1 .*\n$/);
    expect((await world.ctl(["get", "-f", "-", "-A"], { stdin })).status).toBe(2);
  });
});

test.each(["ae2844dc16dc2", "ae2844dc16dc"])("an endpoint that is named as its workload, %p, is proposed by its own name", async (word) => {
  await world.create(endpointYaml({ containerID: "ae2844dc16dc21e43d0c", node: "n1" }));
  const { status, stderr } = await world.ctl(["get", "wep", word]);
  expect([status, stderr]).toEqual([
    1,
    `netplugctl: find workloadendpoint "default/${word}": there is none\n` +
      "next: netplugctl get workloadendpoints -n default n1-cni-ae2844dc16dc21e43d0c-eth0\n",
  ]);
});

test.each(["other", "ae28"])("one that is named otherwise, %p, is to be looked for", async (word) => {
  await world.create(endpointYaml({ containerID: "ae2844dc16dc21e43d0c", node: "n1" }));
  expect((await world.ctl(["get", "wep", word])).stderr).toEndWith("next: netplugctl get workloadendpoints -A -o wide\n");
});

test("an endpoint whose container ID is no text stops neither a list of them nor a proposal", async () => {
  await world.create(ENDPOINT);
  const metadata = { name: "w", namespace: "default" };
  const other = { apiVersion: "netplug.io/v3", kind: "WorkloadEndpoint", metadata, spec: { node: "n2", containerID: 5 } };
  await world.etcd.ctl(["put", "/netplug/v3/workloadendpoints/default/w", JSON.stringify(other)]);
  expect(await world.done(["get", "wep", "-A"])).toMatch(/\bn2\b/);
  expect((await world.ctl(["get", "wep", "ae2844dc16dc"])).stderr).toStartWith(
    'netplugctl: find workloadendpoint "default/ae2844dc16dc": there is none\n',
  );
});

test("that endpoints cannot be listed to propose one hides neither that there is none nor where to look", async () => {
  const instead = (inner: Datastore): Datastore =>
    inFrontOf(inner, {
      read: async (queries, options) => {
        if (queries.some(({ type }) => type === "list")) throw new NetplugError("accessDenied", "list endpoints: not permitted");
        return await inner.read(queries, options);
      },
    });
  expect(await world.ctl(["get", "wep", "web-0"], { instead })).toEqual({
    status: 1,
    stdout: "",
    stderr: 'netplugctl: find workloadendpoint "default/web-0": there is none\nnext: netplugctl get workloadendpoints -A -o wide\n',
  });
});

test.each(["ippools.netplug.io", "IPPool.netplug.io", "ipp.v3.netplug.io"])(
  "a kind may be called as kubectl calls it: %s",
  async (word) => {
    await world.createPool("blue", "10.65.0.0/16");
    expect(await world.done(["get", `${word}/blue`, "-o", "name"])).toBe("ippool/blue\n");
    expect(await world.done(["__complete", "get", word, "b"])).toStartWith("blue\t");
  },
);
