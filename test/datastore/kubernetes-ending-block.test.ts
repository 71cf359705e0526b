/** A block that somebody deleted, while another program's finalizer keeps it. */

import { expect } from "bun:test";
import { onApiServer } from "../support/servers/on-api-server.ts";
import { add, type Container, del } from "./attachments.ts";
import { KubernetesWorld } from "./kubernetes-world.ts";

const [test, world] = onApiServer(() => KubernetesWorld.start());
const { server, pods, admin } = world;

const containerOf = async (pod: string): Promise<Container> => {
  await pods.create(pod);
  return { node: "n1", pod, id: `c-${pod}` };
};

test("is neither written nor given from; a DEL in it succeeds, for what it has ends with it (needs cluster)", async () => {
  await world.initialise({ a: { cidr: "10.65.0.0/25" } });
  const [first, second] = [await containerOf("web-0"), await containerOf("web-1")];
  const given = await add(admin, first);
  const block = await server.kubectl(["get", "ipamblocks", "-o", "name"]);
  const kept = JSON.stringify({ metadata: { finalizers: ["example.com/kept"] } });
  await server.kubectl(["patch", block.trim(), "--type=merge", "-p", kept]);
  await server.kubectl(["delete", block.trim(), "--wait=false"]);
  const read = (): Promise<string> => server.kubectl(["get", block.trim(), "-o", "json"]);
  const before = await read();
  expect([given, await add(admin, second)].flat().sort()).toEqual(["10.65.0.0", "10.65.0.64"]);
  expect(await del(admin, first)).toEqual([]);
  expect(await pods.addressesOf("web-0")).toBe("");
  expect(await read()).toBe(before);
});
