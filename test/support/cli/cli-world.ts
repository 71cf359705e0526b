/** For tests of netplugctl: commands in the test's process, on a real datastore of the test's own. */

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Datastore } from "../../../src/datastore/datastore.ts";
import { poolYaml } from "./documents.ts";
import { type CliOptions, type CliResult, runInProcess } from "./in-process.ts";

/** What every datastore has; `etcd-cli-world.ts` and `kubernetes-cli-world.ts` add what only theirs has. */
export abstract class CliWorld implements AsyncDisposable {
  /** Removed at the end. */
  abstract readonly folder: string;
  /** For what a test needs beyond commands. */
  abstract readonly datastore: Datastore;
  /** Variables that lead to the datastore. */
  protected abstract readonly env: NonNullable<CliOptions["env"]>;
  abstract [Symbol.asyncDispose](): Promise<void>;

  /** Runs one command, on this datastore unless `env` says otherwise. */
  async ctl(argv: readonly string[], options: CliOptions = {}): Promise<CliResult> {
    return await runInProcess(argv, { ...options, env: { ...this.env, ...options.env } });
  }

  /** As {@link ctl}, for what must succeed. @returns stdout @throws Error with stderr */
  async done(argv: readonly string[], options?: CliOptions): Promise<string> {
    const { status, stdout, stderr } = await this.ctl(argv, options);
    if (status !== 0) throw new Error(`netplugctl ${argv.join(" ")}: status ${status}: ${stderr}`);
    return stdout;
  }

  /** What a command prints with `-o json`, parsed, whatever its status. */
  async json<T = unknown>(...argv: readonly string[]): Promise<T> {
    return JSON.parse((await this.ctl([...argv, "-o", "json"])).stdout) as T;
  }

  /** Creates what `documents.ts` writes, with one command. */
  async create(...documents: readonly string[]): Promise<void> {
    await this.done(["create", "-f", "-"], { stdin: documents.join("\n") });
  }

  async createPool(name: string, cidr: string, more?: object): Promise<void> {
    await this.create(poolYaml(name, cidr, more));
  }

  /** Writes a file into the folder. @returns its path */
  file(name: string, content: string): string {
    const path = join(this.folder, name);
    writeFileSync(path, content);
    return path;
  }
}
