/** Three members, of which some die, stand still or are cut off. */

import { describe, expect, test } from "bun:test";
import { REQUEST_LIMITS } from "../../src/datastore/etcd/client/client.ts";
import { OutcomeUnknown } from "../../src/datastore/outcome-unknown.ts";
import type { EtcdServer } from "../support/servers/etcd.ts";
import { startEtcd, startEtcdCluster } from "../support/servers/etcd.ts";
import { freePorts } from "../support/servers/free-ports.ts";
import { startIsolatedMember } from "./isolated-member.ts";
import { inGivenOrder, openEtcd } from "./open-etcd.ts";
import { failureOf } from "../support/failure-of.ts";
import { create, namesIn } from "./steps.ts";
import { startWatch, take, toText } from "./watch-events.ts";

/** An election takes half a second to a second: long enough for a loaded machine, short enough for a test. */
const HEARTBEAT_MS = 50;

/** For tests that wait until a try or a request gives up. */
const HURRIED = { requestMs: 2_000, tryMs: 500 };

/** For a test that counts tries: none is given up because the machine stands still. */
const PATIENT = { requestMs: 60_000, tryMs: 5_000 };

describe.concurrent("a cluster of three", () => {
  test("whose leader is killed under load loses nothing that it confirmed, and goes on", async () => {
    await using cluster = await startThree();
    const [leader, ...followers] = await leaderFirst(cluster.members);
    const datastore = openInOrder([leader, ...followers], HURRIED);
    const confirmed: string[] = [];
    const unsure: string[] = [];
    const write = async (writer: number): Promise<void> => {
      for (let i = 0; i < 8; i++) {
        const name = `p-${writer}-${i}`;
        try {
          const { committed } = await create(datastore, name);
          expect(committed).toBe(true);
          confirmed.push(name);
        } catch (thrown) {
          expect(thrown).toBeInstanceOf(OutcomeUnknown);
          unsure.push(name);
        }
        if (writer === 0 && i === 2) await leader.stop();
      }
    };
    await Promise.all([write(0), write(1), write(2)]);
    const names = await namesIn(datastore);
    expect(confirmed.filter((name) => !names.includes(name))).toEqual([]);
    expect(names.filter((name) => !confirmed.includes(name) && !unsure.includes(name))).toEqual([]);
    expect(confirmed.length).toBeGreaterThan(12);
  });

  test("in which one member stands still reads from the next after one try, and begins there from then on", async () => {
    await using cluster = await startThree();
    const [leader, first, second] = await leaderFirst(cluster.members);
    const datastore = openInOrder([first, leader, second], PATIENT);
    await create(datastore, "a");
    await first.pause();
    try {
      expect(await namesIn(datastore)).toEqual(["a"]);
      expect(datastore.requests.retries).toBe(1);
      await create(datastore, "b");
      expect(datastore.requests.retries).toBe(1);
    } finally {
      first.resume();
    }
  });

  test("that has lost its majority says so, and works when it has it again", async () => {
    await using cluster = await startThree();
    const [survivor, ...others] = await leaderFirst(cluster.members);
    await create(openInOrder([survivor]), "a");
    const datastore = openInOrder([survivor], HURRIED);
    await Promise.all(others.map((member) => member.stop()));
    try {
      const [read, commit] = await Promise.all([failureOf(namesIn(datastore)), failureOf(create(datastore, "b"))]);
      expect(read).toMatchObject({ kind: "tryAgainLater", message: expect.stringContaining(survivor.endpoint) });
      expect(commit).toMatchObject({ kind: "tryAgainLater", message: expect.stringContaining(survivor.endpoint) });
    } finally {
      await Promise.all(others.map((member) => member.start()));
    }
    expect(await namesIn(openEtcd({ endpoints: others.map(({ endpoint }) => endpoint) }))).toContain("a");
  });
});

describe("a member that is cut off from the others, but not from us", () => {
  test.each([
    ["the gateway", []],
    ["gRPC", ["--enable-grpc-gateway=false"]],
  ])("refuses at once, without doubt, and its watches move on: over %s", async (_way, args) => {
    await using cluster = await startIsolatedMember(HEARTBEAT_MS, args);
    const { isolated, others } = cluster;
    const ending = new AbortController();
    const events = startWatch(openInOrder([isolated, ...others]), ["IPPool"], ending.signal);
    expect((await take(events, 2)).map(toText)).toEqual(["reset", "in-sync"]);

    cluster.cutOff();
    const alone = openEtcd({ endpoints: [isolated.endpoint] }, { limits: { requestMs: 200, tryMs: 200 } });
    for (let hasNoticed = false; !hasNoticed;) hasNoticed = (await failureOf(namesIn(alone))).message.includes("no leader");
    await namesIn(openInOrder(others)); // they have elected a new leader if it was the old one
    const datastore = openInOrder([isolated, ...others]);
    // A commit is sent again only when it was surely not applied.
    await create(datastore, "a");
    expect(datastore.requests.retries).toBeGreaterThan(0);
    expect((await take(events, 1)).map(toText)).toEqual(["put a"]);
    ending.abort();
  });
});

describe.concurrent("a list of endpoints", () => {
  test("of which all but one are dead is gone through at once", async () => {
    await using server = await startEtcd({ quick: true });
    const dead = freePorts(3).map((port) => ({ endpoint: `http://127.0.0.1:${port}` }));
    const datastore = openInOrder([...dead, server]);
    await create(datastore, "a");
    expect(await namesIn(datastore)).toEqual(["a"]);
    expect(datastore.requests).toEqual({ roundTrips: 5, retries: 3 });
  });

  test("is begun somewhere by each process, not at the first by all", async () => {
    await using server = await startEtcd({ quick: true });
    const endpoints = [`http://127.0.0.1:${freePorts(1)[0]}`, server.endpoint];
    const datastore = openEtcd({ endpoints }, { random: () => 0 });
    await create(datastore, "a");
    expect(datastore.requests).toEqual({ roundTrips: 1, retries: 0 });
  });
});

async function startThree(): Promise<AsyncDisposable & { readonly members: readonly EtcdServer[] }> {
  const members = await startEtcdCluster(3, { quick: true, heartbeatMs: HEARTBEAT_MS });
  const end = async (): Promise<void> => void (await Promise.all(members.map((member) => member[Symbol.asyncDispose]())));
  return { members, [Symbol.asyncDispose]: end };
}

function openInOrder(members: readonly { readonly endpoint: string }[], limits = REQUEST_LIMITS) {
  return openEtcd({ endpoints: members.map(({ endpoint }) => endpoint) }, { random: inGivenOrder, limits });
}

async function leaderFirst(members: readonly EtcdServer[]): Promise<readonly [EtcdServer, EtcdServer, EtcdServer]> {
  const isLeader = async (member: EtcdServer): Promise<boolean> => {
    const [{ Status: status }] = JSON.parse(await member.ctl(["endpoint", "status", "-w", "json"])) as [
      { Status: { leader: number; header: { member_id: number } } },
    ];
    return status.leader === status.header.member_id;
  };
  const leads = await Promise.all(members.map(isLeader));
  const leader = members.find((_, index) => leads[index]);
  const [first, second] = members.filter((member) => member !== leader);
  if (leader === undefined || first === undefined || second === undefined) throw new Error("want three members with a leader");
  return [leader, first, second];
}
