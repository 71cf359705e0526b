/** A node that is a temporary folder: its plugins, its network configs, and runs of the role on it. */

import { expect } from "bun:test";
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { DurableFiles } from "../../../src/install-cni/files/durable-files.ts";
import type { InstallHost } from "../../../src/install-cni/host.ts";
import { runInstallCni } from "../../../src/install-cni/main.ts";
import { systemClock } from "../../../src/lib/clock.ts";
import { createLog, type LogRecord } from "../../../src/lib/log/log.ts";
import { silentLog } from "../../support/silent-log.ts";
import { durableFiles } from "../../../src/linux/durable-files.ts";
import { linuxFiles } from "../../../src/linux/files.ts";
import { linuxProcesses } from "../../../src/linux/processes.ts";
import { type FakeApiServer, type SeenRequest, startFakeApiServer, statusAnswer } from "../../kube/support/fake-api-server.ts";

export interface RunOptions {
  readonly env?: Readonly<Record<string, string>>;
  readonly args?: readonly string[];
  readonly host?: Partial<InstallHost>;
}

export interface Run {
  readonly status: number;
  readonly log: readonly LogRecord[];
  /** Messages of the lines, in order. */
  readonly messages: readonly string[];
  readonly said: string;
}

/** What is in a folder, by name. */
export type Content = Readonly<Record<string, { readonly text: string; readonly mode: number; readonly inode: number }>>;

export const KUBECONFIG = "netplug-kubeconfig";
export const CONFLIST = "10-netplug.conflist";

export class InstallNode implements Disposable {
  readonly folder: string;
  readonly binDir: string;
  readonly confDir: string;
  readonly assetsDir: string;
  /** What a run copies: not the real one of 100 MB. */
  readonly executable: string;

  /** @param place the folder in which it is made */
  constructor(executable = "the executable\n", place = tmpdir()) {
    this.folder = mkdtempSync(join(place, "npgt-install-"));
    this.binDir = join(this.folder, "bin");
    this.confDir = join(this.folder, "net.d");
    this.assetsDir = join(this.folder, "assets");
    this.executable = join(this.folder, "executable");
    for (const folder of [this.binDir, this.confDir, this.assetsDir]) mkdirSync(folder);
    this.setExecutable(executable);
  }

  [Symbol.dispose](): void {
    rmSync(this.folder, { recursive: true, force: true });
  }

  setExecutable(content: string): void {
    writeFileSync(this.executable, content);
  }

  /** A plugin that answers VERSION. @param supportedVersions undefined: it does not say */
  addPlugin(name: string, supportedVersions: readonly string[] | undefined, status = 0): void {
    const path = join(this.binDir, name);
    const answer = JSON.stringify({ cniVersion: "1.0.0", supportedVersions });
    writeFileSync(path, `#!/bin/sh\n[ "$CNI_COMMAND" = VERSION ] || exit 9\nprintf '%s' '${answer}'\nexit ${status}\n`);
    chmodSync(path, 0o755);
  }

  /** The real world, with this node's folders and nothing of this machine's environment. */
  host({ env = {}, host = {} }: Omit<RunOptions, "args"> = {}): InstallHost {
    return {
      env: { TLS_ASSETS_DIR: this.assetsDir, ...env },
      userId: process.getuid?.() ?? 0,
      executable: this.executable,
      clock: systemClock,
      random: () => 0.5,
      disk: durableFiles,
      files: linuxFiles,
      processes: linuxProcesses,
      serviceAccountFolder: join(this.folder, "service-account"),
      stopped: new AbortController().signal,
      hostName: () => "Host-A",
      openLog: () => silentLog,
      say: () => {},
      ...host,
    };
  }

  /** Runs the role to its end; `--once` unless `args` are given. */
  async run({ args = ["--once"], ...options }: RunOptions = {}): Promise<Run> {
    const log: LogRecord[] = [];
    let said = "";
    const status = await runInstallCni(["--bin-dir", this.binDir, "--conf-dir", this.confDir, ...args], {
      ...this.host(options),
      openLog: (level) => createLog({ clock: systemClock, level, sinks: [{ write: (record) => log.push(record) }] }),
      say: (text) => void (said += text),
    });
    return { status, log, messages: log.map(({ msg }) => msg), said };
  }

  /** Every file in the node's folders. */
  content(): Content {
    const content: Record<string, Content[string]> = {};
    for (const folder of [this.binDir, this.confDir, join(this.confDir, "netplug-tls")]) {
      if (!existsSync(folder)) continue;
      for (const name of readdirSync(folder).sort()) {
        const path = join(folder, name);
        const { mode, ino } = statSync(path);
        if (!statSync(path).isFile()) continue;
        content[path.slice(this.folder.length + 1)] = { text: readFileSync(path, "utf8"), mode: mode & 0o7777, inode: ino };
      }
    }
    return content;
  }

  read(path: string): string {
    return readFileSync(join(this.folder, path), "utf8");
  }

  write(path: string, text: string): void {
    writeFileSync(join(this.folder, path), text);
  }
}

/** Files as they are, of which some functions are others. */
export function filesWith(others: Partial<DurableFiles>): DurableFiles {
  return { ...durableFiles, ...others };
}

const TOKEN_PATH = "/api/v1/namespaces/kube-system/serviceaccounts/netplug-cni-plugin/token";

/** An API server that grants tokens: `token-1`, `token-2`, …. */
export function startTokenServer(refuse: (request: SeenRequest, before: number) => Response | undefined = () => undefined): FakeApiServer {
  let granted = 0;
  return startFakeApiServer((request, before) => {
    const refusal = refuse(request, before);
    if (refusal !== undefined) return refusal;
    if (request.path !== TOKEN_PATH || request.method !== "POST") return statusAnswer(404, "NotFound", `${request.path} not found`);
    const asked = JSON.parse(request.body) as { readonly spec: { readonly expirationSeconds: number } };
    return Response.json(
      { ...asked, status: { token: `token-${++granted}`, expirationTimestamp: "2030-01-01T00:00:00Z" } },
      { status: 201 },
    );
  });
}

/** The only error line of a run that failed. */
export function errorOf({ status, log }: Run): string {
  const errors = log.filter(({ level }) => level === "ERROR");
  expect([status, errors.length]).toEqual([1, 1]);
  return errors[0]?.msg ?? "";
}
