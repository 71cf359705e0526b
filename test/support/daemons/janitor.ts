/** The process behind `cleaner.ts`: reads steps, one JSON object a line, until its input ends; then takes them, the last first. */

import { rmSync } from "node:fs";
import { removeCgroup } from "./cgroups.ts";
import type { CleanupStep } from "./cleaner.ts";
import { startTimeOf } from "./process-status.ts";

const LIMIT_MS = 60_000;

async function take(step: CleanupStep): Promise<void> {
  if ("process" in step) await endProcess(step.process, step.startTime);
  else if ("run" in step) Bun.spawnSync([...step.run], { stdin: "ignore", stdout: "ignore", stderr: "ignore" });
  else if ("cgroup" in step) await removeCgroups(step.cgroup);
  else rmSync(step.folder, { recursive: true, force: true });
}

async function endProcess(pid: number, startTime: string): Promise<void> {
  await until(`process ${pid} runs`, () => {
    if (startTimeOf(pid) !== startTime) return true;
    process.kill(pid, "SIGKILL");
    return false;
  });
}

async function removeCgroups(folder: string): Promise<void> {
  await until(`cgroup ${folder} is in use`, () => removeCgroup(folder));
}

async function until(otherwise: string, isDone: () => boolean): Promise<void> {
  for (const end = performance.now() + LIMIT_MS; performance.now() < end; await Bun.sleep(10)) {
    try {
      if (isDone()) return;
    } catch {
      // a process or folder went away between the look and the deed: look again
    }
  }
  throw new Error(`${otherwise} after ${LIMIT_MS / 1000} s`);
}

const steps = (await Bun.stdin.text())
  .split("\n")
  .filter((line) => line !== "")
  .map((line) => JSON.parse(line) as CleanupStep);
for (const step of steps.reverse()) {
  try {
    await take(step);
  } catch (thrown) {
    console.error(thrown instanceof Error ? thrown.message : String(thrown));
    process.exitCode = 1;
  }
}
