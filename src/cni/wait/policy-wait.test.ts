import { expect, test } from "bun:test";
import { fakeClock } from "../../../test/support/time/fake-clock.ts";
import { parseAddress } from "../../lib/ip/address.ts";
import { createLog } from "../../lib/log/log.ts";
import type { LogRecord } from "../../lib/log/log.ts";
import { waitForPolicy } from "./policy-wait.ts";
import type { PolicyWaitOptions } from "./policy-wait.ts";

const WORKLOAD = { containerID: "container-1", ifName: "eth0", pod: { namespace: "default", name: "web-0" } };
const WANTED = {
  hostName: "npg82111e10a96",
  containerID: "container-1",
  addresses: [parseAddress("10.65.0.7")],
  podMac: "02:aa:bb:cc:dd:ee",
};
const READY = JSON.stringify({ ifaceName: "npg82111e10a96", containerID: "container-1", ipv4Nets: ["10.65.0.7/32"] });
const OF_EARLIER_POD = JSON.stringify({ ifaceName: "npg82111e10a96", containerID: "container-0", ipv4Nets: ["10.65.0.7/32"] });
const FOLDER = "/run/status";
const PATH = "/run/status/k8s default%2Fweb-0 eth0";

/** One folder with at most our file, in which time and changes are made by hand. */
function world(options: { hasFolder?: boolean; canWatch?: boolean } = {}) {
  const clock = fakeClock();
  const records: LogRecord[] = [];
  let hasFolder = options.hasFolder ?? true;
  let content: string | undefined;
  const watchers = new Set<() => void>();
  const events: string[] = [];
  return {
    clock,
    records,
    events,
    watchers,
    write(text: string | undefined, { silently = false } = {}) {
      content = text;
      if (!silently) for (const onChange of watchers) onChange();
    },
    removeFolder() {
      hasFolder = false;
      content = undefined;
      // A watch on a folder that is gone never speaks again.
      watchers.clear();
    },
    makeFolder: () => void (hasFolder = true),
    ports: {
      clock,
      log: createLog({ clock, level: "INFO", sinks: [{ write: (record) => records.push(record) }] }),
      files: {
        readText(path: string) {
          events.push("look");
          expect(path).toBe(PATH);
          return content;
        },
      },
      watchDirectory(folder: string, onChange: () => void) {
        events.push("watch");
        expect(folder).toBe(FOLDER);
        if (options.canWatch === false) throw new Error("EMFILE");
        if (!hasFolder) return undefined;
        watchers.add(onChange);
        return { [Symbol.dispose]: () => void watchers.delete(onChange) };
      },
    },
  };
}

function start(used: ReturnType<typeof world>, options: Partial<PolicyWaitOptions> = {}) {
  const state: { outcome?: unknown; endedAt?: number } = {};
  const pending = waitForPolicy(WORKLOAD, WANTED, { folder: FOLDER, timeoutMs: 10_000, action: "start", ...options }, used.ports).then(
    () => (used.records.length === 0 ? "in time" : "with a warning"),
    (thrown: unknown) => thrown,
  );
  void pending.then((outcome) => Object.assign(state, { outcome, endedAt: used.clock.monotonic() }));
  return state;
}

test("a right file that is there already ends the wait at once, and the watch was started before the look", async () => {
  const used = world();
  used.write(READY);
  const state = start(used);
  await used.clock.advance(0);
  expect(state).toEqual({ outcome: "in time", endedAt: 0 });
  expect(used.events).toEqual(["watch", "look"]);
  expect([used.watchers.size, used.clock.sleepers]).toEqual([0, 0]);
});

test("a file that appears ends the wait without any more time passing", async () => {
  const used = world();
  const state = start(used);
  await used.clock.advance(1_010);
  expect(state.outcome).toBeUndefined();
  used.write(READY);
  await used.clock.advance(0);
  expect(state).toEqual({ outcome: "in time", endedAt: 1_010 });
  expect([used.watchers.size, used.clock.sleepers]).toEqual([0, 0]);
});

test("the file of an earlier pod of the same name counts as absent until it is replaced", async () => {
  const used = world();
  used.write(OF_EARLIER_POD);
  const state = start(used);
  await used.clock.advance(600);
  expect(state.outcome).toBeUndefined();
  used.write(READY);
  await used.clock.advance(0);
  expect(state.outcome).toBe("in time");
});

test.each([
  ["the folder cannot be watched", { canWatch: false }],
  ["an event was lost", {}],
])("the file is found within a quarter of a second when %s", async (_, options) => {
  const used = world(options);
  const state = start(used);
  await used.clock.advance(1_000);
  used.write(READY, { silently: true });
  await used.clock.advance(250);
  expect(state.outcome).toBe("in time");
});

test("a folder that appears later, or is deleted and made again, is watched again", async () => {
  const used = world({ hasFolder: false });
  const state = start(used);
  await used.clock.advance(1_000);
  used.makeFolder();
  await used.clock.advance(300);
  used.removeFolder();
  await used.clock.advance(300);
  used.makeFolder();
  await used.clock.advance(300);
  expect(used.watchers.size).toBe(1);
  used.write(READY);
  await used.clock.advance(0);
  expect(state.outcome).toBe("in time");
});

test("after the timeout the pod starts, with a warning that says what was missing", async () => {
  const used = world();
  used.write(OF_EARLIER_POD);
  const state = start(used, { timeoutMs: 3_000 });
  await used.clock.advance(2_999);
  expect(state.outcome).toBeUndefined();
  await used.clock.advance(10);
  expect(state).toEqual({ outcome: "with a warning", endedAt: 3_000 });
  expect(used.records).toMatchObject([
    {
      level: "WARNING",
      msg: `wait for policy: not programmed within 3 s: "${PATH}": it names another container; the pod starts without it`,
    },
  ]);
  expect([used.watchers.size, used.clock.sleepers]).toEqual([0, 0]);
});

test("after the timeout the ADD fails with code 110 when the config asks for that", async () => {
  const used = world({ hasFolder: false });
  const state = start(used, { timeoutMs: 3_000, action: "fail" });
  await used.clock.advance(3_010);
  expect(state.outcome).toMatchObject({ code: 110, message: expect.stringContaining("it does not exist") });
});

test("a file written in the very last moment counts", async () => {
  const used = world();
  const state = start(used, { timeoutMs: 3_000 });
  await used.clock.advance(2_999);
  used.write(READY, { silently: true });
  await used.clock.advance(1);
  expect(state.outcome).toBe("in time");
});

test("a file that cannot be read is named with its reason", async () => {
  const used = world();
  used.ports.files.readText = () => {
    throw new Error("EACCES");
  };
  const state = start(used, { timeoutMs: 500, action: "fail" });
  await used.clock.advance(600);
  expect(state.outcome).toMatchObject({ code: 110, message: expect.stringContaining("EACCES") });
});
