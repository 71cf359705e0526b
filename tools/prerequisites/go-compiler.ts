/** Which Go this machine has, and whether it is new enough for a module. */

import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { repositoryRoot } from "../repository.ts";

/** Older ones do not read the `toolchain` and `tool` lines of the modules here. */
const OLDEST_GO: GoVersion = [1, 24, 0];

type GoVersion = readonly [major: number, minor: number, patch: number];

/** @returns the path of a Go that is new enough for the module in `folder`, on `PATH` or where its own installer puts it */
export function findGo(folder?: string): string | undefined {
  const oldest = oldestGoFor(folder);
  for (const go of [Bun.which("go"), "/usr/local/go/bin/go"]) {
    if (go === null || !existsSync(go)) continue;
    const result = Bun.spawnSync([go, "env", "GOVERSION"], {
      stdin: "ignore",
      stdout: "pipe",
      stderr: "ignore",
      env: { ...process.env, GOTOOLCHAIN: "local" },
    });
    const version = goVersion(result.stdout.toString().replace(/^go/, ""));
    if (version !== undefined && isAtLeast(version, oldest)) return go;
  }
  return undefined;
}

/** Whether {@link findGo} finds one. */
export function goIsUsable(folder?: string): boolean {
  return findGo(folder) !== undefined;
}

/** What a part of the suite lacks where {@link goIsUsable} says no: `Go 1.26.6 or newer`. */
export function wantedGo(folder?: string): string {
  return `Go ${oldestGoFor(folder).join(".")} or newer`;
}

function oldestGoFor(folder: string | undefined): GoVersion {
  if (folder === undefined) return OLDEST_GO;
  const wanted = goVersion(/^go (.*)$/m.exec(readFileSync(join(repositoryRoot, folder, "go.mod"), "utf8"))?.[1] ?? "");
  return wanted !== undefined && isAtLeast(wanted, OLDEST_GO) ? wanted : OLDEST_GO;
}

function goVersion(text: string): GoVersion | undefined {
  const match = /^(\d+)\.(\d+)(?:\.(\d+))?/.exec(text);
  return match === null ? undefined : [Number(match[1]), Number(match[2]), Number(match[3] ?? 0)];
}

function isAtLeast(version: GoVersion, oldest: GoVersion): boolean {
  const difference = version.map((part, index) => part - (oldest[index] ?? 0)).find((part) => part !== 0);
  return difference === undefined || difference > 0;
}
