/** Brings the programs of a task to the machine, or says what is missing and how to get it. */

import { existsSync, rmSync, writeFileSync } from "node:fs";
import { say, since, TaskFailure } from "../terminal.ts";
import { findSystemTool, SYSTEM_TOOLS, systemPath } from "./system-tools.ts";
import type { SystemToolName } from "./system-tools.ts";

/** `apt-get` runs the services of what it installs unless this file says no. */
const POLICY_FILE = "/usr/sbin/policy-rc.d";

/** @throws TaskFailure for anybody but root */
export function requireRoot(task: string): void {
  if (process.getuid?.() === 0) return;
  throw new TaskFailure(
    `\`npm run ${task}\` makes network namespaces and interfaces and so needs root, but runs as user ${process.getuid?.() ?? "unknown"}: ` +
      `run it as root, e.g. \`sudo env PATH="$PATH" npm run ${task}\` ("npm run check", "npm run build" and "npm run test:unit" need no root)`,
  );
}

/** Looks for each tool on `PATH`, then installs what is missing from the distribution's packages. */
export function ensureSystemTools(names: readonly SystemToolName[]): void {
  process.env["PATH"] = systemPath(process.env["PATH"]);
  const missing = names.filter((name) => findSystemTool(name) === undefined);
  if (missing.length === 0) return;
  const packages = [...new Set(missing.map((name) => SYSTEM_TOOLS[name].package))];
  const advice = `install ${packages.join(", ")} (Debian, Ubuntu: apt-get install ${packages.join(" ")})`;
  if (Bun.which("apt-get") === null) throw new TaskFailure(`missing: ${missing.join(", ")}; ${advice}`);
  if (process.getuid?.() !== 0) throw new TaskFailure(`missing: ${missing.join(", ")}; ${advice}, or run this command as root`);
  installPackages(packages);
  const still = missing.filter((name) => findSystemTool(name) === undefined);
  if (still.length > 0) throw new TaskFailure(`still missing after the installation of ${packages.join(", ")}: ${still.join(", ")}`);
}

function installPackages(packages: readonly string[]): void {
  const started = performance.now();
  say(`installing from the distribution's packages: ${packages.join(", ")}`);
  const forbidServices = !existsSync(POLICY_FILE);
  if (forbidServices) writeFileSync(POLICY_FILE, "#!/bin/sh\nexit 101\n", { mode: 0o755 });
  try {
    aptGet(["update"], "refresh the package lists");
    aptGet(["install", "--yes", "--no-install-recommends", ...packages], `install ${packages.join(", ")}`);
  } finally {
    if (forbidServices) rmSync(POLICY_FILE, { force: true });
  }
  say(`installed (${since(started)})`);
}

function aptGet(args: readonly string[], action: string): void {
  const started = performance.now();
  const result = Bun.spawnSync(["apt-get", "-o", "DPkg::Lock::Timeout=120", "-o", "APT::Color=0", ...args], {
    env: { ...process.env, DEBIAN_FRONTEND: "noninteractive" },
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
  });
  if (result.success) {
    say(`  apt-get ${args[0] ?? ""} (${since(started)})`);
    return;
  }
  const output = `${result.stdout.toString()}${result.stderr.toString()}`.trim().split("\n").slice(-20).join("\n");
  throw new TaskFailure(`${action}: apt-get ended with status ${result.exitCode}:\n${output}`);
}
