/** An etcd behind the API server that has no space left: it takes no write until somebody makes room, and says so. */

import { expect } from "bun:test";
import { failureOf } from "../support/failure-of.ts";
import { raiseAlarm } from "../support/servers/etcd-alarm.ts";
import { onApiServer } from "../support/servers/on-api-server.ts";
import { runEtcdctl } from "../support/servers/etcd.ts";
import { durationOf } from "../support/time/duration.ts";
import { add, del } from "./attachments.ts";
import { KubernetesWorld } from "./kubernetes-world.ts";

const [test, world] = onApiServer(() => KubernetesWorld.start());
const { server, pods, admin } = world;

/** Milliseconds: far less than an ADD or a DEL has. */
const SOON_MS = 10_000;

const FULL =
  "the API server answers 500: etcdserver: mvcc: database space exceeded; compact and defragment the API server's etcd, then disarm its alarm";

test("stops ADDs and DELs at once, which say what to do; then both work as before (needs cluster)", async () => {
  await world.initialise({ a: { cidr: "10.65.0.0/26" } });
  const [first, second] = [await pods.create("first"), await pods.create("second")];
  await add(admin, first);
  await raiseAlarm(server.etcdEndpoint, "NOSPACE");
  const took = await durationOf(async () => {
    expect(await failureOf(add(admin, second))).toMatchObject({
      code: 11,
      message: `update ipamblocks.netplug.io "010-065-000-000-26": ${FULL}`,
    });
    expect(await failureOf(del(admin, first))).toMatchObject({ code: 11, message: `patch pods/status "default/first": ${FULL}` });
  });
  expect(took).toBeLessThan(SOON_MS);
  await runEtcdctl([`--endpoints=${server.etcdEndpoint}`, "alarm", "disarm"]);
  expect(await add(admin, second)).toEqual(["10.65.0.1"]);
  expect(await del(admin, first)).toEqual(["10.65.0.0"]);
});
