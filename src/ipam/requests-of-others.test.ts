import { describe, expect, test } from "bun:test";
import { createIpamWorld, type IpamWorld, requestFor } from "../../test/support/ipam/ipam.ts";
import { type AllocationPlan, allocationQueries, planAllocation } from "./plan-allocation.ts";
import type { AddressRequest } from "./request.ts";
import { readFacts, transact } from "./transact/transact.ts";

describe("requests of others in the queue", () => {
  const planWith = async (world: IpamWorld, own: AddressRequest, queued: readonly AddressRequest[]): Promise<AllocationPlan> =>
    planAllocation([own], await readFacts(world.ports, allocationQueries([own])), { now: 1, salt: 0n, queued: () => queued });

  test("are served in the block that is written anyway; those that cannot be are left out, and spoil nothing", async () => {
    const world = await createIpamWorld();
    await world.putPool("a", "10.65.0.0/24", { blockSize: 30 });
    await world.putPool("b", "10.66.0.0/24");
    for (const name of ["x1", "x2"]) await world.add(name, "n1", { pools: { 4: ["a"] } });
    await world.add("x3", "n1", { pools: { 4: ["b"] } });
    const unknown = requestFor("c2", "n1", { pools: { 4: ["nope"] } });
    const inAnotherBlock = requestFor("c3", "n1", { pools: { 4: ["b"] } });
    const twoFamilies = requestFor("c4", "n1", { families: [4, 6] });
    const fits = requestFor("c5", "n1");
    const tooMany = requestFor("c6", "n1");
    const plan = await planWith(world, requestFor("c1", "n1"), [unknown, inAnotherBlock, twoFamilies, fits, tooMany]);
    expect(plan.served).toEqual([fits]);
    expect(plan.outcomes).toHaveLength(1);
    expect(plan.writes.filter(({ op }) => op !== "expect")).toHaveLength(1);
    await world.datastore.commit(plan.writes);
    expect(await world.blocks()).toEqual([expect.stringContaining("/30 n1 4/4"), expect.stringContaining("/26 n1 1/64")]);
    // Each finds its own.
    const before = world.datastore.requests.roundTrips;
    expect(await world.add("c5", "n1")).toHaveLength(1);
    expect(world.datastore.requests.roundTrips - before).toBe(1);
  });

  test("get addresses only of pools that select their pods, whatever the pod of the one that serves them", async () => {
    const world = await createIpamWorld();
    await world.putPool("mail", "10.65.0.0/24", { podSelector: 'app == "mail"' });
    await world.putPool("rest", "10.66.0.0/24", { podSelector: 'app != "mail"' });
    const asked = (name: string, app: string): AddressRequest => requestFor(name, "n1", { podLabels: { app } });
    for (const app of ["mail", "web"]) await world.add(app, "n1", { podLabels: { app } });
    const [mail, web] = [asked("c2", "mail"), asked("c3", "web")];
    expect((await planWith(world, asked("c1", "mail"), [mail, web])).served).toEqual([mail]);
    expect((await planWith(world, asked("c1", "web"), [mail, web])).served).toEqual([web]);
  });

  test("get an address of their own each where all are borrowed", async () => {
    const world = await createIpamWorld();
    await world.putPool("a", "10.65.0.0/29", { blockSize: 29 });
    await world.add("c1", "n2");
    for (const [own, ...names] of [
      ["c0", "c2", "c2"],
      ["c1", "c3", "c4"],
    ] as const) {
      const others = names.map((name) => requestFor(name, "n1"));
      const served = await transact(world.ports, allocationQueries([requestFor(own, "n1")]), (facts, attempt) => {
        const plan = planAllocation([requestFor(own, "n1")], facts, { ...attempt, queued: () => others });
        return { writes: plan.writes, result: plan.served };
      });
      expect(served).toEqual(others);
    }
    expect(await world.blocks()).toEqual(["10.65.0.0/29 n2 6/8"]);
  });

  test("are not looked at by a request that writes nothing", async () => {
    const world = await createIpamWorld();
    await world.putPool("a", "10.65.0.0/24");
    await world.add("c1", "n1");
    expect(await planWith(world, requestFor("c1", "n1"), [requestFor("c2", "n1")])).toMatchObject({ writes: [], served: [] });
  });

  test("the same one twice gets one address; the pools of all must stay as they are", async () => {
    const world = await createIpamWorld();
    await world.putPool("a", "10.65.0.0/24");
    await world.add("c0", "n1");
    const plan = await planWith(world, requestFor("c1", "n1"), [requestFor("c2", "n1"), requestFor("c2", "n1")]);
    expect(plan.served).toHaveLength(2);
    expect(plan.writes.flatMap((write) => (write.op === "expect" ? [write.ref.kind] : []))).toEqual(["ClusterInformation", "IPPool"]);
    await world.datastore.commit(plan.writes);
    expect(await world.blocks()).toEqual([expect.stringContaining(" n1 3/64")]);
  });
});
