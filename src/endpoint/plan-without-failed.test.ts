/** Beside the outcomes and writes: what a plan tells of its ADDs where one of them fails once it has its address. */

import { expect, test } from "bun:test";
import { attachmentRequest } from "../../test/support/calls/attachment-request.ts";
import { createIpamWorld, type IpamWorld, requestFor } from "../../test/support/ipam/ipam.ts";
import type { AddressRequest } from "../ipam/request.ts";
import { transact } from "../ipam/transact/transact.ts";
import { parseAddress } from "../lib/ip/address.ts";
import { type AddPlan, addQueries, type AddRequest, planAdds } from "./plan-add.ts";

const NODE = "n1";

function addOf(containerID: string, mtu = 1500): AddRequest {
  const attachment = attachmentRequest(NODE, { containerID, ifName: "eth0", pod: undefined }, { mtu });
  return { attachment, ipam: requestFor(containerID, NODE, { families: [6] }) };
}

/** IPv6 needs more. */
const failsLate = addOf("c1", 1200);

async function planOf(world: IpamWorld, requests: readonly AddRequest[], queued: readonly AddressRequest[] = []): Promise<AddPlan> {
  return await transact(world.ports, addQueries(requests), (facts, attempt) => ({
    writes: [],
    result: planAdds(requests, facts, { ...attempt, queued: () => queued }),
  }));
}

/** With blocks of two addresses. */
async function createWorld(): Promise<IpamWorld> {
  const world = await createIpamWorld();
  await world.putPool("a", "fd65::/120", { blockSize: 127 });
  return world;
}

test("others in the queue get the address that the failed ADD does not keep", async () => {
  const world = await createWorld();
  const queued = [requestFor("q1", NODE, { families: [6] }), requestFor("q2", NODE, { families: [6] })];
  const plan = await planOf(world, [failsLate, addOf("c2")], queued);
  expect(plan.served).toEqual(queued.slice(0, 1));
  await world.datastore.commit(plan.writes);
  expect(await world.blocks()).toEqual([expect.stringMatching(/^fd65::\S+ n1 2\/2$/)]);
});

test("what the next request should read goes by what the blocks hold without the failed ADD", async () => {
  const world = await createWorld();
  expect((await planOf(world, [failsLate, addOf("c2")])).prefetch).toEqual([]);
  expect((await planOf(world, [addOf("c1"), addOf("c2")])).prefetch).not.toEqual([]);
});

test("what the log should be told is told, although only the failed ADD wanted an address of ours", async () => {
  const world = await createWorld();
  await world.put("IPReservation", "r", { reservedCIDRs: ["x"] });
  const ofDelegate: AddRequest = { attachment: addOf("c2").attachment, delegated: [parseAddress("192.0.2.7")] };
  const plan = await planOf(world, [failsLate, ofDelegate]);
  expect(plan.outcomes.map((outcome) => "error" in outcome)).toEqual([true, false]);
  expect([...plan.defects]).toEqual([expect.stringContaining('ipreservation "r": "x"')]);
});
