/** The distribution's containerd as a private server: all that it writes lies in one temp folder. */

import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { cniPluginsFolder, distFolder } from "../support/programs/cni.ts";
import type { Json } from "../support/programs/cni-call.ts";
import { cgroupPlaces, removeCgroup } from "../support/daemons/cgroups.ts";
import { makeImage } from "../support/programs/image.ts";
import { CriClient } from "./cri-client.ts";
import { mustRunProgramSync } from "../support/programs/programs.ts";

/** The image that it has. */
export const IMAGE = "localhost/netplug-test:1";

const START_LIMIT_MS = 120_000;

export class PrivateContainerd implements AsyncDisposable {
  readonly folder: string = mkdtempSync(join(tmpdir(), "npgt-ctd-"));
  readonly socket: string = join(this.folder, "c.sock");
  /** For the cgroups of its pods: the name says whose they are when the test is killed. */
  readonly cgroup: string = `npgt-${process.pid}-containerd`;
  #cri: CriClient | undefined;
  readonly #server: Bun.Subprocess;

  private constructor(conflist: Json) {
    const folders = {
      bin: join(this.folder, "bin"),
      conf: join(this.folder, "net.d"),
      image: join(this.folder, "image"),
      logs: this.logFolder,
      lib: this.libFolder,
      run: this.runFolder,
    };
    for (const folder of Object.values(folders)) mkdirSync(folder, { recursive: true });
    for (const name of ["netplug", "netplug-ipam"]) symlinkSync(join(distFolder, name), join(folders.bin, name));
    for (const name of ["loopback", "portmap"]) symlinkSync(join(cniPluginsFolder, name), join(folders.bin, name));
    writeFileSync(join(folders.conf, "10-netplug.conflist"), JSON.stringify(conflist));
    writeFileSync(join(this.folder, "config.toml"), this.#config(folders.bin, folders.conf));
    // no config moves its results of plugins out of /var/lib, nor its shims' sockets out of /run
    const mounts = [this.libFolder, this.runFolder].map((path) => `mount --bind "${path}" ${path.replace(this.folder, "")} && `).join("");
    const place = ["unshare", "--mount", "sh", "-c", `${mounts}exec "$@"`, "sh"];
    this.#server = Bun.spawn([...place, "containerd", "--config", join(this.folder, "config.toml")], {
      stdin: "ignore",
      stdout: Bun.file(join(this.folder, "containerd.log")),
      stderr: Bun.file(join(this.folder, "containerd.log")),
    });
  }

  /** Connected when first used: a connection that was tried before the server listens stays broken. */
  get cri(): CriClient {
    this.#cri ??= new CriClient(this.socket);
    return this.#cri;
  }

  get logFolder(): string {
    return join(this.folder, "logs");
  }

  /** What it has as /var/lib. */
  get libFolder(): string {
    return join(this.folder, "var/lib");
  }

  /** What it has as /run. */
  get runFolder(): string {
    return join(this.folder, "run");
  }

  /** Starts it with this conflist, waits until its network is ready, and gives it the image. */
  static async start(conflist: Json): Promise<PrivateContainerd> {
    const containerd = new PrivateContainerd(conflist);
    try {
      await containerd.#untilReady();
      const archive = makeImage(join(containerd.folder, "image"), { tags: [IMAGE], entrypoint: ["/bin/sleep", "3600"] });
      containerd.#ctr(["image", "import", "--snapshotter", "native", archive]);
      return containerd;
    } catch (thrown) {
      await containerd[Symbol.asyncDispose]();
      throw thrown;
    }
  }

  /** The last lines of its log, for a failure's message. */
  log(): string {
    return readFileSync(join(this.folder, "containerd.log"), "utf8").split("\n").slice(-25).join("\n");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#server.exitCode === null) await this.#cri?.removeAllPods();
    this.#cri?.[Symbol.dispose]();
    this.#server.kill("SIGTERM");
    await this.#server.exited;
    for (const place of cgroupPlaces()) removeCgroup(join(place, this.cgroup));
    rmSync(this.folder, { recursive: true, force: true });
  }

  async #untilReady(): Promise<void> {
    let unmet: readonly string[] = [];
    for (const end = performance.now() + START_LIMIT_MS; performance.now() < end; await Bun.sleep(100)) {
      if (this.#server.exitCode !== null) break;
      try {
        using probe = new CriClient(this.socket);
        unmet = await probe.unmetConditions();
        if (unmet.length === 0) return;
      } catch (thrown) {
        unmet = [String(thrown)];
      }
    }
    throw new Error(`start containerd: ${unmet.join(", ")}\n${this.log()}`);
  }

  #ctr(args: readonly string[]): void {
    mustRunProgramSync(["ctr", "--address", this.socket, "--namespace", "k8s.io", ...args]);
  }

  /** Version 2 of the format, which 1.6 and later read. `native` needs no overlay file system. */
  #config(binFolder: string, confFolder: string): string {
    const cri = "io.containerd.grpc.v1.cri";
    return [
      "version = 2",
      `root = "${join(this.folder, "root")}"`,
      `state = "${join(this.folder, "state")}"`,
      'disabled_plugins = ["io.containerd.internal.v1.opt", "io.containerd.snapshotter.v1.btrfs", "io.containerd.snapshotter.v1.zfs", "io.containerd.snapshotter.v1.devmapper", "io.containerd.snapshotter.v1.aufs"]',
      "[grpc]",
      `  address = "${this.socket}"`,
      `[plugins."${cri}"]`,
      `  sandbox_image = "${IMAGE}"`,
      "  restrict_oom_score_adj = true",
      '  stream_server_address = "127.0.0.1"',
      `[plugins."${cri}".containerd]`,
      '  snapshotter = "native"',
      '  default_runtime_name = "runc"',
      `[plugins."${cri}".containerd.runtimes.runc]`,
      '  runtime_type = "io.containerd.runc.v2"',
      `[plugins."${cri}".cni]`,
      `  bin_dir = "${binFolder}"`,
      `  conf_dir = "${confFolder}"`,
      "",
    ].join("\n");
  }
}
