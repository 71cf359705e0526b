/** While etcd has raised an alarm it takes no commit and answers reads: whoever wants to commit soon can know before. */

import { describe, expect, test } from "bun:test";
import type { Datastore } from "../../src/datastore/datastore.ts";
import type { RequestLimits } from "../../src/datastore/etcd/client/client.ts";
import type { NetplugError } from "../../src/lib/errors.ts";
import { OutcomeUnknown } from "../../src/datastore/outcome-unknown.ts";
import { connectTcp } from "../../src/linux/tcp.ts";
import { type EtcdServer, startEtcd } from "../support/servers/etcd.ts";
import { type Alarm, ALARMS, raiseAlarm } from "../support/servers/etcd-alarm.ts";
import { openEtcd } from "./open-etcd.ts";
import { poolRef } from "./resources.ts";
import { failureOf } from "../support/failure-of.ts";
import { create, namesIn } from "./steps.ts";
import { AS_ROOT, PASSWORD, switchUsersOn } from "./users.ts";

const ADVICE: Record<Alarm, string> = {
  NOSPACE: "compact and defragment etcd, then disarm its alarm",
  CORRUPT: "its members do not have the same data; replace those that are wrong, then disarm the alarm",
};

const WAYS = [
  ["the gateway over fetch", {}, []],
  ["the gateway over sockets of our own", { connect: connectTcp }, []],
  ["gRPC", {}, ["--enable-grpc-gateway=false"]],
] as const;

/** For an answer that is asked for again and again; long enough for those that come. */
const PATIENT_ENOUGH: RequestLimits = { requestMs: 3_000, tryMs: 3_000 };

const CASES = WAYS.flatMap(([way, ports, args]) => ALARMS.map((alarm) => [alarm, way, ports, args] as const));

/** How many proposals the server has committed. */
async function proposalsOf({ endpoint }: EtcdServer): Promise<string | undefined> {
  const metrics = await (await fetch(`${endpoint}/metrics`)).text();
  return /^etcd_server_proposals_committed_total (.*)$/m.exec(metrics)?.[1];
}

/** What somebody asks who wants to commit soon. */
async function askBeforeCommit(datastore: Datastore): Promise<NetplugError | undefined> {
  return await datastore.probeCommit({ type: "get", ref: poolRef("a") }, { targets: ["blocks"], isThorough: true });
}

describe.concurrent("an alarm", () => {
  test.each(CASES)("%s is told over %s, before a commit and by it, and reads go on", async (alarm, _way, ports, args) => {
    await using server = await startEtcd({ quick: true, args });
    const datastore = openEtcd({ endpoints: [server.endpoint] }, ports);
    await create(datastore, "a");
    await askBeforeCommit(datastore);
    await raiseAlarm(server.endpoint, alarm);

    expect(await failureOf(askBeforeCommit(datastore))).toMatchObject({
      kind: "tryAgainLater",
      message: `commit to etcd: its alarm ${alarm} is raised, it takes no commit; ${ADVICE[alarm]}`,
    });
    const refused = await failureOf(create(datastore, "b"));
    expect(refused).toMatchObject({
      kind: "tryAgainLater",
      message: expect.stringMatching(new RegExp(`^commit to etcd: .*; ${ADVICE[alarm]}$`)),
    });
    expect(refused).not.toBeInstanceOf(OutcomeUnknown);
    expect(await namesIn(datastore)).toEqual(["a"]);

    await server.ctl(["alarm", "disarm"]);
    await askBeforeCommit(datastore);
    await create(datastore, "c");
    expect(await namesIn(datastore)).toEqual(["a", "c"]);
    datastore.close();
  });

  // etcd 3.6 shows its status to root alone, and a list of alarms is a proposal
  test.each(CASES)(
    "%s is told over %s to a user who may see the status, and nobody proposes anything",
    async (alarm, _way, ports, args) => {
      await using server = await startEtcd({ quick: true, args });
      await switchUsersOn(server);
      await raiseAlarm(server.endpoint, alarm);
      const datastore = openEtcd({ endpoints: [server.endpoint], username: "netplug", password: PASSWORD }, ports);
      await namesIn(datastore); // logs in, which is a proposal
      const asUser = ["--user=netplug", `--password=${PASSWORD}`];
      const maySee = await server.ctl(["endpoint", "status"], asUser).then(
        () => true,
        () => false,
      );
      const before = await proposalsOf(server);
      const told = await askBeforeCommit(datastore).then(
        () => "nothing",
        (thrown: Error) => thrown.message,
      );
      expect(await proposalsOf(server)).toBe(before);
      expect(told).toStartWith(maySee ? `commit to etcd: its alarm ${alarm} is raised` : "nothing");
      await server.ctl(["alarm", "disarm"], AS_ROOT);
      await askBeforeCommit(datastore);
      datastore.close();
    },
  );

  // Alone: the proxy shares a thread with those who wait for it, and an answer that takes longer than three seconds counts as none.
  test.serial.each([
    ["lets nobody ask", () => Response.json({ error: "no", message: "etcdserver: permission denied", code: 7 }, { status: 403 })],
    ["answers in no way that we know", () => new Response("<html>")],
    ["tells of other errors only", () => Response.json({ errors: ["etcdserver: no leader", "alarm:NEW "] })],
  ])("stays unknown, and reads go on, where a proxy before etcd %s", async (_what, answer) => {
    await using server = await startEtcd({ quick: true });
    await raiseAlarm(server.endpoint, "NOSPACE");
    using proxy = Bun.serve({
      hostname: "127.0.0.1",
      port: 0,
      fetch(request) {
        const { pathname } = new URL(request.url);
        return pathname.startsWith("/v3/maintenance/") ? answer() : fetch(server.endpoint + pathname, request);
      },
    });
    const datastore = openEtcd({ endpoints: [`http://127.0.0.1:${proxy.port}`] }, { limits: PATIENT_ENOUGH });
    expect(await askBeforeCommit(datastore)).toBeUndefined();
    datastore.close();
  });
});
