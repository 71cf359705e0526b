import { expect, test } from "bun:test";

const SCRIPT = `
  const { wasClosed } = await import("./closed-stream.ts");
  const { writeSync } = await import("node:fs");
  writeSync(9, JSON.stringify([0, 1, 2].filter(wasClosed)));
`;

test.each<[redirections: string, closed: readonly number[]]>([
  ["", []],
  ["<&-", [0]],
  [">&-", [1]],
  ["<&- >&- 2>&-", [0, 1, 2]],
  [">/dev/null", []],
  ["<>/dev/null 1<>/dev/null 2<>/dev/null", []],
  [">/dev/full 2>&-", [2]],
])("of a process that was started with %j, streams %j were closed", (redirections, closed) => {
  const { stdout } = Bun.spawnSync(["bash", "-c", `exec 9>&1; exec "$0" -e "$1" ${redirections}`, process.execPath, SCRIPT], {
    cwd: import.meta.dir,
    stdin: "ignore",
  });
  expect(stdout.toString()).toBe(JSON.stringify(closed));
});
