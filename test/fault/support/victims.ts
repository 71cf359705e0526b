/** Starting victims: compiled once, since a process that compiles itself takes four times as long. */

import { existsSync, linkSync, readFileSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import type { CniReply } from "../../support/programs/cni.ts";
import { spawnPlugin } from "../../support/programs/cni.ts";
import { JOB_VARIABLE, type VictimJob, type VictimReport } from "./victim-job.ts";

/** How a victim's call ended. */
export interface VictimEnd {
  /** undefined: it ran to its end. */
  readonly killedAt: string | undefined;
  readonly hasHalf: boolean;
  readonly reply: CniReply;
}

/**
 * Compiles the victim as `netplug-ipam` into a folder, which is a `CNI_PATH` for other main plugins then.
 *
 * @returns the executable
 */
export function buildVictim(folder: string): string {
  const program = join(folder, "victim");
  const options = ["--compile", "--bytecode", "--minify", "--keep-names", "--splitting", "--format=esm"];
  const command = ["build", join(import.meta.dir, "victim.ts"), ...options, "--outfile", program];
  const { success, stderr } = Bun.spawnSync([process.execPath, ...command], { stdout: "ignore", stderr: "pipe" });
  if (!success || !existsSync(program)) throw new Error(`build victim: ${stderr.toString()}`);
  linkSync(program, join(folder, "netplug-ipam"));
  return program;
}

let jobs = 0;

/**
 * Calls a victim and waits for its end.
 *
 * @param mainPlugin what is called instead, and calls the victim as its IPAM plugin
 */
export async function callVictim(
  program: string,
  job: Omit<VictimJob, "report">,
  env: Readonly<Record<string, string>>,
  stdin: string,
  mainPlugin: string = program,
): Promise<VictimEnd> {
  const report = join(dirname(program), `report-${++jobs}`);
  const reply = await spawnPlugin(mainPlugin, { ...env, [JOB_VARIABLE]: JSON.stringify({ ...job, report } satisfies VictimJob) }, stdin);
  if (!existsSync(report)) throw new Error(`${mainPlugin}: the victim did not come to its first step: ${reply.stdout}${reply.stderr}`);
  const { killedAt, hasHalf } = JSON.parse(readFileSync(report, "utf8")) as VictimReport;
  rmSync(report);
  return { killedAt, hasHalf, reply };
}
