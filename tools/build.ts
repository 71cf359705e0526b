/** `npm run build`: one executable under four names, made again only when something that goes into it has changed. */

import { existsSync, linkSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { repositoryRoot } from "./repository.ts";
import { say, since, TaskFailure } from "./terminal.ts";

/** The other names of `netplug`; hard links, so that all share one copy in the page cache. */
const OTHER_NAMES = ["netplug-ipam", "netplugctl", "kubectl-netplug"] as const;

/**
 * `--splitting` keeps what a role does not import out of its start; the two `--no-compile-autoload-*` stop the executable
 * from running a `bunfig.toml` or reading a `.env` of the folder that it is called in.
 */
const BUILD_OPTIONS = [
  "--compile",
  "--minify",
  "--keep-names",
  "--bytecode",
  "--format=esm",
  "--splitting",
  "--reject-unresolved",
  "--no-compile-autoload-dotenv",
  "--no-compile-autoload-bunfig",
] as const;

/** Files whose content decides the executable. */
function inputFiles(): string[] {
  const source = [...new Bun.Glob("src/**/*.{ts,json}").scanSync(repositoryRoot)].filter((path) => !path.endsWith(".test.ts"));
  return [...source, "package.json", "package-lock.json", "tsconfig.json", "tools/build.ts"].sort();
}

function hashOfInputs(): string {
  const hash = new Bun.CryptoHasher("sha256");
  hash.update(Bun.version);
  for (const path of inputFiles()) {
    hash.update(`\n${path}\n`);
    hash.update(readFileSync(join(repositoryRoot, path)));
  }
  return hash.digest("hex");
}

/**
 * Builds `dist/netplug` and its hard links unless they are there already, made from the same inputs.
 *
 * @returns the path of `dist/netplug`
 * @throws TaskFailure with the bundler's output
 */
export function build(): string {
  const dist = join(repositoryRoot, "dist");
  const target = join(dist, "netplug");
  const stamp = join(dist, ".inputs");
  const hash = hashOfInputs();
  const names = OTHER_NAMES.map((name) => join(dist, name));
  if (readIfThere(stamp) === hash && [target, ...names].every((path) => existsSync(path))) return target;

  const started = performance.now();
  mkdirSync(dist, { recursive: true });
  rmSync(stamp, { force: true });
  inStaging(dist, (staging) => {
    const bundled = join(staging, "bundled");
    const command = [process.execPath, "build", "src/main.ts", ...BUILD_OPTIONS, "--outfile", bundled];
    const result = Bun.spawnSync(command, { cwd: repositoryRoot, stdin: "ignore", stdout: "pipe", stderr: "pipe" });
    if (!result.success || !existsSync(bundled)) {
      throw new TaskFailure(
        `build dist/netplug: ${process.execPath} ended with status ${result.exitCode}:\n${result.stderr.toString()}${result.stdout.toString()}`,
      );
    }
    place(readFileSync(bundled), staging, dist);
  });
  writeFileSync(stamp, hash);
  say(`built dist/netplug (${since(started)})`);
  return target;
}

/**
 * Writes `dist/netplug` anew, as `install-cni` leaves it on a node: a file that the page cache has lost meanwhile lies in smaller pieces in it, and
 * each call takes 2 to 3 ms more (docs/design/performance.md).
 */
export function rewriteExecutable(): void {
  const dist = join(repositoryRoot, "dist");
  inStaging(dist, (staging) => place(readFileSync(join(dist, "netplug")), staging, dist));
}

/** Puts the executable in its place under all its names. In one write: the bundler's many writes leave small pieces in the page cache, too. */
function place(executable: Uint8Array, staging: string, dist: string): void {
  const fresh = join(staging, "netplug");
  writeFileSync(fresh, executable, { mode: 0o755 });
  for (const name of OTHER_NAMES) linkSync(fresh, join(staging, name));
  for (const name of ["netplug", ...OTHER_NAMES]) renameSync(join(staging, name), join(dist, name));
}

/** Gives a folder beside the targets, out of which they are renamed: whoever runs an old one goes on with it. */
function inStaging(dist: string, work: (staging: string) => void): void {
  const staging = join(dist, `.staging-${process.pid}`);
  mkdirSync(staging);
  try {
    work(staging);
  } finally {
    rmSync(staging, { recursive: true, force: true });
  }
}

function readIfThere(path: string): string | undefined {
  return existsSync(path) ? readFileSync(path, "utf8") : undefined;
}

/** The task: `npm run build`, `npm run build -- --force`. */
export async function runBuild(args: readonly string[]): Promise<number> {
  const unknown = args.find((arg) => arg !== "--force");
  if (unknown !== undefined) throw new TaskFailure(`npm run build: got "${unknown}", want nothing or -- --force`);
  if (args.includes("--force")) rmSync(join(repositoryRoot, "dist", ".inputs"), { force: true });
  const target = build();
  say(`${target} is up to date, and so are its other names ${OTHER_NAMES.join(", ")}`);
  return 0;
}
