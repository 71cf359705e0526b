/** For tests: a line of the plugin's log that says where the time of a call went, as the plugin writes it. */

/** @param second of a minute in November 2026 */
export function ledgerLine(second: number, verb = "ADD", containerID = "c1", totalMs = 10, pod?: string): string {
  const time = `2026-11-21T16:00:${String(second).padStart(2, "0")}.000Z`;
  const entry = { time, level: "info", msg: "ledger", containerID, pod, verb, ifName: "eth0", network: "net", code: 0, totalMs };
  return `${JSON.stringify({ ...entry, roundTrips: 2, retries: 0, phaseMs: { parse: 1, kernel: 3.25 }, phaseStartMs: { parse: 0, kernel: 6 } })}\n`;
}
