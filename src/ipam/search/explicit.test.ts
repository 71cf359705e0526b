import { describe, expect, test } from "bun:test";
import { failureOf } from "../../../test/support/failure-of.ts";
import { createIpamWorld } from "../../../test/support/ipam/ipam.ts";
import { parseAddress } from "../../lib/ip/address.ts";

const ips = (...texts: string[]) => ({ addresses: texts.map(parseAddress) });

describe("an explicit address", () => {
  test("is taken from a new block of the node, reserved or not", async () => {
    const world = await createIpamWorld();
    await world.putPool("a", "10.65.0.0/24");
    await world.put("IPReservation", "r", { reservedCIDRs: ["10.65.0.128/25"] });
    expect(await world.add("c1", "n1", ips("10.65.0.200"))).toEqual(["10.65.0.200"]);
    expect(await world.blocks()).toEqual(["10.65.0.192/26 n1 1/64"]);
  });

  test("that somebody has is refused with the owner", async () => {
    const world = await createIpamWorld();
    await world.putPool("a", "10.65.0.0/24");
    await world.add("c1", "n1", ips("10.65.0.7"));
    expect(await world.add("c1", "n1", ips("10.65.0.7"))).toEqual(["10.65.0.7"]);
    expect(await failureOf(world.add("c2", "n2", ips("10.65.0.7")))).toMatchObject({
      kind: "addressInUse",
      message:
        'use address "10.65.0.7": it belongs to container "c1" (interface "eth0", network "pods") on node "n1" since 2023-11-14T22:13:20Z; ' +
        "if that is gone for good: netplugctl ipam release --ip=10.65.0.7",
    });
  });

  test.each([
    ["another pod", { pod: "db-1" }, ""],
    ["a pod of its name in another namespace", { namespace: "lab" }, ""],
    ["another interface of its container", { containerID: "c1", ifName: "net1" }, ""],
    ["a pod of its name", { podUID: "uid-2" }, ", an earlier pod of this name"],
    ["the pod's next container", {}, ", an earlier container of this pod"],
  ])("that a pod has is refused to %s, which hears how they are related", async (_who, other, relation) => {
    const world = await createIpamWorld();
    await world.putPool("a", "10.65.0.0/24");
    const owner = { network: "pods", containerID: "c1", ifName: "eth0", node: "n1", namespace: "shop", pod: "db-0", podUID: "uid-1" };
    await world.add("c1", "n1", { ...ips("10.65.0.7"), owner });
    const request = { ...ips("10.65.0.7"), owner: { ...owner, containerID: "c2", ...other } };
    expect(await failureOf(world.add("c2", "n1", request))).toMatchObject({
      message: expect.stringContaining(` on node "n1" since 2023-11-14T22:13:20Z${relation}; if that is gone`),
    });
  });

  test.each([[{}], [{ podUID: "uid-2" }]])(
    "that a pod of its name and of an unknown UID has may be that of its earlier container: %j",
    async (other) => {
      const world = await createIpamWorld();
      await world.putPool("a", "10.65.0.0/24");
      const owner = { network: "pods", containerID: "c1", ifName: "eth0", node: "n1", namespace: "shop", pod: "db-0" };
      await world.add("c1", "n1", { ...ips("10.65.0.7"), owner });
      const request = { ...ips("10.65.0.7"), owner: { ...owner, containerID: "c2", ...other } };
      expect(await failureOf(world.add("c2", "n1", request))).toMatchObject({
        message: expect.stringContaining(", an earlier container of this pod, or of one of its name; if that is gone"),
      });
    },
  );

  test("that is refused, says who asks for it", async () => {
    const world = await createIpamWorld();
    await world.putPool("a", "10.65.0.0/24");
    await world.add("c1", "n1", ips("10.65.0.7"));
    const namedBy = { addresses: 'annotation "a" of pod "default/web"' };
    const refusalOf = async (address: string): Promise<unknown> => await failureOf(world.add("c2", "n2", { ...ips(address), namedBy }));
    const start = (address: string): string => `use address "${address}" from annotation "a" of pod "default/web": `;
    const message = (address: string, reason: string): unknown => expect.stringContaining(`${start(address)}${reason}`);
    expect(await refusalOf("10.65.0.7")).toMatchObject({ kind: "addressInUse", message: message("10.65.0.7", "it belongs to ") });
    const kind = "addressOutsidePools";
    expect(await refusalOf("10.66.0.7")).toMatchObject({ kind, message: message("10.66.0.7", "it lies in no pool") });
    await world.configure({ strictAffinity: true });
    const foreign = 'its block "10.65.0.0/26" belongs to node "n1", and strictAffinity forbids node "n2" to borrow from it';
    expect(await refusalOf("10.65.0.8")).toMatchObject({ kind, message: message("10.65.0.8", foreign) });
    await world.putPool("a", "10.65.0.0/24", { disabled: true });
    expect(await refusalOf("10.65.0.8")).toMatchObject({ kind, message: message("10.65.0.8", 'pool "a" ') });
  });

  test("outside of all usable pools is refused", async () => {
    const world = await createIpamWorld();
    await world.putPool("a", "10.65.0.0/24", { disabled: true });
    expect(await failureOf(world.add("c1", "n1", ips("10.65.0.7")))).toMatchObject({
      kind: "addressOutsidePools",
      message: 'use address "10.65.0.7": pool "a" (10.65.0.0/24) cannot be used: it is disabled',
    });
    expect(await failureOf(world.add("c1", "n1", ips("10.66.0.7")))).toMatchObject({
      message: 'use address "10.66.0.7": it lies in no pool; IPv4 pools are "a" (10.65.0.0/24)',
    });
    expect(await failureOf(world.add("c1", "n1", ips("fd00::7")))).toMatchObject({
      message: 'use address "fd00::7": it lies in no pool; there is no IPv6 pool',
    });
  });

  test("is the complete list: all or nothing", async () => {
    const world = await createIpamWorld();
    await world.putPool("a", "10.65.0.0/24");
    expect(await failureOf(world.add("c1", "n1", ips("10.65.0.7", "fd00::7")))).toMatchObject({ kind: "addressOutsidePools" });
    expect(await world.blocks()).toEqual([]);
  });

  test("takes over its block from a node that has nothing left in it, also with strictAffinity", async () => {
    const world = await createIpamWorld();
    await world.putPool("a", "10.65.0.0/24");
    await world.add("c1", "n1", ips("10.65.0.7"));
    await world.del("c1", "n1");
    await world.configure({ strictAffinity: true });
    expect(await world.add("c2", "n2", ips("10.65.0.8"))).toEqual(["10.65.0.8"]);
    expect(await world.blocks()).toEqual(["10.65.0.0/26 n2 1/64"]);
  });

  test("is borrowed from another node's block, but not with strictAffinity", async () => {
    const world = await createIpamWorld();
    await world.putPool("a", "10.65.0.0/24");
    await world.add("c1", "n1", ips("10.65.0.7"));
    expect(await world.add("c2", "n2", ips("10.65.0.8"))).toEqual(["10.65.0.8"]);
    await world.configure({ strictAffinity: true });
    expect(await failureOf(world.add("c3", "n2", ips("10.65.0.9")))).toMatchObject({
      message: expect.stringContaining('its block "10.65.0.0/26" belongs to node "n1", and strictAffinity forbids'),
    });
    expect(await failureOf(world.add("c3", "n2", ips("10.65.0.7")))).toMatchObject({ kind: "addressInUse" });
    expect(await world.add("c3", "n1", ips("10.65.0.9"))).toEqual(["10.65.0.9"]);
  });
});
