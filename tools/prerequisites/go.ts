/** Programs that are built from Go modules, once per machine, into the cache folder. */

import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { cacheFolder, repositoryRoot } from "../repository.ts";
import { say, since, TaskFailure } from "../terminal.ts";

/** Older ones do not read the `toolchain` and `tool` lines of the modules here. */
const OLDEST_GO = { major: 1, minor: 24 } as const;

export interface GoProgram {
  /** File name in the cache folder. */
  readonly name: string;
  /** Folder with go.mod and go.sum, from the repository's root. */
  readonly folder: string;
  /** Package to build, as `go build` names it. */
  readonly package: string;
}

export const LIBCNI_DRIVER: GoProgram = { name: "libcni-driver", folder: "test/libcni", package: "." };
export const NEWER_ETCD: GoProgram = { name: "etcd", folder: "test/newer-etcd", package: "go.etcd.io/etcd/server/v3" };

/** Whether there is a Go that is new enough, on `PATH` or where its own installer puts it. */
export function goIsUsable(): boolean {
  return findGo() !== undefined;
}

function findGo(): string | undefined {
  for (const go of [Bun.which("go"), "/usr/local/go/bin/go"]) {
    if (go === null || !existsSync(go)) continue;
    const result = Bun.spawnSync([go, "env", "GOVERSION"], {
      stdin: "ignore",
      stdout: "pipe",
      stderr: "ignore",
      env: { ...process.env, GOTOOLCHAIN: "local" },
    });
    const version = /^go(\d+)\.(\d+)/.exec(result.stdout.toString());
    if (version === null) continue;
    const [major, minor] = [Number(version[1]), Number(version[2])];
    if (major > OLDEST_GO.major || (major === OLDEST_GO.major && minor >= OLDEST_GO.minor)) return go;
  }
  return undefined;
}

/**
 * Builds a program unless the cache folder has it from the same sources.
 *
 * @returns its path, or undefined without a usable Go
 * @throws TaskFailure with the compiler's output
 */
export function ensureGoProgram(program: GoProgram): string | undefined {
  const folder = join(repositoryRoot, program.folder);
  const target = join(cacheFolder(), "go", `${program.name}-${hashOf(folder)}`, program.name);
  if (existsSync(target)) return target;
  const go = findGo();
  if (go === undefined) return undefined;
  const started = performance.now();
  say(`building ${program.name} with Go (once per machine) …`);
  const staging = `${target}.${process.pid}`;
  mkdirSync(join(target, ".."), { recursive: true });
  const result = Bun.spawnSync([go, "build", "-trimpath", "-mod=readonly", "-ldflags", "-s -w", "-o", staging, program.package], {
    cwd: folder,
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
    env: { ...process.env, CGO_ENABLED: "0", GOTOOLCHAIN: "local", GOFLAGS: "", GOWORK: "off" },
  });
  if (!result.success) {
    rmSync(staging, { force: true });
    throw new TaskFailure(`build ${program.name}: go ended with status ${result.exitCode}:\n${result.stderr.toString()}`);
  }
  renameSync(staging, target);
  say(`built ${program.name} (${since(started)})`);
  return target;
}

function hashOf(folder: string): string {
  const hash = new Bun.CryptoHasher("sha256");
  for (const file of readdirSync(folder).sort()) {
    if (/^go\.(?:mod|sum)$|\.go$/.test(file)) hash.update(`\n${file}\n`).update(readFileSync(join(folder, file)));
  }
  return hash.digest("hex").slice(0, 16);
}
