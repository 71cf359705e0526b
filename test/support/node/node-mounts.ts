/** For tests: a mount namespace in which folders of a node are small, full or read-only disks, and plugins that see them so. */

import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { distFolder } from "../programs/cni.ts";
import { nodePlace } from "./netns.ts";

/** A mount namespace of its own, in which network namespaces that are made later are seen; disposing it unmounts all. */
export class NodeMounts implements AsyncDisposable {
  readonly #keeper: Bun.Subprocess<"pipe", "ignore", "ignore">;

  private constructor(keeper: Bun.Subprocess<"pipe", "ignore", "ignore">) {
    this.#keeper = keeper;
  }

  static async start(): Promise<NodeMounts> {
    // It ends with its stdin, so not later than the test.
    const command = ["unshare", "--mount", "--propagation", "slave", "cat"];
    const keeper = Bun.spawn(command, { stdin: "pipe", stdout: "ignore", stderr: "ignore" });
    while (readFileSync(`/proc/${keeper.pid}/comm`, "utf8") !== "cat\n") await Bun.sleep(1);
    return new NodeMounts(keeper);
  }

  /** Runs a shell's script in there. @throws Error with what it said */
  run(script: string): void {
    nodePlace.must([...this.#enter(), "sh", "-ec", script]);
  }

  /** Puts an empty disk of its own onto a folder. */
  mount(folder: string, options: string): void {
    this.run(`mount -t tmpfs -o ${options} none ${folder}`);
  }

  remount(folder: string, access: "ro" | "rw"): void {
    this.run(`mount -o remount,${access} ${folder}`);
  }

  /** Where the test finds a path of it. */
  path(path: string): string {
    return `/proc/${this.#keeper.pid}/root${path}`;
  }

  /** Writes until no byte more fits, or makes empty files until there can be no more; {@link clear} takes them away. */
  fill(folder: string, what: "space" | "inodes"): void {
    const path = join(folder, "ballast");
    if (what === "space") this.run(`cat /dev/zero > ${path} 2> /dev/null || true`);
    else this.run(`i=0; while touch ${path}.$i 2> /dev/null; do i=$((i + 1)); done`);
  }

  clear(folder: string): void {
    this.run(`rm -f ${join(folder, "ballast")}*`);
  }

  /** A plugin for `TestNode.call()`: ours, called in there. @param folder where its script is written */
  plugin(folder: string, name: string): string {
    const path = join(folder, `mounted-${name}`);
    writeFileSync(path, `#!/bin/sh\nexec ${this.#enter().join(" ")} ${join(distFolder, name)}\n`, { mode: 0o755 });
    return path;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#keeper.stdin.end();
    await this.#keeper.exited;
  }

  #enter(): readonly string[] {
    return ["nsenter", `--mount=/proc/${this.#keeper.pid}/ns/mnt`];
  }
}
