/** Which run of the suite a test belongs to: several may go on at once on a machine. */

/** The variable that all processes of a run have; its value is the run's temp folder. */
export const RUN_MARK = "NETPLUG_TEST_RUN";

/** @returns what the names of the run's network namespaces contain: the last part of its folder's name */
export function runOf(folder: string): string {
  const last = /[^-/]+$/.exec(folder)?.[0];
  return last === undefined ? "" : `${last}-`;
}

/** How the names of all network namespaces of this process begin: each run looks for what its own tests left. */
export const NETNS_PREFIX: string = `npgt-${process.pid}-${runOf(process.env[RUN_MARK] ?? "")}`;
