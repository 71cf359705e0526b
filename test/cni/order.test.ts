/**
 * In which order things happen: no address is released of an interface that stands, calls in one namespace take turns, two attachments
 * are never one.
 */

import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import type { PluginName } from "../../src/cni/call.ts";
import type { Host } from "../../src/cni/host.ts";
import { realHost } from "../../src/cni/real-host.ts";
import type { Datastore, Write } from "../../src/datastore/datastore.ts";
import { systemClock } from "../../src/lib/clock.ts";
import { NetplugError } from "../../src/lib/errors.ts";
import { toAddressText } from "../../src/lib/ip/address.ts";
import { addressAt } from "../../src/lib/ip/prefix.ts";
import type { Clock } from "../../src/lib/ports.ts";
import type { Outcome, RouteSocket } from "../../src/linux/netlink/route-socket.ts";
import type { Json } from "../support/programs/cni-call.ts";
import type { CniJson } from "../support/programs/cni.ts";
import { changedBefore, Death, FaultyDatastore } from "../support/ipam/faulty-datastore.ts";
import type { IpamWorld } from "../support/ipam/ipam.ts";
import type { TestNetns } from "../support/node/netns.ts";
import { silentLog } from "../support/silent-log.ts";
import { OwnAttachment } from "./support/own-attachment.ts";

const OWN: Json = { ipam: { type: "netplug-ipam" } };
const DELEGATE: Json = { ipam: { type: "a-delegate" } };

let attachment: OwnAttachment;
let world: IpamWorld;
let pod: TestNetns;
/** What the delegate was called with. */
let calls: string[];
beforeEach(async () => {
  attachment = await OwnAttachment.create();
  ({ world, pod } = attachment);
  calls = [];
});
afterEach(() => attachment[Symbol.dispose]());

interface Change {
  readonly plugin?: PluginName;
  readonly ifName?: string;
  readonly host?: Partial<Host>;
}

const processes: Host["processes"] = {
  run: async ({ env }) => {
    calls.push(env["CNI_COMMAND"] ?? "");
    return { status: 0, stdout: '{"cniVersion":"1.1.0","ips":[{"address":"10.88.0.7/24"}]}', stderr: "" };
  },
};

async function call(verb: "ADD" | "DEL", config: Json, { plugin, ifName = "eth0", host = {} }: Change = {}): Promise<CniJson | undefined> {
  return await attachment.call(verb, { policy_setup_timeout_seconds: 0, ...config }, ifName, { processes, ...host }, plugin);
}

async function recorded(): Promise<readonly string[]> {
  const [records] = await world.datastore.read([{ type: "list", kind: "WorkloadEndpoint" }]);
  return records.map(({ value }) => (value.spec as { readonly endpoint: string }).endpoint).sort();
}

/** A kernel that takes no request. */
const deaf = (): Change => ({
  host: {
    kernel: {
      ...realHost().kernel,
      openRouteSocket: () => {
        throw new NetplugError("ioFailure", "test: no socket");
      },
    },
  },
});

test("an interface that the kernel does not take away keeps the address that we gave, and the DEL fails", async () => {
  await call("ADD", OWN);
  expect(await call("DEL", OWN, deaf())).toMatchObject({ code: expect.any(Number), msg: expect.stringContaining("no socket") });
  expect([await recorded(), (await world.blocks()).some((block) => block.includes(" 1/"))]).toEqual([["eth0"], true]);
  expect(await call("DEL", OWN)).toBeUndefined();
  expect([await recorded(), pod.link("eth0")]).toEqual([[], undefined]);
});

test("it keeps what a delegate gave, too: that is told to release it when the interface is gone", async () => {
  await call("ADD", DELEGATE);
  expect(await call("DEL", DELEGATE, deaf())).toMatchObject({ msg: expect.stringContaining("no socket") });
  expect([calls, await recorded()]).toEqual([["ADD"], ["eth0"]]);
  expect(await call("DEL", DELEGATE)).toBeUndefined();
  expect([calls, await recorded()]).toEqual([["ADD", "DEL"], []]);
});

test("an interface that stands is told also where the datastore cannot even be opened", async () => {
  await call("ADD", DELEGATE);
  const { host } = deaf();
  const openDatastore = (): never => {
    throw new NetplugError("invalidConfig", "test: no datastore");
  };
  const reply = await call("DEL", DELEGATE, { host: { ...host, openDatastore } });
  expect(reply?.msg).toContain("no datastore");
  expect(`${reply?.msg} ${reply?.details}`).toContain("no socket");
  expect([calls, pod.link("eth0")?.ifname]).toEqual([["ADD"], "eth0"]);
});

test("what fails after netplug-ipam has answered takes nothing back of the answer", async () => {
  const answers: string[] = [];
  const { files } = realHost();
  const fail = (): never => {
    throw new Error("test: it fails");
  };
  const host: Partial<Host> = {
    // Notes, and the log line that one could not be removed.
    files: { ...files, remove: (path) => (path.includes("/unreleased/") ? fail() : files.remove(path)) },
    openLog: () => ({ ...silentLog, warning: fail }),
    writeAnswer: (answer) => void answers.push(answer),
  };
  await call("ADD", OWN, { plugin: "netplug-ipam", host });
  expect(JSON.parse(answers[0] ?? "")).toMatchObject({ ips: [{ address: expect.any(String) }] });
  expect((await world.blocks()).some((block) => block.includes(" 1/"))).toBe(true);
});

type Deletion = "is unregistered" | "is not begun" | "cannot be looked at";

/** A kernel that is asked to delete an interface, with what happens then in `order`. @param deletion how far it is before anybody waits for it */
function deleting(deletion: Deletion, order: string[]): Host["kernel"] {
  const { kernel } = realHost();
  let isAsked = false;
  const openRouteSocket: Host["kernel"]["openRouteSocket"] = (netns) => {
    if (isAsked && deletion === "cannot be looked at") throw new NetplugError("ioFailure", "test: no socket");
    const socket = kernel.openRouteSocket(netns);
    const start: RouteSocket["start"] = (request) => {
      isAsked = true;
      const outcome = deletion === "is unregistered" ? socket.start(request).finish() : undefined;
      const finish = (): Outcome => {
        order.push("waited for the kernel");
        return outcome ?? socket.start(request).finish();
      };
      return { finish };
    };
    const transact: RouteSocket["transact"] = (requests) => socket.transact(requests);
    return { transact, start, dump: (request) => socket.dump(request), [Symbol.dispose]: () => socket[Symbol.dispose]() };
  };
  return { ...kernel, openRouteSocket };
}

describe.each<[Deletion, readonly string[]]>([
  ["is unregistered", ["released", "waited for the kernel"]],
  ["is not begun", ["waited for the kernel", "released"]],
  ["cannot be looked at", ["waited for the kernel", "released"]],
])("while the deletion of an interface %s", (deletion, want) => {
  const order: string[] = [];
  beforeEach(() => void order.splice(0));
  const host = (): Partial<Host> => ({ kernel: deleting(deletion, order) });

  test(`its address is ${want.join(", then ")}`, async () => {
    await call("ADD", OWN);
    const datastore = changedBefore(world.datastore, "update-block", async () => order.push("released"));
    expect(await call("DEL", OWN, { host: { ...host(), openDatastore: () => datastore } })).toBeUndefined();
    expect([order, await recorded(), pod.link("eth0")]).toEqual([[...want], [], undefined]);
  });

  test(`what a delegate gave is ${want.join(", then ")}`, async () => {
    await call("ADD", DELEGATE);
    const released: Host["processes"] = { run: async (request) => (order.push("released"), await processes.run(request)) };
    expect(await call("DEL", DELEGATE, { host: { ...host(), processes: released } })).toBeUndefined();
    expect([order, calls, pod.link("eth0")]).toEqual([[...want], ["ADD", "DEL"], undefined]);
  });
});

/** A DEL is killed when it sends its commit. @returns lets the commit arrive; whether it was taken */
async function delKilledAtCommit(plugin: PluginName): Promise<() => Promise<boolean>> {
  let sent: readonly Write[] = [];
  const commit: Datastore["commit"] = (writes) => {
    sent = writes;
    return Promise.reject(new Death("killed"));
  };
  await call("DEL", OWN, { plugin, host: { openDatastore: () => ({ ...new FaultyDatastore(world.datastore).datastore, commit }) } });
  expect([sent.length > 0, pod.link("eth0")]).toEqual([true, undefined]);
  return async () => (await world.datastore.commit(sent)).committed;
}

/** What the datastore says the container has. */
async function allocated(): Promise<readonly string[]> {
  const [blocks] = await world.datastore.read([{ type: "all-blocks" }]);
  return blocks.flatMap(({ value }) => value.allocations.map(({ ordinal }) => toAddressText(addressAt(value.cidr, ordinal))));
}

describe.each(["netplug", "netplug-ipam"] as const)("the commit of a DEL of %s that was killed", (plugin) => {
  const records = plugin === "netplug" ? ["eth0"] : [];
  const add = async (host: Partial<Host> = {}): Promise<readonly string[]> => {
    const { ips = [] } = (await call("ADD", OWN, { plugin, host })) ?? {};
    return ips.map(({ address }) => address.replace(/\/.*/, ""));
  };

  test("is refused when the container was added again", async () => {
    await add();
    const arrive = await delKilledAtCommit(plugin);
    const given = await add();
    expect([await arrive(), await allocated(), await recorded()]).toEqual([false, given, records]);
  });

  test("is noticed when it arrives while the container is added again", async () => {
    await add();
    const arrive = await delKilledAtCommit(plugin);
    const arrived: boolean[] = [];
    const datastore = changedBefore(world.datastore, "update-block", async () => arrived.push(await arrive()));
    const given = await add({ openDatastore: () => datastore });
    expect([arrived, given.length, await allocated(), await recorded()]).toEqual([[true], 1, given, records]);
    if (plugin === "netplug") expect(pod.addresses("eth0")).toEqual(given.map((address) => `${address}/32`));
  });
});

/** Somebody else's turn in the pod's namespace. */
function takeTurn(): Disposable {
  const { kernel } = realHost();
  const netns = kernel.openNetns(pod.path);
  if (netns === undefined || !kernel.lockNetns(netns)) throw new Error("the namespace is somebody else's");
  return netns;
}

/** Plays a call that has to wait. @param meanwhile is done while it waits */
async function callInQueue(verb: "ADD" | "DEL", config: Json, meanwhile: () => void | Promise<void>): Promise<CniJson | undefined> {
  const waits = Promise.withResolvers<string>();
  const sleep: Clock["sleep"] = async (...args) => {
    waits.resolve("waits");
    await systemClock.sleep(...args);
  };
  const turn = takeTurn();
  const ending = call(verb, config, { host: { clock: { ...systemClock, sleep } } });
  expect(await Promise.race([waits.promise, ending.then(() => "ended")])).toBe("waits");
  await meanwhile();
  turn[Symbol.dispose]();
  return await ending;
}

test("a DEL lets a call in the same namespace end first", async () => {
  await call("ADD", OWN);
  const reply = await callInQueue("DEL", OWN, () => expect(pod.link("eth0")?.ifname).toBe("eth0"));
  expect([reply, pod.link("eth0"), await recorded()]).toEqual([undefined, undefined, []]);
});

test("an ADD that had to wait goes by what is so after that", async () => {
  const lock = async (): Promise<void> =>
    await world.put("ClusterInformation", "default", { datastoreReady: false, clusterGUID: "0".repeat(32) });
  expect(await callInQueue("ADD", DELEGATE, lock)).toMatchObject({ code: 11 });
  expect(calls).toEqual([]);
});

/** A socket whose last answer of several is lost: the link seems not to be usable yet. */
function unfinished(socket: RouteSocket): RouteSocket {
  return {
    transact(requests) {
      const outcomes = socket.transact(requests);
      return requests.length > 1 ? [...outcomes.slice(0, -1), { replies: [], error: undefined }] : outcomes;
    },
    dump: (request) => socket.dump(request),
    start: (request) => socket.start(request),
    [Symbol.dispose]: () => socket[Symbol.dispose](),
  };
}

test("an ADD whose link is taken away while the kernel finishes it says that it was ended", async () => {
  const { kernel } = realHost();
  let isEnded = false;
  const sleep: Clock["sleep"] = async (ms, ...args) => {
    // Longer ones are deadlines: between looks at the link there are few milliseconds.
    if (isEnded || ms > 16) return await systemClock.sleep(ms, ...args);
    isEnded = true;
    // One that does not wait for the ADD.
    expect(await call("DEL", OWN, { host: { kernel: { ...kernel, lockNetns: () => true } } })).toBeUndefined();
  };
  const openRouteSocket: Host["kernel"]["openRouteSocket"] = (netns) =>
    netns === undefined ? kernel.openRouteSocket() : unfinished(kernel.openRouteSocket(netns));
  const reply = await call("ADD", OWN, { host: { clock: { ...systemClock, sleep }, kernel: { ...kernel, openRouteSocket } } });
  expect(reply).toMatchObject({ code: 11, msg: expect.stringContaining("a DEL or GC has ended it meanwhile") });
  expect([isEnded, pod.link("eth0"), await recorded()]).toEqual([true, undefined, []]);
});

test("of two interfaces of one container each has its own DEL, and each network its own record", async () => {
  await call("ADD", OWN);
  await call("ADD", OWN, { ifName: "net1" });
  expect(await recorded()).toEqual(["eth0", "net1"]);
  expect(await call("DEL", { ...OWN, name: "another" })).toBeUndefined();
  expect([await recorded(), pod.link("eth0")?.ifname]).toEqual([["eth0", "net1"], "eth0"]);
  expect(await call("DEL", OWN)).toBeUndefined();
  expect([await recorded(), pod.link("net1")?.ifname, pod.link("eth0")]).toEqual([["net1"], "net1", undefined]);
  expect(await call("DEL", OWN, { ifName: "net1" })).toBeUndefined();
  expect(await recorded()).toEqual([]);
});
