/** `delete ippool` on a real API server: what becomes of the pool's blocks. */

import { beforeEach, expect } from "bun:test";
import { readIpamProblems } from "../support/cli/ipam-report.ts";
import { shareKubernetesCliWorld } from "../support/cli/kubernetes-cli-world.ts";
import { type Given, giveAddress } from "../support/cli/pod-addresses.ts";
import { createNamespace, createNode } from "../support/servers/kubernetes.ts";

const [test, world] = shareKubernetesCliWorld(async (world) => {
  await world.done(["init"]);
  await createNamespace(world.api, "prod");
  for (const node of ["n1", "n2"]) await createNode(world.api, node, []);
});

beforeEach(async () => {
  await world.api.kubectl(["delete", "ippools,ipamblocks", "--all"]);
  await world.createPool("pods", "10.65.0.0/24");
});

const give = (...args: Given): Promise<string> => giveAddress(world, ...args);

interface BlockObject {
  readonly metadata: { readonly name: string };
  readonly spec: Readonly<Record<string, unknown>>;
}

const readBlocks = async (): Promise<readonly BlockObject[]> => (await world.read<{ items: readonly BlockObject[] }>("ipamblocks")).items;

test("of a pool in use empty blocks go, the others stay with their workloads (needs cluster)", async () => {
  const ip = await give("web-0", "n1", "10.65.0.7");
  const other = await give("web-1", "n2", "10.65.0.70");
  await world.done(["ipam", "release", `--ip=${other}`]);
  const text = await world.done(["delete", "ippool", "pods"]);
  expect(text).toBe(
    "ippool/pods deleted; 1 empty block released; 1 block with 1 address in use stays; once it is empty, create the pool again and delete it\n",
  );
  expect((await readBlocks()).map(({ spec }) => spec["cidr"])).toEqual(["10.65.0.0/26"]);
  await world.done(["ipam", "release", `--ip=${ip}`]);
});

test("a pool goes although another program's finalizer keeps an empty block of it for a while (needs cluster)", async () => {
  await world.done(["ipam", "release", `--ip=${await give("web-0", "n1", "10.65.0.7")}`]);
  const [block] = await readBlocks();
  const setFinalizers = async (finalizers: readonly string[]): Promise<void> => {
    const patch = JSON.stringify({ metadata: { finalizers } });
    await world.api.kubectl(["patch", "ipamblock", block?.metadata.name ?? "", "--type=merge", "-p", patch]);
  };
  await setFinalizers(["example.com/kept"]);
  expect(await world.done(["delete", "ippool", "pods"])).toBe("ippool/pods deleted; 1 empty block released\n");
  expect(await readIpamProblems(world)).toEqual([expect.stringMatching(/^corrupt-block 10\.65\.0\.0\/26: .*somebody deleted it/)]);
  await setFinalizers([]);
  expect(await readBlocks()).toEqual([]);
});
