/** What the kernel tells of processes, for the search for those that tests left. */

import { readdirSync, readFileSync, statSync } from "node:fs";

/** The numbers of all processes. */
export function allPids(): readonly number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map(Number);
}

/** Whether it does something still: one that ended and that nobody has asked about is none. */
export function isRunning(pid: number): boolean {
  return /^State:\s+[^ZX\s]/m.test(read(pid, "status"));
}

/** A variable of the environment that it was started with. */
export function startVariable(pid: number, name: string): string | undefined {
  const begin = `${name}=`;
  const found = read(pid, "environ")
    .split("\u0000")
    .find((entry) => entry.startsWith(begin));
  return found?.slice(begin.length);
}

/** Its arguments, blanks between them. */
export function commandOf(pid: number): string {
  return read(pid, "cmdline").replaceAll("\u0000", " ").trim() || "(ended)";
}

/** Ends it at once, if it is there. */
export function endProcess(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // it ended by itself meanwhile
  }
}

/** The inode that names a network namespace; undefined where there is none, as with a process that ended. */
export function netnsIdOf(path: string): number | undefined {
  try {
    return statSync(path).ino;
  } catch {
    return undefined;
  }
}

/** Of the namespace that a process is in. */
export function netnsIdOfProcess(pid: number): number | undefined {
  return netnsIdOf(`/proc/${pid}/ns/net`);
}

function read(pid: number, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, "utf8");
  } catch {
    return "";
  }
}
