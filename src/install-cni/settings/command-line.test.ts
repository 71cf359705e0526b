import { expect, test } from "bun:test";
import { parseCommandLine, USAGE } from "./command-line.ts";
import { DEFAULT_FOLDERS } from "./settings.ts";

const NOTHING = { binDir: undefined, confDir: undefined, isOnce: false };
const WANTED = "want --bin-dir, --conf-dir or --once, or --ready alone";

test.each<[args: readonly string[], read: object]>([
  [[], { options: NOTHING }],
  [["--once"], { options: { ...NOTHING, isOnce: true } }],
  [["--bin-dir", "/b", "--conf-dir=/c"], { options: { ...NOTHING, binDir: "/b", confDir: "/c" } }],
  [["--bin-dir=/a=b", "--once"], { options: { ...NOTHING, binDir: "/a=b", isOnce: true } }],
  [["--bin-dir=--x", "--conf-dir", "-c"], { options: { ...NOTHING, binDir: "--x", confDir: "-c" } }],
  [["--ready"], { isReadinessAsked: true }],
  [["--help"], { isHelpWanted: true }],
  [["--once", "-h"], { isHelpWanted: true }],
  [["--bin-dir"], { fault: "--bin-dir: got nothing, want a folder" }],
  [["--bin-dir", ""], { fault: "--bin-dir: got nothing, want a folder" }],
  [["--conf-dir="], { fault: "--conf-dir: got nothing, want a folder" }],
  [["--bin-dir", "--once"], { fault: '--bin-dir: got "--once", want a folder' }],
  [["--once=true"], { fault: `got "--once=true", ${WANTED}` }],
  [["--ready="], { fault: `got "--ready=", ${WANTED}` }],
  [["--ready", "--once"], { fault: `got "--ready", ${WANTED}` }],
  [["--once", "--ready"], { fault: `got "--ready", ${WANTED}` }],
  [["--bin-dir", "/b", "/c"], { fault: `got "/c", ${WANTED}` }],
  [[""], { fault: `got "", ${WANTED}` }],
])("%j is read", (args, read) => expect(parseCommandLine(args)).toEqual(read as ReturnType<typeof parseCommandLine>));

test("help names the folders that are meant without options, and fits a terminal of 80 columns", () => {
  for (const folder of Object.values(DEFAULT_FOLDERS)) expect(USAGE).toContain(`(default ${folder})`);
  expect(USAGE.split("\n").filter((line) => line.length > 80)).toEqual([]);
});
