/**
 * A GC beside an ADD, which CNI forbids and runtimes do: its list of valid attachments does not name the container that is just being added.
 */

import { describe, expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Host } from "../../src/cni/host.ts";
import { realHost } from "../../src/cni/real-host.ts";
import { closedGate } from "../support/node/closed-gate.ts";
import { NetworkPlace } from "../support/node/netns.ts";
import { afterStep, beforeStep, isCommit, isRead } from "./support/at-step.ts";
import { HOST_LOCAL, IPAM_ALONE, NETPLUG, WITHOUT_WAIT } from "./support/flows.ts";
import { allocatedIn, findIncompleteness } from "./support/judge.ts";
import type { FaultNode } from "./support/node.ts";
import { withSteps } from "./support/steps.ts";
import { shareEtcd, shareVictim } from "./support/shared.ts";

const { startNode } = shareEtcd();
const victim = shareVictim();

/** The file by which the node's pod is held. */
function holdOf(node: FaultNode): string {
  const folder = join(node.folder, "attached");
  const name = readdirSync(folder).find((one) => one.includes(`@${node.containerID}@`));
  return join(folder, name ?? "none");
}

/** Whether the last GC said that it left the attachment of the node's pod. */
function wasLeft(node: FaultNode): boolean {
  return node.log.some(
    ({ level, msg, fields }) => level === "WARNING" && msg.startsWith("leave attachment") && fields["of"] === node.containerID,
  );
}

describe.each([NETPLUG, HOST_LOCAL, IPAM_ALONE])("$name", (flow) => {
  const moments = [
    ["before it reads what there is", (add: () => Promise<void>) => beforeStep(isRead, add)],
    ["after it has read what there is", (add: () => Promise<void>) => afterStep(isRead, add)],
  ] as const;
  test.concurrent.each(moments)("an ADD that begins and ends %s keeps all that it has got", async (_moment, at) => {
    await using node = await startNode({ ...flow, waits: false });
    let added: Awaited<ReturnType<FaultNode["call"]>> | undefined;
    const gc = await node.call("GC", {
      host: at(async () => {
        added = await node.call("ADD", { config: WITHOUT_WAIT });
      }),
    });
    expect([gc.stdout, added?.status]).toEqual(["", 0]);
    expect(added === undefined ? ["no ADD"] : findIncompleteness(node.flow, added, await node.changes())).toEqual([]);
    expect((await node.call("DEL")).stdout).toBe("");
    expect(await node.verify()).toEqual([]);
  });
});

test.concurrent("an ADD of a container whose earlier addresses the GC is about to release keeps them, or gets others", async () => {
  await using node = await startNode({ ...NETPLUG, waits: false });
  expect((await node.call("ADD", { config: WITHOUT_WAIT })).status).toBe(0);
  let again: Awaited<ReturnType<FaultNode["call"]>> | undefined;
  const gc = await node.call("GC", {
    host: beforeStep(isCommit, async () => {
      again = await node.call("ADD", { config: WITHOUT_WAIT });
    }),
  });
  expect([gc.stdout, again?.status]).toEqual(["", 0]);
  expect(again === undefined ? ["no ADD"] : findIncompleteness(node.flow, again, await node.changes())).toEqual([]);
  expect((await node.call("DEL")).stdout).toBe("");
  expect(await node.verify()).toEqual([]);
});

/** An ADD in a process of its own, which waits for a gate. */
async function withWaitingAdd(node: FaultNode, work: (end: () => ReturnType<FaultNode["callVictim"]>) => Promise<void>): Promise<void> {
  await using gate = closedGate();
  const adding = node.callVictim(victim.program, "ADD", 0, "before", { config: { ...WITHOUT_WAIT, readiness_gates: [gate.url] } });
  await gate.asked;
  await work(() => {
    gate.open();
    return adding;
  });
  gate.open();
  await adding;
}

test.concurrent("an ADD that runs already, and waits, is left alone, and said to be", async () => {
  await using node = await startNode(NETPLUG);
  await withWaitingAdd(node, async (end) => {
    expect((await node.call("GC")).stdout).toBe("");
    expect(wasLeft(node)).toBe(true);
    const { reply } = await end();
    expect(findIncompleteness(node.flow, reply, await node.changes())).toEqual([]);
  });
  // it has ended: its hold stays, and keeps nothing
  expect((await node.call("GC")).stdout).toBe("");
  expect([await node.verify(), wasLeft(node)]).toEqual([[], false]);
});

test.concurrent("an ADD that runs for longer than any is taken for one that hangs, and gets nothing", async () => {
  await using node = await startNode(NETPLUG);
  await withWaitingAdd(node, async (end) => {
    const later = (real: Host): Host => ({ ...real, sinceBoot: () => real.sinceBoot() + 61_000 });
    expect((await node.call("GC", { config: WITHOUT_WAIT, host: later })).stdout).toBe("");
    expect((await end()).reply.json).toMatchObject({ code: 11, msg: expect.stringContaining("a DEL or GC has ended it meanwhile") });
  });
  expect(await node.verify()).toEqual([]);
});

/** A process that has its number for as long as it is wanted. */
interface Impostor extends Disposable {
  readonly pid: number;
  readonly parent: number;
}

function startSleeper(parent = process.pid): Impostor {
  const sleeper = Bun.spawn(["sleep", "60"], { stdout: "ignore", stderr: "ignore" });
  return { pid: sleeper.pid, parent, [Symbol.dispose]: () => sleeper.kill() };
}

/** A process that has ended, which its parent does not want to know. */
async function startZombie(): Promise<Impostor> {
  const parent = Bun.spawn(["sh", "-c", "sleep 0.1 & echo $!; exec sleep 60 >/dev/null"], { stdout: "pipe", stderr: "ignore" });
  const pid = Number(await parent.stdout.text());
  while (!/\) Z /.test(readFileSync(`/proc/${pid}/stat`, "utf8"))) await Bun.sleep(1);
  return { pid, parent: parent.pid, [Symbol.dispose]: () => parent.kill() };
}

function noProcess(pid: number, parent = process.pid): Impostor {
  return { pid, parent, [Symbol.dispose]: () => undefined };
}

/** Changes the hold of the node's pod as if that process had taken it; one without a number: as an older version writes it. */
function pretend(node: FaultNode, { pid, parent }: Impostor): void {
  const parts = readFileSync(holdOf(node), "utf8").split("\n").slice(0, 4);
  writeFileSync(holdOf(node), [...parts, ...(Number.isNaN(pid) ? [] : [pid, parent])].join("\n"));
}

describe("the hold of an ADD that was killed keeps nothing", () => {
  const impostors: readonly (readonly [what: string, start: () => Impostor | Promise<Impostor>, when: "before" | "after"])[] = [
    ["while no process has its number", () => noProcess(4_194_305), "after"],
    ["while a process has its number that is much older", () => noProcess(1, 0), "after"],
    ["while a process has its number that began later", () => startSleeper(), "after"],
    ["while its runtime has not noticed", startZombie, "before"],
    ["while a process has its number that another has called", () => startSleeper(1), "before"],
    ["where it noted no number", () => noProcess(Number.NaN), "after"],
  ];
  test.concurrent.each(impostors)("%s", async (_what, start, when) => {
    await using node = await startNode({ ...NETPLUG, waits: false });
    const early = when === "before" ? await start() : undefined;
    expect((await node.call("ADD", { config: WITHOUT_WAIT })).status).toBe(0);
    using impostor = early ?? (await start());
    pretend(node, impostor);
    expect(allocatedIn(await node.changes())).toBe(2);
    expect((await node.call("GC")).stdout).toBe("");
    expect([await node.verify(), wasLeft(node)]).toEqual([[], false]);
  });
});

test.concurrent("the hold of an ADD that runs keeps its attachment, so the tests before this one could fail", async () => {
  await using node = await startNode({ ...NETPLUG, waits: false });
  using impostor = startSleeper();
  expect((await node.call("ADD", { config: WITHOUT_WAIT })).status).toBe(0);
  pretend(node, impostor);
  expect((await node.call("GC")).stdout).toBe("");
  expect([wasLeft(node), allocatedIn(await node.changes())]).toEqual([true, 2]);
  expect((await node.call("DEL")).stdout).toBe("");
  expect(await node.verify()).toEqual([]);
});

/** The hold of an ADD in another process, which takes it now. */
function takeHold(node: FaultNode, containerID: string, network = `${node.name}-net`): void {
  const takenAt = realHost().sinceBoot();
  const path = join(node.folder, "attached", `${network}@${containerID}@eth0`);
  writeFileSync(path, ["/run/netns/another", "", "netplug", takenAt, process.pid, process.ppid].join("\n"));
}

/** Interfaces of ours on the node's host, without those of its bystander and its pod. */
function makeLinks(node: FaultNode, links: readonly { readonly name: string; readonly containerID?: string }[]): void {
  const lines = links.flatMap(({ name, containerID }, i) => [
    `link add ${name} type veth peer name peer${i}`,
    ...(containerID === undefined ? [] : [`link set ${name} alias netplug:${node.name}-net:${containerID}:eth0`]),
  ]);
  new NetworkPlace(node.hostNetns).must(["ip", "-batch", "-"], lines.join("\n"));
}

function hasHostLink(node: FaultNode, name: string): boolean {
  return new NetworkPlace(node.hostNetns).links().some(({ ifname }) => ifname === name);
}

test.concurrent("the file of an ADD that is just taking hold is left to it", async () => {
  await using node = await startNode({ ...NETPLUG, waits: false });
  const file = join(node.folder, "attached", `${node.name}-net@another@eth0.${process.pid}.0.tmp`);
  writeFileSync(file, "");
  expect((await node.call("GC")).stdout).toBe("");
  expect(existsSync(file)).toBe(true);
});

test.concurrent("an interface whose container is added again while others are removed is left alone", async () => {
  await using node = await startNode({ ...NETPLUG, waits: false });
  const links = Array.from({ length: 17 }, (_, i) => ({ name: `npg${String(i).padStart(11, "0")}`, containerID: `stale${i}` }));
  makeLinks(node, links);
  const gc = await node.call("GC", {
    host: (real) =>
      withSteps(real, ({ name }, work) => {
        if (name.includes("finish")) takeHold(node, "stale16");
        return work.whole();
      }),
  });
  expect(gc.stdout).toBe("");
  expect(links.map(({ name }) => hasHostLink(node, name))).toEqual(links.map((_, i) => i === 16));
});

test.concurrent.each([
  ["of the GC's network", undefined],
  ["of another network", "another-net"],
])("an interface that an ADD %s has made, and not named yet, is left to it", async (_which, network) => {
  await using node = await startNode({ ...NETPLUG, waits: false });
  const name = "npg0123456789a";
  let looks = 0;
  const gc = await node.call("GC", {
    host: (real) =>
      withSteps(real, (step, work) => {
        // the first is for those that have names
        if (step.name.includes("openRouteSocket().dump") && ++looks === 2) {
          takeHold(node, "another", network);
          makeLinks(node, [{ name }]);
        }
        return work.whole();
      }),
  });
  expect([gc.stdout, looks >= 2, hasHostLink(node, name)]).toEqual(["", true, true]);
});

describe("at a delegate", () => {
  test.concurrent("addresses stay that an ADD keeps while the GC releases others", async () => {
    await using node = await startNode({ ...HOST_LOCAL, waits: false });
    expect((await node.call("ADD")).status).toBe(0);
    let again: Awaited<ReturnType<FaultNode["call"]>> | undefined;
    const gc = await node.call("GC", {
      host: beforeStep(
        ({ group }) => group === "processes",
        async () => {
          again = await node.call("ADD");
        },
      ),
    });
    expect([gc.stdout, again?.status]).toEqual(["", 0]);
    expect(again === undefined ? ["no ADD"] : findIncompleteness(node.flow, again, await node.changes())).toEqual([]);
    expect((await node.call("DEL")).stdout).toBe("");
    expect(await node.verify()).toEqual([]);
  });

  test.concurrent("those of an ADD that has begun meanwhile are said to be valid", async () => {
    await using node = await startNode({ ...HOST_LOCAL, waits: false });
    const valid: string[] = [];
    const watched = (real: Host): Host => ({
      ...real,
      processes: {
        run(request) {
          if (request.env["CNI_COMMAND"] === "GC") valid.push(request.stdin ?? "");
          return real.processes.run(request);
        },
      },
    });
    const whileSearching = afterStep(isRead, async () => void (await node.call("ADD")));
    expect((await node.call("GC", { host: (real) => whileSearching(watched(real)) })).stdout).toBe("");
    expect(valid.length).toBeGreaterThan(0);
    expect(valid.filter((stdin) => !stdin.includes(`"${node.containerID}"`))).toEqual([]);
  });
});

/** Where a GC's process begins when `begin()` is called. */
function laterGc(): { readonly begin: () => void; readonly host: (real: Host) => Host } {
  let begun: Partial<Host> = {};
  return {
    begin() {
      const { sinceBoot, clock } = realHost();
      const [byKernel, estimated] = [sinceBoot(), clock.monotonic()];
      begun = { processStartSinceBoot: () => byKernel, processStart: () => estimated };
    },
    host: (real) => ({ ...real, ...begun }),
  };
}

describe.each([NETPLUG, HOST_LOCAL, IPAM_ALONE])("$name", (flow) => {
  test.concurrent("an ADD that ends while the GC's process begins keeps all that it has got", async () => {
    await using node = await startNode({ ...flow, waits: false });
    const { begin, host } = laterGc();
    const added = await node.call("ADD", { config: WITHOUT_WAIT, host: afterStep(isRead, () => Promise.resolve(begin())) });
    expect((await node.call("GC", { host })).stdout).toBe("");
    expect(findIncompleteness(node.flow, added, await node.changes())).toEqual([]);
    expect((await node.call("GC")).stdout).toBe("");
    expect(await node.verify()).toEqual([]);
  });
});

test.concurrent("an ADD keeps what it has got also where another one of its attachment ended before the GC's process began", async () => {
  await using node = await startNode({ ...IPAM_ALONE, waits: false });
  const { begin, host } = laterGc();
  const meanwhile = async (): Promise<void> => {
    expect((await node.call("ADD")).status).toBe(0);
    begin();
  };
  const added = await node.call("ADD", { host: afterStep(isRead, meanwhile) });
  expect((await node.call("GC", { host })).stdout).toBe("");
  expect(findIncompleteness(node.flow, added, await node.changes())).toEqual([]);
  expect((await node.call("GC")).stdout).toBe("");
  expect(await node.verify()).toEqual([]);
});
