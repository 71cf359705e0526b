/** `dist/netplug install-cni` as a process of its own: started, and what it said when it has ended. */

import { join } from "node:path";
import { distFolder } from "../../support/programs/cni.ts";

/** The executable that is built. */
export const EXECUTABLE = join(distFolder, "netplug");

/** A line of its log. */
export type LogLine = Readonly<Record<string, string>>;

/** How it ended. */
export interface Ended {
  readonly status: number;
  readonly stdout: string;
  readonly lines: readonly LogLine[];
  readonly stderr: string;
}

/** @param enter a command that runs its arguments */
export function start(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
  enter: readonly string[] = [],
): Bun.Subprocess<"ignore", "pipe", "pipe"> {
  return Bun.spawn([...enter, EXECUTABLE, "install-cni", ...args], {
    env: { PATH: process.env["PATH"] ?? "", ...env },
    stdout: "pipe",
    stderr: "pipe",
    stdin: "ignore",
  });
}

/** Waits for its end. */
export async function end(child: ReturnType<typeof start>): Promise<Ended> {
  const [status, stdout, stderr] = await Promise.all([child.exited, child.stdout.text(), child.stderr.text()]);
  const lines = stderr
    .split("\n")
    .filter((line) => line.startsWith("{"))
    .map((line) => JSON.parse(line) as LogLine);
  return { status, stdout, stderr, lines };
}

/** Runs it to its end. */
export const run = async (...args: Parameters<typeof start>): Promise<Ended> => await end(start(...args));
