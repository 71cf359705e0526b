/**
 * What takes too long: each verb ends in its time, and a failed ADD still has time to clean up. Played with a clock that is told when to
 * move.
 */

import { afterEach, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Host } from "../../src/cni/host.ts";
import { realHost } from "../../src/cni/real-host.ts";
import { inFrontOf } from "../../src/datastore/in-front-of.ts";
import type { Json } from "../support/programs/cni-call.ts";
import { hostInterfaceName } from "../support/programs/cni.ts";
import type { FakeClock } from "../support/time/fake-clock.ts";
import { createIpamWorld, type IpamWorld, NETWORK } from "../support/ipam/ipam.ts";
import { nodePlace, TestNetns } from "../support/node/netns.ts";
import { callInProcess } from "./support/in-process-call.ts";

const CONTAINER = `late${process.pid}`;
let world: IpamWorld;
let pod: TestNetns;
let folder: string;
/** What the plugin loads when it needs it: that takes time, and here seconds pass meanwhile. */
const LATE = [
  "../../src/cni/attachment-state/delegate-dns.ts",
  "../../src/cni/config/name-server.ts",
  "../../src/cni/config/name-variables.ts",
  "../../src/cni/delegate/mod.ts",
  "../../src/cni/add/delegated-addresses.ts",
  "../../src/cni/gc/collect-garbage.ts",
  "../../src/cni/add/ipam-add.ts",
  "../../src/cni/add/kept-link.ts",
  "../../src/cni/add/withdraw-attachment.ts",
  "../../src/cni/link/inspect.ts",
  "../../src/cni/damaged-block/retry.ts",
  "../../src/cni/pending-release/after-failed-add.ts",
  "../../src/cni/pending-release/after-failed-del.ts",
  "../../src/cni/pending-release/carry-out.ts",
  "../../src/cni/protocol/error-output.ts",
  "../../src/cni/wait/add-waits.ts",
  "../../src/cni/wait/policy-wait.ts",
  "../../src/cni/wait/readiness-gates.ts",
  "../../src/cni/withdraw/withdraw-elsewhere.ts",
  "../../src/ipam/transact/outdated.ts",
  "../../src/linux/inotify.ts",
];
beforeAll(async () => {
  for (const path of LATE) await import(path);
});
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "netplug-late-"));
  pod = new TestNetns();
  world = await createIpamWorld();
  await world.putPool("a", "10.65.0.0/24");
});
afterEach(() => {
  pod[Symbol.dispose]();
  rmSync(folder, { recursive: true, force: true });
});

interface Outcome {
  readonly status: number;
  readonly code: number | undefined;
  readonly msg: string | undefined;
  /** Milliseconds of the clock. */
  readonly tookMs: number;
}

async function call(verb: "ADD" | "DEL", config: Json, change: (host: Host) => Partial<Host> = () => ({})): Promise<Outcome> {
  const { clock, datastore } = world;
  const wholeConfig = {
    cniVersion: "1.1.0",
    name: NETWORK,
    nodename: "n1",
    lib_dir: folder,
    ipam_lock_file: join(folder, "ipam.lock"),
    ipam: { type: "netplug-ipam" },
    ...config,
  };
  const env = { CNI_COMMAND: verb, CNI_CONTAINERID: CONTAINER, CNI_NETNS: pod.path, CNI_IFNAME: "eth0", CNI_PATH: folder };
  const fakes = {
    clock,
    processStart: () => clock.monotonic(),
    takeLock: () => Promise.resolve({ [Symbol.dispose]: () => undefined }),
    takeTurn: () => Promise.resolve(undefined),
    openDatastore: () => datastore,
  } satisfies Partial<Host>;
  const start = clock.monotonic();
  const { status, json } = await untilDone(
    clock,
    callInProcess("netplug", env, wholeConfig, { ...fakes, ...change({ ...realHost(), ...fakes }) }),
  );
  return { status, code: json?.code, msg: json?.msg, tookMs: clock.monotonic() - start };
}

/** Lets time pass whenever nothing else happens. */
async function untilDone<T>(clock: FakeClock, work: Promise<T>): Promise<T> {
  const ended = work.then(
    () => true,
    () => true,
  );
  while (!(await Promise.race([ended, Bun.sleep(1).then(() => false)]))) {
    if (clock.sleepers > 0) await clock.advance(500);
  }
  return await work;
}

async function expectNothingLeft(): Promise<void> {
  expect([pod.link("eth0"), nodePlace.link(hostInterfaceName({ containerID: CONTAINER }))]).toEqual([undefined, undefined]);
  const [records] = await world.datastore.read([{ type: "list", kind: "WorkloadEndpoint" }]);
  expect(records).toEqual([]);
  expect((await world.blocks()).filter((block) => !block.includes(" 0/"))).toEqual([]);
}

/** A datastore that answers nothing from the `nth` request on. */
function deafFrom(nth: number): Partial<Host> {
  let requests = 0;
  const answer = <T>(work: () => Promise<T>): Promise<T> => (++requests < nth ? work() : new Promise<T>(() => {}));
  const { datastore } = world;
  const deaf = inFrontOf(datastore, {
    read: (queries, options) => answer(() => datastore.read(queries, options)),
    commit: (writes, options) => answer(() => datastore.commit(writes, options)),
    close: () => {},
  });
  return { openDatastore: () => deaf };
}

describe("an ADD", () => {
  test("whose policy is not programmed in time is undone, long after the time for everything else is over", async () => {
    const config = { policy_setup_timeout_seconds: 60, policy_setup_timeout_action: "fail", endpoint_status_dir: folder };
    const { status, code, tookMs } = await call("ADD", config);
    expect([status, code]).toEqual([1, 110]);
    expect(tookMs).toBeGreaterThanOrEqual(60_000);
    await expectNothingLeft();
  });

  test("whose policy is not programmed in time has what a delegate gave released, too", async () => {
    const ipam = { type: "a-delegate" };
    const config = { ipam, policy_setup_timeout_seconds: 60, policy_setup_timeout_action: "fail", endpoint_status_dir: folder };
    const verbs: (string | undefined)[] = [];
    const run: Host["processes"]["run"] = async ({ env }) => {
      verbs.push(env["CNI_COMMAND"]);
      return { status: 0, stdout: '{"cniVersion":"1.1.0","ips":[{"address":"10.88.0.7/24"}]}', stderr: "" };
    };
    const { code } = await call("ADD", config, ({ files }) => ({ processes: { run }, files: { ...files, isExecutableFile: () => true } }));
    expect([code, verbs]).toEqual([110, ["ADD", "DEL"]]);
    await expectNothingLeft();
  });

  test.each([1, 2, 3])("ends within 60 s when the datastore answers nothing from request %i on", async (nth) => {
    const { status, code, tookMs } = await call("ADD", {}, () => deafFrom(nth));
    expect([status, code]).toEqual([1, 11]);
    expect(tookMs).toBeLessThan(60_000);
    expect(pod.link("eth0")).toBeUndefined();
    await call("DEL", {});
    await expectNothingLeft();
  });

  test.each([
    [{}, "http://127.0.0.1:2379"],
    [{ etcd_endpoints: "http://10.0.0.1:2379,http://10.0.0.2:2379" }, "http://10.0.0.1:2379, http://10.0.0.2:2379"],
  ])("whose datastore answers nothing says where that is: %j", async (config, where) => {
    const { msg } = await call("ADD", config, () => deafFrom(1));
    expect(msg).toMatch(/^wait for the datastore at .*: not done within \d+ s$/);
    expect(msg).toContain(` at ${where}: `);
  });

  test.each([
    [{ kubeconfig: "/etc/$&.conf" }, 'of kubeconfig "/etc/$&.conf"'],
    [{ kubeconfig: "/etc/kube.conf", k8s_api_root: "http://10.0.0.1:8080" }, "at http://10.0.0.1:8080"],
    [{ k8s_api_root: "http://10.0.0.1:8080" }, "at http://10.0.0.1:8080"],
  ])("or which API server that is: %j", async (kubernetes, where) => {
    const { msg } = await call("DEL", { datastore_type: "kubernetes", kubernetes }, () => deafFrom(1));
    expect(msg).toMatch(`wait for the datastore ${where}: not done within 19 s`);
  });

  test("ends within 60 s when gates and then the datastore use up all the time that they have", async () => {
    const opensAt = world.clock.monotonic() + 29_000;
    const fetch = (): Promise<{ readonly status: number }> => Promise.resolve({ status: world.clock.monotonic() < opensAt ? 503 : 200 });
    const { code, tookMs } = await call("ADD", { readiness_gates: ["http://gate/"] }, () => ({ fetch, ...deafFrom(2) }));
    expect(code).toBe(11);
    expect(tookMs).toBeGreaterThan(29_000);
    expect(tookMs).toBeLessThan(60_000);
    await call("DEL", {});
    await expectNothingLeft();
  });

  test("ends within 60 s when a delegate hangs, and hangs again when it has to undo", async () => {
    const run = async (): Promise<never> => {
      await world.clock.sleep(1e9);
      throw new Error("it went on");
    };
    const hang = ({ clock }: Host): Partial<Host> => ({
      files: { ...realHost().files, isExecutableFile: () => true },
      processes: {
        run: async ({ timeoutMs, command }) => {
          await Promise.race([run(), clock.sleep(timeoutMs)]);
          throw Object.assign(new Error(`run ${command}: not done in time`), { code: "ETIMEDOUT" });
        },
      },
    });
    const { status, tookMs } = await call("ADD", { ipam: { type: "hangs" } }, hang);
    expect(status).toBe(1);
    expect(tookMs).toBeGreaterThan(40_000);
    expect(tookMs).toBeLessThan(60_000);
    await expectNothingLeft();
  });
});

describe("a DEL", () => {
  test.each([1, 2])("ends within 20 s when the datastore answers nothing from request %i on, and has done its local work", async (nth) => {
    expect((await call("ADD", {})).status).toBe(0);
    const { status, code, tookMs } = await call("DEL", {}, () => deafFrom(nth));
    expect([status, code]).toEqual([1, 11]);
    expect(tookMs).toBeLessThan(20_000);
    expect(pod.link("eth0")).toBeUndefined();
    expect((await call("DEL", {})).status).toBe(0);
    await expectNothingLeft();
  });
});
