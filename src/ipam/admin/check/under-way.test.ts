import { describe, expect, test } from "bun:test";
import { createIpamWorld, idOf, type IpamWorld, requestFor } from "../../../../test/support/ipam/ipam.ts";
import { REPORTED_ADDRESSES } from "../../../api/reported-addresses.ts";
import { API_VERSION, type Resource } from "../../../api/resource.ts";
import type { Datastore } from "../../../datastore/datastore.ts";
import { inFrontOf } from "../../../datastore/in-front-of.ts";
import { parseAddress, toAddressText } from "../../../lib/ip/address.ts";
import { allocate } from "../../allocate.ts";
import { checkConsistency } from "./check.ts";

const ALL_PAUSES = [2_000, 4_000, 6_000, 8_000];

/** A world in which records are pods, as on Kubernetes. */
async function createWorldOfPods(): Promise<{ readonly world: IpamWorld; readonly datastore: Datastore }> {
  const world = await createIpamWorld();
  await world.putPool("a", "10.65.0.0/24");
  return { world, datastore: { ...inFrontOf(world.datastore, {}), traits: { ...world.datastore.traits, recordsArePods: true } } };
}

/** A pod with its sandbox, by its kubelet, on `n1`. */
function podOf(pod: string, recorded: readonly string[], reported: readonly string[], containerID = `c-${pod}`): Resource {
  const annotations = reported.length === 0 ? {} : { [REPORTED_ADDRESSES]: reported.join(",") };
  const spec = { orchestrator: "k8s", node: "n1", endpoint: "eth0", containerID, pod, ipNetworks: recorded };
  return {
    apiVersion: API_VERSION,
    kind: "WorkloadEndpoint",
    metadata: { name: `n1-k8s-${pod}-eth0`, namespace: "prod", annotations },
    spec,
  };
}

const endOf = (pod: string) =>
  ({ op: "delete", ref: { kind: "WorkloadEndpoint", name: `n1-k8s-${pod}-eth0`, namespace: "prod" } }) as const;

/** The first write of an ADD. @returns the address */
async function give(world: IpamWorld, pod: string, ...asked: readonly string[]): Promise<string> {
  const { owner } = requestFor(`c-${pod}`, "n1");
  const named = { ...owner, ...idOf(`c-${pod}`), pod, namespace: "prod", endpoint: `n1-k8s-${pod}-eth0` };
  const addresses = asked.map((text) => parseAddress(text));
  const [given] = await allocate(world.ports, requestFor(`c-${pod}`, "n1", { owner: named, addresses }));
  return given === undefined ? "" : toAddressText(given.address);
}

/**
 * What a check finds, and its pauses; during each of them the clock moves on, and `onPause` is called.
 *
 * @param skewMs by how much our clock is behind that of the nodes
 */
async function check(
  { world, datastore }: { readonly world: IpamWorld; readonly datastore: Datastore },
  onPause: (nth: number) => Promise<unknown> = () => Promise.resolve(),
  skewMs = 0,
): Promise<{ readonly problems: readonly string[]; readonly pauses: readonly number[] }> {
  const pauses: number[] = [];
  const sleep = async (ms: number): Promise<void> => {
    await onPause(pauses.push(ms));
    await world.clock.advance(ms);
  };
  const { problems } = await checkConsistency(datastore, { now: () => world.clock.now() - skewMs, sleep });
  return { problems: problems.map((problem) => `${problem.class} ${problem.object}`), pauses };
}

describe("a check of pods", () => {
  test("does not call an address in use whose pod has ended, however late a kubelet under load says so", async () => {
    const pods = await createWorldOfPods();
    const ip = await give(pods.world, "job");
    await pods.world.datastore.commit([{ op: "create", resource: podOf("job", [], [ip]) }]);
    await pods.world.del("c-job", "n1");
    const end = (nth: number) => (nth === 3 ? pods.world.datastore.commit([endOf("job")]) : Promise.resolve());
    expect(await check(pods, end)).toEqual({ problems: [], pauses: [2_000, 4_000, 6_000] });
  });

  test("does not call it used twice either, when another pod has it already", async () => {
    const pods = await createWorldOfPods();
    await pods.world.putPool("a", "10.65.0.0/31", { blockSize: 31 });
    const ip = await give(pods.world, "job");
    await give(pods.world, "other");
    await pods.world.datastore.commit([{ op: "create", resource: podOf("job", [], [ip]) }]);
    await pods.world.datastore.commit([{ op: "create", resource: podOf("other", ["10.65.0.1/32"], []) }]);
    await pods.world.del("c-job", "n1");
    expect(await give(pods.world, "next")).toBe(ip);
    await pods.world.datastore.commit([{ op: "create", resource: podOf("next", [`${ip}/32`], []) }]);
    const end = (nth: number) => (nth === 2 ? pods.world.datastore.commit([endOf("job")]) : Promise.resolve());
    expect(await check(pods, end)).toEqual({ problems: [], pauses: [2_000, 4_000] });
  });

  test.each([
    ["was released a moment ago", 0, 0, ALL_PAUSES],
    ["was released 17 s ago", 17_000, 0, [2_000, 4_000]],
    ["was released long ago", 20_000, 0, [2_000]],
    ["was released a moment ago, by a node whose clock is 10 s ahead", 0, 10_000, ALL_PAUSES],
    ["was released a moment ago, by a node whose clock is an hour ahead", 0, 3_600_000, [2_000]],
  ])("finds the address of a pod that runs for its kubelet, and which %s", async (_when, agoMs, skewMs, pauses) => {
    const pods = await createWorldOfPods();
    const ip = await give(pods.world, "web");
    await pods.world.datastore.commit([{ op: "create", resource: podOf("web", [], [ip]) }]);
    await pods.world.del("c-web", "n1");
    await pods.world.clock.advance(agoMs);
    expect(await check(pods, undefined, skewMs)).toEqual({ problems: [`unallocated-in-use ${ip}`], pauses });
  });

  test("does not take an address for leaked whose ADD is about to record it, however long that takes", async () => {
    const pods = await createWorldOfPods();
    const ip = await give(pods.world, "web");
    const record = (nth: number) =>
      nth === 2 ? pods.world.datastore.commit([{ op: "create", resource: podOf("web", [`${ip}/32`], []) }]) : Promise.resolve();
    expect(await check(pods, record)).toEqual({ problems: [], pauses: [2_000, 4_000] });
  });

  test("does not say that a pod has the record of another container while its ADD replaces the one that it brought along", async () => {
    const pods = await createWorldOfPods();
    const ip = await give(pods.world, "web");
    const [own, brought] = [podOf("web", [`${ip}/32`], []), podOf("web", [`${ip}/32`], [], "c-old")];
    const put = async (resource: Resource): Promise<void> => {
      await pods.world.datastore.commit([endOf("web")]);
      await pods.world.datastore.commit([{ op: "create", resource }]);
    };
    await pods.world.datastore.commit([{ op: "create", resource: brought }]);
    const record = (nth: number) => (nth === 2 ? put(own) : Promise.resolve());
    expect(await check(pods, record)).toEqual({ problems: [], pauses: [2_000, 4_000] });
    await put(brought);
    await pods.world.clock.advance(20_000);
    expect(await check(pods)).toEqual({ problems: [`unrecorded-in-use ${ip}`], pauses: [] });
  });

  test("takes it for leaked when it is not recorded later, and at once when it was given long ago", async () => {
    const pods = await createWorldOfPods();
    const ip = await give(pods.world, "web");
    expect(await check(pods)).toEqual({ problems: [`leaked-address ${ip}`], pauses: ALL_PAUSES });
    expect(await check(pods)).toEqual({ problems: [`leaked-address ${ip}`], pauses: [] });
  });

  test("does not take one pod for another that has the address in its turn", async () => {
    const pods = await createWorldOfPods();
    const job = (name: string): Resource => podOf(name, [], ["10.65.0.9"]);
    await pods.world.datastore.commit([{ op: "create", resource: job("job-1") }]);
    const turn = () => pods.world.datastore.commit([endOf("job-1"), { op: "create", resource: job("job-2") }]);
    expect(await check(pods, turn)).toEqual({ problems: [], pauses: [2_000] });
  });

  test("does not take them for each other either when the address is that of a third one, which has it all the time", async () => {
    const pods = await createWorldOfPods();
    const { world } = pods;
    const ip = await give(world, "web");
    const created = [podOf("web", [`${ip}/32`], []), podOf("job-1", [], [ip])];
    await world.datastore.commit(created.map((resource) => ({ op: "create", resource })));
    await world.clock.advance(20_000);
    const turn = () => world.datastore.commit([endOf("job-1"), { op: "create", resource: podOf("job-2", [], [ip]) }]);
    expect(await check(pods, turn)).toEqual({ problems: [], pauses: [2_000] });
  });

  test("finds two pods with one address, also when a third one that seems to have it ends meanwhile", async () => {
    const pods = await createWorldOfPods();
    const { world } = pods;
    const ip = await give(world, "web");
    const created = [podOf("web", [`${ip}/32`], []), podOf("other", [`${ip}/32`], []), podOf("job", [], [ip])];
    await world.datastore.commit(created.map((resource) => ({ op: "create", resource })));
    await world.clock.advance(20_000);
    const end = () => world.datastore.commit([endOf("job")]);
    expect(await check(pods, end)).toEqual({ problems: [`duplicate-address ${ip}`], pauses: [2_000] });
  });

  test("finds a pod with an address that is not its own, also when another one gets that meanwhile", async () => {
    const pods = await createWorldOfPods();
    const { world } = pods;
    const ip = "10.65.0.9";
    await world.datastore.commit([{ op: "create", resource: podOf("web", [], [ip]) }]);
    const giveAway = async (nth: number): Promise<void> => {
      if (nth > 1) return;
      await give(world, "next", ip);
      await world.datastore.commit([{ op: "create", resource: podOf("next", [`${ip}/32`], []) }]);
    };
    expect(await check(pods, giveAway)).toEqual({ problems: [`duplicate-address ${ip}`], pauses: ALL_PAUSES });
  });
});
