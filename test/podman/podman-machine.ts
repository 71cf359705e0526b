/** The distribution's Podman on a machine of its own, as far as it can tell: it can be switched off and on. */

import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { cgroupPlaces, removeCgroup } from "../support/daemons/cgroups.ts";
import { cniPluginsFolder, distFolder } from "../support/programs/cni.ts";
import type { Json } from "../support/programs/cni-call.ts";
import { eventually } from "../support/time/eventually.ts";
import { makeImage } from "../support/programs/image.ts";
import { nodePlace } from "../support/node/netns.ts";
import { type CommandResult, expectSuccess, runProgramSync } from "../support/programs/programs.ts";

/** The image that it has. */
export const IMAGE = "localhost/netplug-test:1";

export class PodmanMachine implements AsyncDisposable {
  readonly #folder: string = mkdtempSync(join(tmpdir(), "npgt-podman-"));
  /** The name says whose its containers are when the test is killed. */
  readonly #cgroup: string = `npgt-${process.pid}-podman`;
  #init: Bun.Subprocess | undefined;

  private constructor(conflists: readonly Json[]) {
    const [bin, conf] = [join(this.#folder, "bin"), join(this.#folder, "net.d")];
    for (const folder of [bin, conf]) mkdirSync(folder);
    for (const name of ["netplug", "netplug-ipam"]) symlinkSync(join(distFolder, name), join(bin, name));
    for (const name of ["loopback", "portmap"]) symlinkSync(join(cniPluginsFolder, name), join(bin, name));
    for (const conflist of conflists) writeFileSync(join(conf, `${String(conflist["name"])}.conflist`), JSON.stringify(conflist));
    const [first] = conflists;
    const settings = [
      "[engine]",
      'runtime = "runc"',
      'cgroup_manager = "cgroupfs"',
      'events_logger = "none"',
      "[network]",
      'network_backend = "cni"',
      `network_config_dir = "${conf}"`,
      `cni_plugin_dirs = ["${bin}"]`,
      `default_network = "${String(first?.["name"])}"`,
      "",
    ];
    writeFileSync(join(this.#folder, "containers.conf"), settings.join("\n"));
  }

  /** @param conflists its networks; containers get the first one unless they ask for others */
  static async start(conflists: readonly Json[]): Promise<PodmanMachine> {
    const machine = new PodmanMachine(conflists);
    try {
      await machine.#switchOn();
      const folder = join(machine.#folder, "image");
      mkdirSync(folder);
      machine.podman(["load", "--quiet", "--input", makeImage(folder, { tags: [IMAGE], entrypoint: [] })]);
      return machine;
    } catch (thrown) {
      await machine[Symbol.asyncDispose]();
      throw thrown;
    }
  }

  /** Runs a program on the machine. */
  run(command: readonly string[], stdin = "", env: Readonly<Record<string, string>> = {}): CommandResult {
    const unshare = `/proc/${this.#init?.pid ?? 0}/ns`;
    return runProgramSync(["nsenter", `--mount=${unshare}/mnt`, `--pid=${unshare}/pid_for_children`, ...command], {
      cwd: "/",
      env: { ...process.env, CONTAINERS_CONF: join(this.#folder, "containers.conf"), ...env },
      stdin,
    });
  }

  /** Runs `podman`. */
  tryPodman(args: readonly string[]): CommandResult {
    return this.run(["podman", "--storage-driver=vfs", ...args]);
  }

  /** @returns what it prints @throws Error with what it said when it failed */
  podman(args: readonly string[]): string {
    return expectSuccess(["podman", ...args], this.tryPodman(args)).trim();
  }

  /** Starts a container in the background. @returns its ID */
  runContainer(options: readonly string[], command: readonly string[] = ["sleep", "3600"]): string {
    return this.podman(["run", "--detach", ...this.#place, ...options, IMAGE, ...command]);
  }

  /** Runs a container to its end. */
  tryContainer(options: readonly string[], command: readonly string[]): CommandResult {
    return this.tryPodman(["run", "--rm", ...this.#place, ...options, IMAGE, ...command]);
  }

  /** Builds an image on the one that it has, by one command. @returns what was printed */
  build(command: string): string {
    // of a build it is the cgroup itself, which must not have others in it
    const build = ["podman", "--storage-driver=vfs", "build", `${this.#cgroupParent}/build`, "--pull-never", "--no-cache", "--file=-"];
    return expectSuccess(build, this.run(build, `FROM ${IMAGE}\nRUN ${command}\n`));
  }

  /** The container's address in a network, as Podman shows it. */
  addressOf(container: string, network: string): string {
    return this.podman(["inspect", "--format", `{{(index .NetworkSettings.Networks "${network}").IPAddress}}`, container]);
  }

  /** As when the power fails: processes, mounts and /run are gone, /var/lib stays. */
  async reboot(): Promise<void> {
    await this.#switchOff();
    await this.#switchOn();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#init !== undefined) this.tryPodman(["rm", "--force", "--all", "--time=0"]);
    await this.#switchOff();
    for (const place of cgroupPlaces()) removeCgroup(join(place, this.#cgroup));
    rmSync(this.#folder, { recursive: true, force: true });
  }

  get #place(): readonly string[] {
    return [this.#cgroupParent, "--stop-timeout=0"];
  }

  get #cgroupParent(): string {
    return `--cgroup-parent=/${this.#cgroup}`;
  }

  async #switchOn(): Promise<void> {
    const ready = join(this.#folder, "ready");
    const namespaces = ["--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "--propagation=private"];
    this.#init = Bun.spawn(["unshare", ...namespaces, "sh", join(import.meta.dir, "machine-init.sh"), this.#folder], {
      stdin: "ignore",
      stdout: "ignore",
      stderr: "inherit",
    });
    await eventually(() => rmSync(ready));
  }

  async #switchOff(): Promise<void> {
    this.#init?.kill("SIGKILL");
    await this.#init?.exited;
    this.#init = undefined;
    // the kernel takes their interfaces away with the containers
    await eventually(() => {
      const left = nodePlace.links().filter(({ ifname }) => ifname !== "lo");
      if (left.length > 0) throw new Error(`switch off: interface "${left[0]?.ifname}" is left`);
    });
  }
}
