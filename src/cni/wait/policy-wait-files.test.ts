/** The policy wait on a real folder, watched for real. */

import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { toStatusFileName } from "../../endpoint/status-file.ts";
import { systemClock } from "../../lib/clock.ts";
import { parseAddress } from "../../lib/ip/address.ts";
import { silentLog } from "../../lib/log.ts";
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

/** Announces what is waited for, once somebody waits; `before` prepares. `pause` is what the wait does between two looks. */
async function expectFound(folder: string, pause: Clock["sleep"], before: () => void = () => undefined): Promise<void> {
  const waits = Promise.withResolvers<void>();
  const sleep: Clock["sleep"] = async (...args) => {
    waits.resolve();
    await pause(...args);
  };
  const ports = { ...PORTS, clock: { ...systemClock, sleep } };
  const pending = waitForPolicy(WORKLOAD, WANTED, { folder, timeoutMs: 15_000, action: "fail" }, ports);
  await waits.promise;
  before();
  announce(folder);
  expect(await pending).toBe(true);
}

/** No look comes by itself. */
const forEver: Clock["sleep"] = (_ms, signal) =>
  new Promise((_resolve, reject) => signal?.addEventListener("abort", () => reject(signal.reason), { once: true }));

test("a file renamed into the folder ends the wait without another look, and nothing stays open", async () => {
  const folder = join(root, "plain");
  mkdirSync(folder);
  const openBefore = Fd.openCount();
  for (let i = 0; i < 5; i++) {
    await expectFound(folder, forEver);
    rmSync(join(folder, toStatusFileName(WORKLOAD)));
  }
  expect(Fd.openCount()).toBe(openBefore);
});

test("a folder that is made later, or deleted and made again while somebody waits, is found", async () => {
  const folder = join(root, "late", "endpoint-status");
  await expectFound(folder, systemClock.sleep, () => {
    mkdirSync(folder, { recursive: true });
  });
  rmSync(join(folder, toStatusFileName(WORKLOAD)));
  await expectFound(folder, systemClock.sleep, () => {
    rmSync(folder, { recursive: true });
    mkdirSync(folder);
  });
});
