#!/usr/bin/env node
// The door of `npm run …`: plain JavaScript without dependencies, so that it works on a machine that has only Node.js and
// npm. It installs what package-lock.json pins, finds the Bun in it, and hands over to tools/tasks.ts.

import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const OLDEST_NODE = 18;

function fail(message) {
  console.error(`netplug: ${message}`);
  process.exit(1);
}

function readJson(...parts) {
  const path = join(root, ...parts);
  return existsSync(path) ? JSON.parse(readFileSync(path, "utf8")) : undefined;
}

/** Packages that the lockfile wants and node_modules does not have in that version. */
function missingPackages() {
  const wanted = readJson("package-lock.json").packages;
  const installed = readJson("node_modules", ".package-lock.json")?.packages ?? {};
  return Object.entries(wanted)
    .filter(([path, entry]) => path.startsWith("node_modules/") && !entry.optional)
    .filter(([path, entry]) => installed[path]?.version !== entry.version || !existsSync(join(root, path)))
    .map(([path]) => path.slice("node_modules/".length));
}

function installPackages(missing) {
  console.error(`netplug: installing ${missing.length} npm package(s) of package-lock.json …`);
  // `npm ci` first empties node_modules, which without a network would then stay empty
  const command = existsSync(join(root, "node_modules")) ? ["install", "--no-save"] : ["ci"];
  const result = spawnSync("npm", [...command, "--no-audit", "--no-fund", "--loglevel=error"], {
    cwd: root,
    stdio: ["ignore", 2, 2],
  });
  if (result.error?.code === "ENOENT") fail("npm is missing: install it (Debian, Ubuntu: apt-get install npm) and run the command again");
  if (result.status !== 0) fail(`npm ${command[0]} failed (status ${result.status ?? result.signal}): see its output above`);
}

/** Where npm leaves Bun: the package's own copy, or the platform package where install scripts are not run. */
function bunCandidates() {
  const arch = process.arch === "arm64" ? "aarch64" : "x64";
  const platforms = ["", "-baseline", "-musl", "-musl-baseline"].map((suffix) => `node_modules/@oven/bun-linux-${arch}${suffix}/bin/bun`);
  return ["node_modules/bun/bin/bun.exe", ...platforms].map((path) => join(root, path)).filter((path) => existsSync(path));
}

function findBun(wantedVersion) {
  for (const path of bunCandidates()) {
    const result = spawnSync(path, ["--version"], { encoding: "utf8", env: withoutBunVariables() });
    if (result.status === 0 && result.stdout.trim() === wantedVersion) return path;
  }
  return undefined;
}

/** Bun takes options from these; a task must not depend on who calls it. */
function withoutBunVariables() {
  const env = { ...process.env };
  delete env.BUN_OPTIONS;
  delete env.BUN_BE_BUN;
  return env;
}

if (process.platform !== "linux") fail(`netplug builds and runs on Linux only: this is ${process.platform}`);
if (Number.parseInt(process.versions.node, 10) < OLDEST_NODE)
  fail(`Node.js ${OLDEST_NODE} or newer is wanted: this is ${process.versions.node}`);

const missing = missingPackages();
if (missing.length > 0) installPackages(missing);

const wantedBun = readJson("package.json").devDependencies.bun;
const bun = findBun(wantedBun);
if (bun === undefined) {
  fail(
    `Bun ${wantedBun} does not run from node_modules: remove node_modules and run the command again (CPU ${process.arch}, glibc 2.17 or newer is needed)`,
  );
}

// an interrupt at the terminal reaches the task too, which may have something to clean up: wait for its end
process.on("SIGINT", () => {});
// and when this process is killed, the task ends too
const setpriv = ["/usr/bin/setpriv", "/bin/setpriv"].find((path) => existsSync(path));
const tied = setpriv === undefined ? [] : [setpriv, "--pdeathsig", "TERM"];
const [program, ...args] = [...tied, bun, join(root, "tools", "tasks.ts"), ...process.argv.slice(2)];
const result = spawnSync(program, args, {
  cwd: root,
  stdio: "inherit",
  env: withoutBunVariables(),
});
if (result.error !== undefined) fail(`start ${bun}: ${result.error.message}`);
process.exit(result.status ?? 128 + 15);
