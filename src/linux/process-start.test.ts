import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { hostname } from "node:os";
import { systemClock } from "../lib/clock.ts";
import { readHostName } from "./hostname.ts";
import { estimateProcessStart, readTimeSinceBoot } from "./process-start.ts";

test("the start lies between the moments before and after starting a process", () => {
  const script = `
    const { estimateProcessStart } = await import("./process-start.ts");
    const { systemClock } = await import("../lib/clock.ts");
    console.log(systemClock.now() - systemClock.monotonic() + estimateProcessStart(systemClock));
  `;
  const before = Date.now();
  const { stdout } = Bun.spawnSync([process.execPath, "-e", script], { cwd: import.meta.dir });
  const started = Number(stdout.toString());
  expect(started).toBeGreaterThan(before - 11);
  expect(started).toBeLessThan(Date.now() - 5);
});

test("a process is never younger than its own clock", () => {
  expect(estimateProcessStart(systemClock)).toBeLessThanOrEqual(0);
});

test("the kernel tells the same to 10 ms, for a process that was stopped too", async () => {
  const script = `
    const { readProcessStartSinceBoot } = await import("./process-start.ts");
    console.log(readProcessStartSinceBoot());
  `;
  const before = readTimeSinceBoot();
  const command = ["sh", "-c", `kill -STOP $$; exec ${process.execPath} -e '${script}'`];
  const child = Bun.spawn(command, { cwd: import.meta.dir, stdout: "pipe" });
  const after = readTimeSinceBoot();
  while (!readFileSync(`/proc/${child.pid}/stat`, "utf8").includes(" T ")) await Bun.sleep(5);
  child.kill("SIGCONT");
  const begin = Number(await child.stdout.text());
  expect(begin).toBeGreaterThan(before - 11);
  expect(begin).toBeLessThan(after + 1);
});

test("of a process that was a shell, which has called other programs, nobody tells when this one began", () => {
  const script = `
    const { readProcessStartSinceBoot } = await import("./process-start.ts");
    console.log(readProcessStartSinceBoot());
  `;
  const { stdout } = Bun.spawnSync(["sh", "-c", `/bin/true; exec ${process.execPath} -e '${script}'`], { cwd: import.meta.dir });
  expect(stdout.toString()).toBe("undefined\n");
});

test("the time since boot is that of the kernel", () => {
  const readUptime = (): number => Number.parseFloat(readFileSync("/proc/uptime", "utf8")) * 1000;
  const before = readUptime();
  const time = readTimeSinceBoot();
  expect(time).toBeGreaterThanOrEqual(before);
  // it is told in hundredths of a second, the rest cut off
  expect(time).toBeLessThanOrEqual(readUptime() + 10);
});

test("the host name is the one that everybody else sees", () => {
  expect(readHostName()).toBe(hostname());
});
