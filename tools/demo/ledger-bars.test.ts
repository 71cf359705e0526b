import { expect, test } from "bun:test";
import { toLedgerBars } from "./ledger-bars.ts";

test("toLedgerBars() draws each phase where it began and as long as it took", () => {
  const lines = toLedgerBars({
    time: "2026-01-01T00:00:00.000Z",
    pod: "default/web",
    verb: "ADD",
    containerID: "c",
    ifName: "eth0",
    network: "n",
    code: 0,
    totalMs: 48,
    roundTrips: 2,
    retries: 0,
    phases: [
      { name: "start", startMs: 0, ms: 12 },
      { name: "kernel", startMs: 12, ms: 36 },
    ],
  });
  expect(lines).toEqual([
    `start   ${"█".repeat(12)}${"·".repeat(36)}   12.0 ms`,
    `kernel  ${"·".repeat(12)}${"█".repeat(36)}   36.0 ms`,
    `in all  ${" ".repeat(48)}   48.0 ms, 2 datastore round trips`,
  ]);
});
