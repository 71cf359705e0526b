import { expect, test } from "bun:test";
import { CorruptBlock } from "../../api/ipam-block-codec.ts";
import { startDeadline } from "../../lib/deadline.ts";
import { parsePrefix } from "../../lib/ip/prefix.ts";
import { createIpamWorld, NETWORK } from "../../../test/support/ipam/ipam.ts";
import { silentLog } from "../../../test/support/silent-log.ts";
import type { Call } from "../call.ts";
import { parseNetworkConfig } from "../config/parse-network-config.ts";
import { startLedger } from "../ledger.ts";
import { prepare } from "../prepare.ts";
import { readEnvironment } from "../protocol/environment.ts";
import { realHost } from "../real-host.ts";
import { retryWithoutDamaged } from "./retry.ts";

const FAULT = new CorruptBlock({ cidr: parsePrefix("10.65.0.64/26"), node: "n1" }, "it is damaged");

/** An ADD of `netplug-ipam` whose attachment has a record, with an address in no block that can be read. */
async function makeCall(writeAnswer: (text: string) => void): Promise<Call> {
  const world = await createIpamWorld();
  await world.put("WorkloadEndpoint", "own", { node: "n1", containerID: "c1", endpoint: "eth0", ipNetworks: ["10.65.0.65/32"] });
  const { clock } = world;
  const env = { CNI_COMMAND: "ADD", CNI_CONTAINERID: "c1", CNI_NETNS: "/n", CNI_IFNAME: "eth0" };
  const host = { ...realHost(), env, clock, writeAnswer, openDatastore: () => world.datastore };
  const text = JSON.stringify({ cniVersion: "1.1.0", name: NETWORK, nodename: "n1", ipam: { type: "netplug-ipam" } });
  const { config } = parseNetworkConfig(text, "ADD");
  const environment = readEnvironment(env);
  const ledger = startLedger(clock, 0);
  const deadline = startDeadline(clock, 60_000);
  return await prepare("ADD", { plugin: "netplug-ipam", environment, config, host, log: silentLog, ledger, deadline }, undefined);
}

const readRecord = async ({ datastore }: Call): Promise<void> =>
  void (await datastore.read([{ type: "get", ref: { kind: "WorkloadEndpoint", name: "own" } }]));

test("an ADD whose attachment may be in the damaged block answers nothing, and one that has answered fails no more", async () => {
  const answers: string[] = [];
  const add = async (run: (call: Call) => Promise<void>): Promise<void> => {
    const call = await makeCall((text) => void answers.push(text));
    await retryWithoutDamaged("ADD", call, { fault: FAULT, run });
  };
  const tooLate = add(async (call) => {
    await readRecord(call);
    call.host.writeAnswer("found before");
  });
  await expect(tooLate).rejects.toBe(FAULT);
  await add(async (call) => {
    call.host.writeAnswer("found afterwards");
    await readRecord(call);
  });
  expect(answers).toEqual(["found afterwards"]);
});
