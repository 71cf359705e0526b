/** A plugin that kills itself at a step: the real code with the real kernel and etcd, one call, as a process of its own. */

import { writeFileSync } from "node:fs";
import type { Host } from "../../../src/cni/host.ts";
import { runPlugin } from "../../../src/cni/plugin.ts";
import { realHost } from "../../../src/cni/real-host.ts";
import { openNetns } from "../../../src/linux/netns.ts";
import { kernelIn } from "./node-kernel.ts";
import { withSteps } from "./steps.ts";
import { JOB_VARIABLE, type VictimJob, type VictimReport } from "./victim-job.ts";

const job = JSON.parse(process.env[JOB_VARIABLE] ?? "") as VictimJob;
const hostNetns = job.hostNetns === undefined ? undefined : openNetns(job.hostNetns);
let steps = 0;

function report(more: Partial<VictimReport>): void {
  writeFileSync(job.report, JSON.stringify({ steps, hasHalf: false, ...more }));
}

const { clock, sinceBoot, processStartSinceBoot } = realHost();
const laterMs = job.laterMs ?? 0;
const itsHost: Host = {
  ...realHost(),
  ...(hostNetns === undefined ? {} : { kernel: kernelIn(hostNetns) }),
  clock: { ...clock, now: () => clock.now() + laterMs },
  sinceBoot: () => sinceBoot() + laterMs,
  processStartSinceBoot() {
    const start = processStartSinceBoot();
    return start === undefined ? undefined : start + laterMs;
  },
};
const host = withSteps(itsHost, (step, work) => {
  steps = step.number;
  if (step.number !== job.at) return work.whole();
  report({ killedAt: step.name, hasHalf: work.half !== undefined });
  const result = job.moment === "before" ? undefined : job.moment === "half" ? work.half?.() : work.whole();
  // Never returns: the signal comes before the system call ends.
  const die = (): void => void process.kill(process.pid, "SIGKILL");
  if (result instanceof Promise) return result.finally(die);
  die();
  return result;
});

const status = await runPlugin(job.plugin, host);
report({});
process.exit(status);
