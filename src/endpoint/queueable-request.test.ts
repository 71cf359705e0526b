/** What others may give an attachment while its ADD waits. */

import { expect, test } from "bun:test";
import { addAll } from "../../test/support/calls/add-all.ts";
import { attachmentRequest } from "../../test/support/calls/attachment-request.ts";
import { createIpamWorld, type IpamWorld, requestFor } from "../../test/support/ipam/ipam.ts";
import { allocate } from "../ipam/allocate.ts";
import type { AddressRequest } from "../ipam/request.ts";
import { readFacts } from "../ipam/transact/transact.ts";
import { parseAddress } from "../lib/ip/address.ts";
import { addQueries, type AddRequest, toQueueableRequest } from "./plan-add.ts";

const NODE = "n1";

function request(containerID: string, ipam: Partial<AddressRequest> = {}): AddRequest {
  return {
    attachment: attachmentRequest(NODE, { containerID, ifName: "eth0", pod: undefined }),
    ipam: requestFor(containerID, NODE, ipam),
  };
}

const wanted = request("c1");
const named = request("c1", { addresses: [parseAddress("10.65.0.7")] });
const delegated: AddRequest = { attachment: wanted.attachment, delegated: [parseAddress("192.0.2.7")] };

/** A world in which these ADDs are done. */
async function worldAfter(before: readonly AddRequest[]): Promise<IpamWorld> {
  const world = await createIpamWorld();
  await world.putPool("a", "10.65.0.0/24");
  for (const one of before) await addAll(world.ports, [one]);
  return world;
}

test.each<[what: string, before: readonly AddRequest[], asked: AddRequest, isGiven: boolean]>([
  ["is what is asked for by an attachment that nobody knows", [request("c2")], wanted, true],
  ["is nothing for an address that is named", [], named, false],
  ["is nothing for a delegate's addresses", [], delegated, false],
  ["is nothing for an attachment that has an address", [wanted], wanted, false],
  ["is nothing for an attachment that has a record", [delegated], wanted, false],
])("the request for the queue %s", async (_what, before, asked, isGiven) => {
  const world = await worldAfter(before);
  const facts = await readFacts(world.ports, addQueries([asked]));
  expect(toQueueableRequest(asked, facts)).toEqual(isGiven && "ipam" in asked ? asked.ipam : undefined);
});

test("the request for the queue is nothing for an attachment that has an address, but no record", async () => {
  const world = await worldAfter([]);
  await allocate(world.ports, requestFor("c1", NODE));
  expect(toQueueableRequest(wanted, await readFacts(world.ports, addQueries([wanted])))).toBeUndefined();
});

test("the request for the queue is nothing while it is not known whether the attachment has an address", async () => {
  const world = await worldAfter([]);
  expect(toQueueableRequest(wanted, await readFacts(world.ports, []))).toBeUndefined();
});
