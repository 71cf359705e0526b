/** `ipam split` on a real API server, where one pool after another is made: it may be interrupted in between. */

import { beforeEach, expect } from "bun:test";
import { shareKubernetesCliWorld } from "../support/cli/kubernetes-cli-world.ts";
import type { Datastore, Write } from "../../src/datastore/datastore.ts";

const [test, world] = shareKubernetesCliWorld(async (world) => void (await world.done(["init"])));

const setReady = (isReady: boolean): Promise<string> =>
  world.done(["patch", "clusterinfo", "default", "-p", JSON.stringify({ spec: { datastoreReady: isReady } })]);

beforeEach(async () => {
  await world.api.kubectl(["delete", "ippools", "--all"]);
  await world.createPool("pods", "10.65.0.0/24", { nodeSelector: "rack == 'r2'" });
  await setReady(false);
});

/** As if the command was killed after these of its writes: when that is cannot be chosen from outside. */
function killedAfter(datastore: Datastore, isDone: (write: Write) => boolean): Datastore {
  return new Proxy(datastore, {
    get: (target, key) => {
      if (key === "commit")
        return async (writes: readonly Write[]) => {
          await target.commit(writes.filter(isDone));
          throw new Error("killed");
        };
      const value = Reflect.get(target, key) as unknown;
      return typeof value === "function" ? (value.bind(target) as unknown) : value;
    },
  });
}

const creates = (...names: readonly string[]): ((write: Write) => boolean) => {
  return (write) => write.op === "create" && names.includes(write.resource.metadata.name);
};

test("one that was interrupted is finished by the same command, and by no other (needs cluster)", async () => {
  const split = (parts: number) => ["ipam", "split", `${parts}`, "--name=pods"];
  const isDone = creates("split-pods-0", "split-pods-2");
  expect((await world.ctl(split(4), { instead: (datastore) => killedAfter(datastore, isDone) })).status).toBe(1);
  expect(await world.ctl(split(2))).toEqual({
    status: 1,
    stdout: "",
    stderr:
      'netplugctl: split pool "pods": ippool "split-pods-0" exists (10.65.0.0/26), and is not what this split makes\n' +
      "next: netplugctl get ippool split-pods-0\n",
  });
  expect(await world.done(split(4))).toStartWith(
    "ippool/split-pods-0 exists (10.65.0.0/26)\nippool/split-pods-1 created (10.65.0.64/26)\n" +
      "ippool/split-pods-2 exists (10.65.0.128/26)\nippool/split-pods-3 created (10.65.0.192/26)\nippool/pods deleted\n",
  );
  expect(await world.done(["ipam", "check"])).toBe("checked 4 pools, 0 blocks, 0 allocations, 0 endpoints\nfound 0 problems\n");
});
