/** For tests: somebody who follows a document, and types what it shows into a shell. */

import { dirname } from "node:path";
import { clusterProgramPath } from "../../../tools/prerequisites/cluster-programs.ts";
import { distFolder } from "../programs/cni.ts";
import { runProgram } from "../programs/programs.ts";

/** What a command did. */
export interface Typed {
  readonly status: number;
  /** Both streams, one after the other. */
  readonly output: string;
}

/** A shell in which `netplugctl` and `kubectl netplug` are those of this build, and `kubectl` that of the cluster programs, once it is built. */
export class Reader {
  readonly #folder: string;
  readonly #env: Readonly<Record<string, string>>;

  /** @param folder is where relative paths lead, and the home @param env says where the cluster or the datastore is */
  constructor(folder: string, env: Readonly<Record<string, string>>) {
    this.#folder = folder;
    const programs = [distFolder, dirname(clusterProgramPath("kubectl")), process.env["PATH"] ?? ""];
    this.#env = { PATH: programs.join(":"), HOME: folder, ...env };
  }

  /** Runs lines as they stand; the first that fails ends them, where of a pipe only its last command counts. */
  async try(lines: string): Promise<Typed> {
    const { status, stdout, stderr } = await runProgram(["sh", "-e", "-c", lines], { cwd: this.#folder, env: this.#env });
    return { status, output: stdout + stderr };
  }

  /** The same, which must succeed. @returns what was printed @throws Error with it */
  async type(lines: string): Promise<string> {
    const { status, output } = await this.try(lines);
    if (status !== 0) throw new Error(`${lines}: status ${status}: ${output}`);
    return output;
  }
}
