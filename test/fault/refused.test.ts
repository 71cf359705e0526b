/** etcd is out of space, wants a user, has no leader, is locked or frozen: what ADD says, and what DEL does all the same. */

import { describe, expect, test } from "bun:test";
import { type EtcdServer, startEtcdCluster } from "../support/servers/etcd.ts";
import { initialise, patchClusterInformation, setReady } from "../support/cli/netplugctl.ts";
import { type Flow, FLOWS, NETPLUG } from "./support/flows.ts";
import { allocatedIn, hasLink } from "./support/judge.ts";
import { accessTo, FaultNode, startInitialisedEtcd } from "./support/node.ts";

interface Trouble {
  begin(): Promise<void>;
  end(): Promise<void>;
  /** A DEL that only deletes keys, as with a delegate's addresses, goes on. */
  readonly takesDeletes?: boolean;
}

/**
 * An attachment stands, then etcd refuses: another ADD leaves nothing, DEL takes the interface; when etcd is well again, DEL does the rest.
 */
async function play(flow: Flow, etcd: EtcdServer, trouble: Trouble, code: number, text: string): Promise<void> {
  await using node = await FaultNode.start(etcd, flow);
  await node.programPolicy();
  expect((await node.call("ADD")).stdout).toContain('"ips"');
  await trouble.begin();
  const other = { containerID: `other${node.containerID}`, ifname: "eth1" };
  const refused = await node.call("ADD", other);
  expect(refused.json).toMatchObject({ code, msg: expect.stringContaining(text) });
  const removed = await node.call("DEL");
  const isRefused = flow.hasOwnIpam || trouble.takesDeletes !== true;
  expect(removed.json).toEqual(isRefused ? expect.objectContaining({ code, msg: expect.stringContaining(text) }) : undefined);
  await trouble.end();
  const changes = await node.changes();
  expect(hasLink(changes)).toBe(false);
  // A delegate's are released already.
  expect(allocatedIn(changes)).toBe(flow.hasOwnIpam ? 2 : 0);
  expect((await node.call("DEL")).stdout).toBe("");
  expect((await node.call("DEL", other)).stdout).toBe("");
  expect(await node.verify()).toEqual([]);
}

describe.each(FLOWS)("$name", (flow) => {
  test.concurrent("out of space is code 11, and says how to make some", async () => {
    await using etcd = await startInitialisedEtcd({ args: ["--quota-backend-bytes=1000000"] });
    const trouble = {
      takesDeletes: true,
      async begin() {
        // The longest argument that a process takes is a little more.
        for (let i = 0; i < 20; i++) await etcd.ctl(["put", `/filler/${i}`, "x".repeat(100_000)]).catch(() => undefined);
      },
      async end() {
        await etcd.ctl(["del", "/filler/", "--prefix"]);
        const status = JSON.parse(await etcd.ctl(["endpoint", "status", "-w", "json"])) as readonly {
          Status: { header: { revision: number } };
        }[];
        await etcd.ctl(["compact", String(status[0]?.Status.header.revision)]);
        await etcd.ctl(["defrag"]);
        await etcd.ctl(["alarm", "disarm"]);
      },
    };
    await play(flow, etcd, trouble, 11, "database space exceeded");
  });

  test.concurrent("a user that is wanted and not given is code 108", async () => {
    await using etcd = await startInitialisedEtcd();
    const asRoot = ["--user=root:secret"];
    const trouble = {
      async begin() {
        await etcd.ctl(["user", "add", "root:secret"]);
        await etcd.ctl(["user", "grant-role", "root", "root"]);
        await etcd.ctl(["auth", "enable"]);
      },
      async end() {
        await etcd.ctl(["auth", "disable"], asRoot);
      },
    };
    await play(flow, etcd, trouble, 108, "user name is empty");
  });

  test.concurrent("a frozen datastore is code 11", async () => {
    await using etcd = await startInitialisedEtcd();
    const freeze = (isFrozen: boolean) => async (): Promise<void> => {
      await patchClusterInformation(accessTo(etcd), { datastoreFrozen: isFrozen });
    };
    await play(flow, etcd, { begin: freeze(true), end: freeze(false) }, 11, "frozen");
  });

  test.concurrent("a locked datastore takes no ADD, but a DEL", async () => {
    await using etcd = await startInitialisedEtcd();
    await using node = await FaultNode.start(etcd, flow);
    await node.programPolicy();
    expect((await node.call("ADD")).status).toBe(0);
    await setReady(accessTo(etcd), false);
    const refused = await node.call("ADD", { containerID: `other${node.containerID}`, ifname: "eth1" });
    expect(refused.json).toMatchObject({ code: 11, msg: expect.stringContaining("locked") });
    expect((await node.call("DEL")).stdout).toBe("");
    await setReady(accessTo(etcd), true);
    expect(await node.verify()).toEqual([]);
  });
});

test.concurrent("a cluster without a leader is code 11, and its next one takes up the work", async () => {
  const members = await startEtcdCluster(3, { quick: true, heartbeatMs: 100 });
  await using owned = new AsyncDisposableStack();
  for (const member of members) owned.use(member);
  const [first, ...others] = members;
  if (first === undefined) throw new Error("no member");
  await initialise(accessTo(first), []);
  const all = (act: (member: EtcdServer) => Promise<void>) => async (): Promise<void> => void (await Promise.all(others.map(act)));
  await play(NETPLUG, first, { begin: all((member) => member.stop()), end: all((member) => member.start()) }, 11, "etcd");
});
