import { expect, test } from "bun:test";
import { addAll } from "../../test/support/calls/add-all.ts";
import { attachmentRequest } from "../../test/support/calls/attachment-request.ts";
import { createIpamWorld, requestFor } from "../../test/support/ipam/ipam.ts";
import { addressQueries, planReleaseAt } from "../ipam/plan-release-at.ts";
import { transact } from "../ipam/transact/transact.ts";
import { parseAddress, toAddressText } from "../lib/ip/address.ts";
import type { AddRequest } from "./plan-add.ts";

test("a repeated ADD of which one address was released, and given away, gets the other, and another", async () => {
  const world = await createIpamWorld();
  await world.putPool("a", "10.65.0.0/24");
  await world.putPool("b", "fd65::/112");
  const request: AddRequest = {
    attachment: attachmentRequest("n1", { containerID: "c1", ifName: "eth0", pod: undefined }),
    ipam: requestFor("c1", "n1", { families: [4, 6] }),
  };
  const add = async (): Promise<readonly string[]> => {
    const outcomes = await addAll(world.ports, [request]);
    return outcomes.flatMap((outcome) => ("error" in outcome ? [outcome.error.message] : outcome.addresses.map(toAddressText)));
  };
  const [v4 = "", v6 = ""] = await add();
  const lost = [parseAddress(v6)];
  await transact(world.ports, addressQueries(lost), (facts, { now }) => ({
    writes: planReleaseAt(lost, () => true, facts, now).writes,
    result: undefined,
  }));
  await world.add("c2", "n1", { addresses: lost });
  expect(await add()).toEqual([v4, expect.stringMatching(/^fd65::/)]);
  expect(await add()).not.toContain(v6);
});
