import { expect, test } from "bun:test";
import { hostname } from "node:os";
import { systemClock } from "../lib/clock.ts";
import { readHostName } from "./hostname.ts";
import { readProcessStart } from "./process-start.ts";

test("the start lies between the moments before and after starting a process", () => {
  const script = `
    const { readProcessStart } = await import("./process-start.ts");
    const { systemClock } = await import("../lib/clock.ts");
    console.log(systemClock.now() - systemClock.monotonic() + readProcessStart(systemClock));
  `;
  const before = Date.now();
  const { stdout } = Bun.spawnSync([process.execPath, "-e", script], { cwd: import.meta.dir });
  const started = Number(stdout.toString());
  expect(started).toBeGreaterThan(before - 11);
  expect(started).toBeLessThan(Date.now() - 5);
});

test("a process is never younger than its own clock", () => {
  expect(readProcessStart(systemClock)).toBeLessThanOrEqual(0);
});

test("the host name is the one that everybody else sees", () => {
  expect(readHostName()).toBe(hostname());
});
