/** The policy wait on a real folder, watched for real. */

import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { toStatusFileName } from "../../endpoint/status-file.ts";
import { systemClock } from "../../lib/clock.ts";
import { parseAddress } from "../../lib/ip/address.ts";
import { silentLog } from "../../../test/support/silent-log.ts";
import type { Clock } from "../../lib/ports.ts";
import { Fd } from "../../linux/fd.ts";
import { linuxFiles } from "../../linux/files.ts";
import { watchDirectory } from "../../linux/inotify.ts";
import { waitForPolicy } from "./policy-wait.ts";

const WORKLOAD = { containerID: "container-1", ifName: "eth0", pod: { namespace: "default", name: "web-0" } };
const WANTED = {
  hostName: "npg82111e10a96",
  containerID: "container-1",
  addresses: [parseAddress("10.65.0.7")],
  podMac: "02:aa:bb:cc:dd:ee",
};
const READY = JSON.stringify({ ifaceName: "npg82111e10a96", containerID: "container-1", ipv4Nets: ["10.65.0.7/32"] });
const PORTS = { watchDirectory, files: linuxFiles, clock: systemClock, log: silentLog };

let root: string;
beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), "npgt-policy-"));
});
afterAll(() => rmSync(root, { recursive: true, force: true }));

/** As the agent writes: beside, then renamed. */
function announce(folder: string): void {
  writeFileSync(join(folder, ".new"), READY);
  renameSync(join(folder, ".new"), join(folder, toStatusFileName(WORKLOAD)));
}

/** Milliseconds from the announcement to the end of the wait; `before` prepares, once somebody waits. */
async function latencyOf(folder: string, before: () => void = () => undefined): Promise<number> {
  const waits = Promise.withResolvers<void>();
  const sleep: Clock["sleep"] = async (...args) => {
    waits.resolve();
    await systemClock.sleep(...args);
  };
  const ports = { ...PORTS, clock: { ...systemClock, sleep } };
  const pending = waitForPolicy(WORKLOAD, WANTED, { folder, timeoutMs: 10_000, action: "fail" }, ports);
  await waits.promise;
  before();
  const announced = performance.now();
  announce(folder);
  await pending;
  return performance.now() - announced;
}

test("a file renamed into the folder ends the wait long before the next look, and nothing stays open", async () => {
  const folder = join(root, "plain");
  mkdirSync(folder);
  const openBefore = Fd.openCount();
  const latencies: number[] = [];
  for (let i = 0; i < 5; i++) {
    latencies.push(await latencyOf(folder));
    rmSync(join(folder, toStatusFileName(WORKLOAD)));
  }
  expect(latencies.toSorted((a, b) => a - b)[2]).toBeLessThan(100);
  expect(Fd.openCount()).toBe(openBefore);
});

test("a folder that is made later, or deleted and made again while somebody waits, is found", async () => {
  const folder = join(root, "late", "endpoint-status");
  expect(
    await latencyOf(folder, () => {
      mkdirSync(folder, { recursive: true });
    }),
  ).toBeLessThan(1_000);
  rmSync(join(folder, toStatusFileName(WORKLOAD)));
  expect(
    await latencyOf(folder, () => {
      rmSync(folder, { recursive: true });
      mkdirSync(folder);
    }),
  ).toBeLessThan(1_000);
});
