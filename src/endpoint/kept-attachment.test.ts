import { describe, expect, test } from "bun:test";
import { addAll } from "../../test/support/calls/add-all.ts";
import { attachmentRequest } from "../../test/support/calls/attachment-request.ts";
import { createIpamWorld, type IpamWorld, requestFor } from "../../test/support/ipam/ipam.ts";
import type { WorkloadEndpoint } from "../api/workload-endpoint.ts";
import { type DatastoreTraits, ETCD_TRAITS, KUBERNETES_TRAITS } from "../datastore/traits.ts";
import { collectWanted, type Facts } from "../ipam/facts.ts";
import { readFacts } from "../ipam/transact/transact.ts";
import { parseAddress, toAddressText } from "../lib/ip/address.ts";
import { parsePrefix, toPrefixText } from "../lib/ip/prefix.ts";
import { parseMac } from "../lib/mac-address.ts";
import { keepAddresses, keepInterface } from "./kept-attachment.ts";
import { addQueries, type AddRequest } from "./plan-add.ts";
import { recordQueryOf } from "./record.ts";
import { askedRoutes, type AttachmentRequest, type CompleteRecord } from "./plan-attachment.ts";

const NODE = "n1";

const attachment = (change: Partial<AttachmentRequest> = {}): AttachmentRequest =>
  attachmentRequest(NODE, { containerID: "c1", ifName: "eth0", pod: { namespace: "shop", name: "web-0" } }, change);

const ASKED = { attachment: attachment(), ipam: requestFor("c1", NODE) };

async function createWorld(): Promise<IpamWorld> {
  const world = await createIpamWorld();
  await world.putPool("a", "10.65.0.0/24");
  await world.putPool("b", "10.66.0.0/24");
  return world;
}

function factsOf(world: IpamWorld): Promise<Facts> {
  return readFacts(world.ports, addQueries([ASKED]));
}

/** Decides, and reads what is wanted, until it is decided. */
async function keep(world: IpamWorld, traits: DatastoreTraits, asked: AddRequest = ASKED): Promise<AddRequest> {
  let facts = await factsOf(world);
  for (;;) {
    const known = facts;
    const decision = collectWanted(() => keepAddresses(asked, known, traits));
    if (!("wanted" in decision)) return decision.decided;
    facts = await readFacts(world.ports, decision.wanted, known);
  }
}

/** Records an attachment with addresses that nobody manages. @param annotations of the record, in place of those that say so */
async function recordUnmanaged(world: IpamWorld, address: string, annotations?: Readonly<Record<string, string>>): Promise<void> {
  await addAll(world.ports, [{ attachment: attachment(), unmanaged: { owner: ASKED.ipam.owner, addresses: [parseAddress(address)] } }]);
  if (annotations !== undefined) await changeRecord(world, (record) => ({ ...record, metadata: { ...record.metadata, annotations } }));
}

async function changeRecord(world: IpamWorld, change: (record: WorkloadEndpoint) => WorkloadEndpoint): Promise<void> {
  const [stored] = await world.datastore.read([recordQueryOf(attachment())]);
  if (stored === undefined) throw new Error("nothing is recorded");
  await world.datastore.commit([{ op: "update", resource: change(stored.value), revision: stored.revision }]);
}

/** `own` or no management, and which; or what was asked for. */
function shown(request: AddRequest): string {
  if (request === ASKED) return "as asked";
  if ("delegated" in request) return "delegated";
  const [what, { addresses }] = "ipam" in request ? ["own", request.ipam] : ["unmanaged", request.unmanaged];
  return `${what} ${addresses.map(toAddressText).join()}`;
}

describe("keepAddresses()", () => {
  test("asks for what is allocated where no record says so", async () => {
    const world = await createWorld();
    const [allocated] = await world.add("c1", NODE);
    expect(shown(await keep(world, ETCD_TRAITS))).toBe(`own ${allocated}`);
  });

  test("takes another container's record for none", async () => {
    const world = await createWorld();
    await recordUnmanaged(world, "192.0.2.7");
    await changeRecord(world, (record) => ({ ...record, spec: { ...record.spec, containerID: "c0" } }));
    const [allocated] = await world.add("c1", NODE);
    expect(shown(await keep(world, ETCD_TRAITS))).toBe(`own ${allocated}`);
  });

  test("asks for what is allocated where the record has lost its addresses", async () => {
    const world = await createWorld();
    await recordUnmanaged(world, "192.0.2.7");
    await changeRecord(world, (record) => ({ ...record, spec: { ...record.spec, ipNetworks: [] } }));
    const [allocated] = await world.add("c1", NODE);
    expect(shown(await keep(world, KUBERNETES_TRAITS))).toBe(`own ${allocated}`);
  });

  test("leaves to the plan what is recorded and allocated, and what is neither", async () => {
    const world = await createWorld();
    expect(shown(await keep(world, ETCD_TRAITS))).toBe("as asked");
    await addAll(world.ports, [ASKED]);
    expect(shown(await keep(world, ETCD_TRAITS))).toBe("as asked");
  });

  test("takes what is allocated for ours although its pool is gone", async () => {
    const world = await createWorld();
    await addAll(world.ports, [ASKED]);
    await world.datastore.commit([{ op: "delete", ref: { kind: "IPPool", name: "a" } }]);
    expect(shown(await keep(world, KUBERNETES_TRAITS))).toBe("as asked");
  });

  test("takes what lies in a block for ours although its pool is gone, and somebody has released it", async () => {
    const world = await createWorld();
    const [address = ""] = await world.add("c1", NODE);
    await world.del("c1", NODE);
    await recordUnmanaged(world, address, {});
    await world.datastore.commit([{ op: "delete", ref: { kind: "IPPool", name: "a" } }]);
    expect(shown(await keep(world, KUBERNETES_TRAITS))).toBe("as asked");
  });

  test("keeps recorded addresses that are without IPAM", async () => {
    const world = await createWorld();
    await recordUnmanaged(world, "192.0.2.7");
    expect(shown(await keep(world, ETCD_TRAITS))).toBe("unmanaged 192.0.2.7");
  });

  test.each([
    ["192.0.2.7", KUBERNETES_TRAITS, "unmanaged 192.0.2.7"],
    ["10.65.0.7", KUBERNETES_TRAITS, "as asked"],
    ["192.0.2.7", ETCD_TRAITS, "as asked"],
  ])("knows of %s by the pools only where a record has no room for it", async (address, traits, expected) => {
    const world = await createWorld();
    await recordUnmanaged(world, address, {});
    expect(shown(await keep(world, traits))).toBe(expected);
  });

  test("takes a record for ours of which one address lies in a pool", async () => {
    const world = await createWorld();
    const delegated = ["192.0.2.7", "fd66::7"].map(parseAddress);
    await world.putPool("c", "fd66::/112");
    await addAll(world.ports, [{ attachment: attachment(), delegated }]);
    await changeRecord(world, (record) => ({ ...record, metadata: { ...record.metadata, annotations: {} } }));
    expect(shown(await keep(world, KUBERNETES_TRAITS))).toBe("as asked");
  });

  test("leaves a request with a delegate's addresses as it is", async () => {
    const world = await createWorld();
    await world.add("c1", NODE);
    const asked: AddRequest = { attachment: attachment(), delegated: [parseAddress("192.0.2.9")] };
    expect(await keep(world, ETCD_TRAITS, asked)).toBe(asked);
  });
});

describe("keepInterface()", () => {
  const EXISTING = { mac: parseMac("02:00:5e:10:00:01"), mtu: 1400, routes: [] };

  test("asks for MAC and MTU as they are", async () => {
    const facts = await factsOf(await createWorld());
    expect(keepInterface(attachment({ mtu: 9000 }), facts, EXISTING)).toMatchObject({ mac: "02:00:5e:10:00:01", mtu: 1400 });
  });

  test.each([
    ["of which some got lost", ["10.1.0.0/16", "10.2.0.0/16"], ["10.1.0.0/16"], ["10.1.0.0/16", "10.2.0.0/16"]],
    ["of which all got lost", ["10.1.0.0/16"], [], ["10.1.0.0/16"]],
    ["that are others by now", ["10.1.0.0/16", "10.2.0.0/16"], ["10.3.0.0/16", "10.2.0.0/16"], ["10.2.0.0/16", "10.3.0.0/16"]],
    ["of which a family got lost", ["10.1.0.0/16", "fd00:1::/64"], ["10.3.0.0/16"], ["fd00:1::/64", "10.3.0.0/16"]],
  ])("asks for routes %s", async (_what, asked, there, expected) => {
    const facts = await factsOf(await createWorld());
    const kept = keepInterface(attachment({ routes: asked.map(parsePrefix) }), facts, { ...EXISTING, routes: there.map(parsePrefix) });
    expect(kept.routes?.map(toPrefixText)).toEqual(expected);
    expect(kept.includeDefaultRoutes).toBe(false);
  });

  test("asks for no default route that is not there", async () => {
    const facts = await factsOf(await createWorld());
    const asked = attachment({ routes: [parsePrefix("10.1.0.0/16")], includeDefaultRoutes: true });
    const kept = keepInterface(asked, facts, { ...EXISTING, routes: ["10.1.0.0/16", "10.3.0.0/16"].map(parsePrefix) });
    expect(askedRoutes(kept).map(toPrefixText)).toEqual(["10.1.0.0/16", "::/0", "10.3.0.0/16"]);
  });

  test("leaves labels and rights to the pod where its record is lost", async () => {
    const completeRecord: CompleteRecord = (plain) => plain;
    const kept = keepInterface(attachment({ completeRecord }), await factsOf(await createWorld()), EXISTING);
    expect(kept.completeRecord).toBe(completeRecord);
  });

  test.each([{ allowSpoofedSourcePrefixes: ["198.51.100.0/24"] }, { ipNATs: [{ internalIP: "192.0.2.7", externalIP: "203.0.113.8" }] }])(
    "follows the pod's labels, and leaves its rights as they were recorded: %p",
    async (rights) => {
      const world = await createWorld();
      await recordUnmanaged(world, "192.0.2.7");
      await changeRecord(world, (record) => ({ ...record, spec: { ...record.spec, ...rights } }));
      const completeRecord: CompleteRecord = (plain) => ({
        ...plain,
        metadata: { ...plain.metadata, labels: { app: "new" } },
        spec: { ...plain.spec, ipNATs: [{ internalIP: "192.0.2.7", externalIP: "203.0.113.7" }], allowSpoofedSourcePrefixes: ["::/0"] },
      });
      const kept = keepInterface(attachment({ completeRecord }), await factsOf(world), EXISTING);
      const plain = {
        apiVersion: "v3",
        kind: "WorkloadEndpoint",
        metadata: { name: "e" },
        spec: { orchestrator: "k8s", node: NODE, endpoint: "eth0" },
      };
      const { metadata, spec } = kept.completeRecord?.(plain as WorkloadEndpoint) ?? (plain as WorkloadEndpoint);
      expect(metadata.labels).toEqual({ app: "new" });
      expect(spec).toEqual({ ...plain.spec, ...rights } as typeof spec);
    },
  );
});
