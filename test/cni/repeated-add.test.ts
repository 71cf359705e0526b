/**
 * What an ADD asks a delegate, and what it leaves when it fails: the first one, and one of an attachment of which something stands already.
 */

import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import type { Host } from "../../src/cni/host.ts";
import { fastClock } from "../support/time/fast-clock.ts";
import type { CniJson } from "../support/programs/cni.ts";
import type { Json } from "../support/programs/cni-call.ts";
import type { IpamWorld } from "../support/ipam/ipam.ts";
import { nodePlace, type TestNetns } from "../support/node/netns.ts";
import { OwnAttachment } from "./support/own-attachment.ts";

const DELEGATE: Json = { ipam: { type: "a-delegate" } };
const OWN: Json = { ipam: { type: "netplug-ipam" } };
/** Nobody programs it. */
const WITH_POLICY: Json = { policy_setup_timeout_seconds: 1, policy_setup_timeout_action: "fail" };

let attachment: OwnAttachment;
let world: IpamWorld;
let pod: TestNetns;
/** What the delegate was called with; its CHECK fails when it says so. */
let calls: string[];
let holdsNothing: boolean;
beforeEach(async () => {
  attachment = await OwnAttachment.create();
  ({ world, pod } = attachment);
  calls = [];
  holdsNothing = false;
});
afterEach(() => attachment[Symbol.dispose]());

/** A delegate that gives another address each time. */
const processes: Host["processes"] = {
  run: async ({ env }) => {
    const verb = env["CNI_COMMAND"] ?? "";
    calls.push(verb);
    if (verb === "CHECK" && holdsNothing) return { status: 1, stdout: '{"code":100,"msg":"nothing is held"}', stderr: "" };
    const address = `10.88.0.${calls.length}/24`;
    return { status: 0, stdout: verb === "ADD" ? JSON.stringify({ cniVersion: "1.1.0", ips: [{ address }] }) : "", stderr: "" };
  },
};

/** A turn that nobody else has. */
const atOnce: Disposable = { [Symbol.dispose]: () => undefined };

async function add(config: Json, change: Partial<Host> = {}): Promise<CniJson> {
  const clock = fastClock();
  clock.speedUp(5);
  const reply = await attachment.call("ADD", config, "eth0", {
    clock,
    takeLock: () => Promise.resolve(atOnce),
    takeTurn: () => Promise.resolve(undefined),
    processes,
    ...change,
  });
  if (reply === undefined) throw new Error("want a result or an error");
  return reply;
}

const addressOf = ({ ips }: CniJson): string | undefined => ips?.[0]?.address;

/** Addresses that are recorded. */
async function recorded(): Promise<readonly string[]> {
  const [records] = await world.datastore.read([{ type: "list", kind: "WorkloadEndpoint" }]);
  return records.flatMap(({ value }) => (value.spec as { readonly ipNetworks: readonly string[] }).ipNetworks);
}

async function loseRecord(): Promise<void> {
  const [records] = await world.datastore.read([{ type: "list", kind: "WorkloadEndpoint" }]);
  const ends = records.map(({ value: { kind, metadata } }) => ({ op: "delete", ref: { kind, ...metadata } }) as const);
  expect((await world.datastore.commit(ends)).committed).toBe(true);
}

describe("a delegate", () => {
  test("is asked once, and not again while record and interface stand", async () => {
    const first = addressOf(await add(DELEGATE));
    expect([first, calls]).toEqual(["10.88.0.1/32", ["ADD"]]);
    expect([addressOf(await add(DELEGATE)), calls]).toEqual([first, ["ADD"]]);
  });

  test("is asked whether it still holds the recorded address where the interface is gone", async () => {
    await add(DELEGATE);
    pod.must(["ip", "link", "del", "eth0"]);
    expect([addressOf(await add(DELEGATE)), calls]).toEqual(["10.88.0.1/32", ["ADD", "CHECK"]]);
  });

  test("that holds it no more starts afresh", async () => {
    await add(DELEGATE);
    pod.must(["ip", "link", "del", "eth0"]);
    holdsNothing = true;
    expect([addressOf(await add(DELEGATE)), calls]).toEqual(["10.88.0.4/32", ["ADD", "CHECK", "DEL", "ADD"]]);
    expect([await recorded(), pod.addresses("eth0")]).toEqual([["10.88.0.4/32"], ["10.88.0.4/32"]]);
  });

  test("starts afresh where only the interface stands", async () => {
    await add(DELEGATE);
    await loseRecord();
    expect([addressOf(await add(DELEGATE)), calls]).toEqual(["10.88.0.3/32", ["ADD", "DEL", "ADD"]]);
    expect([await recorded(), pod.addresses("eth0")]).toEqual([["10.88.0.3/32"], ["10.88.0.3/32"]]);
  });

  test("is not asked while the datastore is locked", async () => {
    await world.put("ClusterInformation", "default", { datastoreReady: false, clusterGUID: "0".repeat(32) });
    expect([(await add(DELEGATE)).code, calls, pod.link("eth0")]).toEqual([11, [], undefined]);
  });

  test("is asked once the gates are open", async () => {
    let looks = 0;
    const fetch = async (): Promise<{ readonly status: number }> => {
      expect(calls).toEqual([]);
      return { status: ++looks < 3 ? 503 : 200 };
    };
    expect(addressOf(await add({ ...DELEGATE, readiness_gates: ["http://gate/"] }, { fetch }))).toBe("10.88.0.1/32");
    expect(looks).toBe(3);
  });

  test("is told when the ADD fails, and nothing is left", async () => {
    expect(await add({ ...DELEGATE, ...WITH_POLICY })).toMatchObject({ code: 110 });
    expect([calls, await recorded(), pod.link("eth0")]).toEqual([["ADD", "DEL"], [], undefined]);
  });
});

describe("an ADD that fails", () => {
  test("for the first time it leaves nothing", async () => {
    expect(await add({ ...OWN, ...WITH_POLICY })).toMatchObject({ code: 110 });
    expect([await world.blocks(), await recorded(), pod.link("eth0")]).toEqual([[expect.stringContaining(" 0/")], [], undefined]);
  });

  test.each<[what: string, change: () => Promise<void>]>([
    ["and changes nothing", () => Promise.resolve()],
    ["and records anew what was lost", loseRecord],
  ])("after one that succeeded, %s, it undoes nothing of that", async (_what, change) => {
    const address = addressOf(await add(OWN));
    await change();
    expect(await add({ ...OWN, ...WITH_POLICY })).toMatchObject({ code: 110 });
    expect([await recorded(), pod.addresses("eth0")]).toEqual([[address ?? ""], [address ?? ""]]);
    expect((await world.blocks()).filter((block) => block.includes(" 1/"))).toHaveLength(1);
  });

  test.each<[what: string, config: Json]>([
    ["for another family", { ipam: { type: "netplug-ipam", assign_ipv4: "false", assign_ipv6: "true" } }],
    ["for a second family", { ipam: { type: "netplug-ipam", assign_ipv4: "true", assign_ipv6: "true" } }],
    ["that a delegate serves", DELEGATE],
  ])("after one of which record and interface were lost, and %s, it releases what it took, and no more", async (_what, config) => {
    await world.putPool("six", "fd65::/120");
    await add(OWN);
    await loseRecord();
    pod.must(["ip", "link", "del", "eth0"]);
    const before = (await world.blocks()).filter((block) => !block.includes(" 0/"));
    expect(await add({ ...config, ...WITH_POLICY })).toMatchObject({ code: 110 });
    expect([await recorded(), pod.link("eth0")]).toEqual([[], undefined]);
    expect((await world.blocks()).filter((block) => !block.includes(" 0/"))).toEqual(before);
    expect(before).toEqual([expect.stringMatching(/^10\.65\..* 1\//)]);
  });

  test("after such a one, because the address of a second family is in use, runs again and gets another one", async () => {
    await world.putPool("six", "fd66::/127", { blockSize: 127 });
    const first = addressOf(await add(OWN));
    await loseRecord();
    pod.must(["ip", "link", "del", "eth0"]);
    const route = ["fd66::/128", "dev", "lo"];
    nodePlace.must(["ip", "route", "add", ...route]);
    const config = { ipam: { type: "netplug-ipam", assign_ipv4: "true", assign_ipv6: "true" } };
    const { ips } = await add(config).finally(() => nodePlace.must(["ip", "route", "del", ...route]));
    expect(ips?.map(({ address }) => address)).toEqual([first ?? "", "fd66::1/128"]);
  });

  test("before anything is recorded it leaves the interface that was there, though it is not as it should be", async () => {
    await add(OWN);
    await loseRecord();
    const ifindex = pod.link("eth0")?.ifindex ?? 0;
    pod.must(["ip", "link", "set", "eth0", "mtu", "1400"]);
    const { datastore } = world;
    const away = new Proxy(datastore, {
      get: (target, key) => {
        if (key === "commit") return () => Promise.reject(new Error("test: no commit"));
        const value: unknown = Reflect.get(target, key, target);
        return typeof value === "function" ? value.bind(target) : value;
      },
    });
    expect((await add(OWN, { openDatastore: () => away })).code).toBeGreaterThan(0);
    expect(pod.link("eth0")).toMatchObject({ mtu: 1400, ifindex });
  });
});
