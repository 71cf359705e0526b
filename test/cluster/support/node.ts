/** One node: a machine made of namespaces, with a containerd, a kubelet and, if wanted, a kube-proxy of its own, all with their usual paths. */

import { chmodSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { CNI_PLUGIN_PROGRAMS, clusterProgram } from "../../../tools/prerequisites/cluster-programs.ts";
import type { Json } from "../../support/programs/cni-call.ts";
import { CriClient } from "../../containerd/cri-client.ts";
import { eventually } from "../../support/time/eventually.ts";
import { type CommandResult, expectSuccess, runProgramSync } from "../../support/programs/programs.ts";
import { makeCgroups, planCgroups, removeCgroup } from "../../support/daemons/cgroups.ts";
import type { NodeCgroups } from "../../support/daemons/cgroups.ts";
import type { Cleaner } from "../../support/daemons/cleaner.ts";
import { Daemon } from "../../support/daemons/daemon.ts";
import { containerdConfig, KUBE_PROXY_HEALTH_PORT, kubeletConfig, kubeProxyConfig, SNAPSHOTTERS, STATIC_PODS } from "./node-config.ts";
import type { NodeWire } from "./underlay.ts";

export interface NodeOptions {
  readonly name: string;
  /** Exists; holds everything that the node writes. */
  readonly folder: string;
  readonly wire: NodeWire;
  readonly cleaner: Cleaner;
}

/** Variables of a program, where secrets belong. */
type Environment = Readonly<Record<string, string>>;

interface NodeProgramOptions {
  readonly stdin?: string;
  /** Besides what all programs of a node have. */
  readonly env?: Environment;
}

/** Started in steps, so that what does not wait for the API server can begin before it serves. */
export class ClusterNode {
  readonly name: string;
  readonly wire: NodeWire;
  /** Its first process: when this ends, so does everything on the node. */
  readonly init: Daemon;
  readonly containerd: Daemon;
  readonly #folder: string;
  readonly #cleaner: Cleaner;
  readonly #cgroups: NodeCgroups;
  #kubelet: Daemon | undefined;
  #kubeProxy: Daemon | undefined;

  constructor({ name, folder, wire, cleaner }: NodeOptions) {
    this.name = name;
    this.wire = wire;
    this.#folder = folder;
    this.#cleaner = cleaner;
    this.#cgroups = planCgroups(wire.netns);
    const { roots, leaves } = this.#cgroups;
    this.init = new Daemon({
      name: `${name}'s first process`,
      place: ["sh", join(import.meta.dir, "node-enter.sh"), `/run/netns/${wire.netns}`, folder, name, roots.join(" "), leaves.join(" ")],
      command: [],
      logFile: join(folder, "init.log"),
      cleaner,
      isReady: () => existsSync(join(folder, "ready")),
    });
    const config = `--config=${join(folder, "containerd.toml")}`;
    this.containerd = this.daemon("containerd", [clusterProgram("containerd"), config], () => this.#runtimeAnswers());
  }

  get kubelet(): Daemon {
    if (this.#kubelet === undefined) throw new Error(`kubelet of ${this.name}: not started yet`);
    return this.#kubelet;
  }

  /** Where the test finds what the node knows as `path`, below `/run`, `/var/lib`, `/var/log`, `/opt` or `/etc/cni/net.d`. */
  path(path: string): string {
    const inFolder = path.replace(/^\/etc\/cni\/net\.d/, "/net.d").replace(/^\/var\/run\//, "/run/");
    return join(this.#folder, inFolder);
  }

  /** Makes namespaces and folders, starts containerd, and gives it the image. */
  async startContainerd(image: string): Promise<void> {
    for (const cgroup of this.#cgroups.roots) await this.#cleaner.add({ cgroup });
    makeCgroups(this.#cgroups);
    writeFileSync(join(this.#folder, "mount-cgroups.sh"), `${this.#cgroups.mountScript}\n`);
    await this.init.start();
    mkdirSync(this.path("/opt/cni/bin"), { recursive: true });
    for (const name of CNI_PLUGIN_PROGRAMS) this.installPlugin(clusterProgram(name));
    writeFileSync(join(this.#folder, "containerd.toml"), containerdConfig(this.#snapshotter()));
    await this.containerd.start();
    this.importImage(image);
  }

  /** Gives containerd an image, from its archive. */
  importImage(archive: string): void {
    this.must(["ctr", "--namespace", "k8s.io", "image", "import", "--local", "--snapshotter", this.#snapshotter(), archive]);
  }

  /** Its Node object must exist, or the kubelet makes one. */
  async startKubelet(kubeconfigFile: string): Promise<void> {
    const config = join(this.#folder, "kubelet.json");
    mkdirSync(this.path(STATIC_PODS), { recursive: true });
    writeFileSync(config, JSON.stringify(kubeletConfig()));
    const addresses = this.wire.addresses.join(",");
    const flags = [`--config=${config}`, `--kubeconfig=${kubeconfigFile}`, `--hostname-override=${this.name}`, `--node-ip=${addresses}`];
    this.#kubelet = this.daemon("kubelet", [clusterProgram("kubelet"), ...flags], () => this.#isHealthy(10_248));
    await this.#kubelet.start();
  }

  /** It waits for the node's addresses, which the kubelet tells. @param network what kube-proxy has to know of it */
  async startKubeProxy(kubeconfigFile: string, network: Json): Promise<void> {
    const config = join(this.#folder, "kube-proxy.json");
    writeFileSync(config, JSON.stringify(kubeProxyConfig(this.name, kubeconfigFile, network)));
    this.#kubeProxy = this.daemon("kube-proxy", [clusterProgram("kube-proxy"), `--config=${config}`], () =>
      this.#isHealthy(KUBE_PROXY_HEALTH_PORT),
    );
    await this.#kubeProxy.start();
  }

  /**
   * As when the power fails, and comes back: processes, interfaces and what is in memory, `/run` among it, are gone; other files stay. Ends
   * when the kubelet runs; its pods may not.
   */
  async reboot(): Promise<void> {
    await this.init.stop();
    const daemons = [this.containerd, this.kubelet, ...(this.#kubeProxy === undefined ? [] : [this.#kubeProxy])];
    await Promise.all(daemons.map((daemon) => daemon.stop()));
    for (const root of this.#cgroups.roots) await eventually(() => mustRemoveCgroup(root));
    for (const path of ["run", "ready"]) rmSync(join(this.#folder, path), { recursive: true });
    this.wire.renew();
    makeCgroups(this.#cgroups);
    for (const daemon of [this.init, ...daemons]) await daemon.start();
  }

  /** Puts a plugin into `/opt/cni/bin`, as a link: a plugin that is built again is the new one at once. */
  installPlugin(path: string, name: string = basename(path)): void {
    const target = join(this.path("/opt/cni/bin"), name);
    rmSync(target, { force: true });
    symlinkSync(path, target);
  }

  /** Writes the network config that containerd uses, in one rename; with none, the node is NotReady. */
  setNetwork(conflist: Readonly<Record<string, unknown>> | undefined): void {
    const target = this.path("/etc/cni/net.d/10-test.conflist");
    if (conflist === undefined) {
      rmSync(target, { force: true });
      return;
    }
    const staging = join(dirname(target), ".staging");
    writeFileSync(staging, JSON.stringify(conflist, undefined, 2));
    chmodSync(staging, 0o600);
    renameSync(staging, target);
  }

  /** Runs a program on the node. */
  run(command: readonly string[], { stdin = "", env = {} }: NodeProgramOptions = {}): CommandResult {
    return runProgramSync([...this.#enter(), ...command], { stdin, env: { ...this.#environment(), ...env } });
  }

  /** {@link run}, which must succeed. @returns what it printed @throws Error with what it said */
  must(command: readonly string[], options?: NodeProgramOptions): string {
    return expectSuccess([`${this.name}:`, ...command], this.run(command, options));
  }

  /** A long-running program on the node, not started yet. */
  daemon(name: string, command: readonly string[], isReady: () => boolean | Promise<boolean>, env: Environment = {}): Daemon {
    return new Daemon({
      name: `${name} of ${this.name}`,
      // found when it starts: the node's first process is not there yet
      place: () => this.#enter(),
      command,
      logFile: join(this.#folder, `${name}.log`),
      cleaner: this.#cleaner,
      isReady,
      env: { ...this.#environment(), ...env },
    });
  }

  /** Joins the node's cgroups first, so that its processes are found in them, then its namespaces. */
  #enter(): readonly string[] {
    const pid = this.init.pid;
    if (pid === undefined) throw new Error(`enter ${this.name}: it does not run`);
    const join = this.#cgroups.leaves.map((leaf) => `echo $$ > ${leaf}/cgroup.procs`).join("; ");
    return ["sh", "-c", `${join}; exec nsenter -t ${pid} -m -u -i -n -p -C "$@"`, "sh"];
  }

  /** The shim is looked up in containerd's `PATH`. */
  #environment(): Record<string, string> {
    const folders = [dirname(clusterProgram("containerd")), dirname(clusterProgram("kubelet"))];
    return { PATH: [...folders, process.env["PATH"] ?? ""].join(":"), HOME: "/run" };
  }

  #snapshotter(): string {
    const chosen = readFileSync(join(this.#folder, "snapshotter"), "utf8").trim();
    if (!SNAPSHOTTERS.includes(chosen)) throw new Error(`snapshotter of ${this.name}: got "${chosen}"`);
    return chosen;
  }

  /** Its own interface answers before the one that the kubelet uses has looked at what an earlier containerd left; a kubelet ends then. */
  async #runtimeAnswers(): Promise<boolean> {
    using client = new CriClient(`/proc/${this.init.pid}/root/run/containerd/containerd.sock`);
    await client.unmetConditions();
    return true;
  }

  /** Health ports are on the node's own loopback, and a static busybox cannot fetch: names are beyond it. */
  #isHealthy(port: number): boolean {
    const { stdout } = this.run(["busybox", "nc", "127.0.0.1", String(port)], { stdin: "GET /healthz HTTP/1.0\r\n\r\n" });
    return stdout.startsWith("HTTP/1.0 200 ");
  }
}

/** What has ended in it needs a moment. */
function mustRemoveCgroup(folder: string): void {
  if (!removeCgroup(folder)) throw new Error(`remove cgroup ${folder}: it is in use`);
}
