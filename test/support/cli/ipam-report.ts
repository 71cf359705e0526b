/** For tests: what `ipam check` finds, by its report for programs. */

import { expect } from "bun:test";
import type { CliWorld } from "./cli-world.ts";

export interface IpamReport {
  readonly problems: readonly { readonly class: string; readonly object: string; readonly detail: string }[];
  /** How many it looked at. */
  readonly blocks: number;
  readonly unread: readonly { readonly kind: string; readonly object: string; readonly detail: string }[];
}

/** Fails the test when the command's status does not say whether there is something to report. */
export async function readIpamReport(world: CliWorld): Promise<IpamReport> {
  const { status, stdout, stderr } = await world.ctl(["ipam", "check", "-o", "json"]);
  if (stdout === "") throw new Error(`read the report of ipam check: status ${status}: ${stderr}`);
  const report = JSON.parse(stdout) as IpamReport;
  expect(status).toBe(report.problems.length + report.unread.length === 0 ? 0 : 1);
  return report;
}

/** Its problems, a text each. Fails the test when something could not be read. */
export async function readIpamProblems(world: CliWorld): Promise<readonly string[]> {
  const { problems, unread } = await readIpamReport(world);
  expect(unread).toEqual([]);
  return problems.map(({ class: name, object, detail }) => `${name} ${object}: ${detail}`);
}
