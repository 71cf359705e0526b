/** The demo's small world: one network namespace that plays the host with etcd in it, and one per pod. All of it goes again. */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { repositoryRoot } from "../repository.ts";
import { TaskFailure } from "../terminal.ts";
import { type CommandResult, runProgramSync } from "../../test/support/programs/programs.ts";

/** Where `ip netns` keeps namespaces. */
const NETNS_FOLDER = "/run/netns";

/** Runs programs inside the namespaces of the demo and removes everything at the end. */
export class DemoWorld implements AsyncDisposable {
  readonly folder: string = mkdtempSync(join(tmpdir(), "netplug-demo-"));
  readonly host: string = `netplug-demo-${process.pid}`;
  readonly #namespaces: string[] = [];
  #etcd: Bun.Subprocess | undefined;
  #kept = false;

  /** File that the plugin logs to, with the ledger of every ADD and DEL. */
  get logFile(): string {
    return join(this.folder, "cni.log");
  }

  podNamespace(pod: string): string {
    return `${this.host}-${pod}`;
  }

  addNamespace(name: string): void {
    this.#must(["ip", "netns", "add", name]);
    this.#namespaces.push(name);
  }

  /** @throws TaskFailure when etcd does not answer within 10 s */
  async startHost(): Promise<void> {
    this.addNamespace(this.host);
    this.#must(["ip", "-n", this.host, "link", "set", "lo", "up"]);
    for (const key of ["net.ipv4.ip_forward", "net.ipv6.conf.all.forwarding"]) this.mustOnHost(["sysctl", "-qw", `${key}=1`]);
    this.#etcd = Bun.spawn(["ip", "netns", "exec", this.host, "etcd", "--data-dir", join(this.folder, "etcd")], {
      stdin: "ignore",
      stdout: "ignore",
      stderr: Bun.file(join(this.folder, "etcd.log")),
    });
    for (const end = performance.now() + 10_000; performance.now() < end; await Bun.sleep(50)) {
      if (this.onHost(["etcdctl", "endpoint", "health"], { ETCDCTL_API: "3" }).status === 0) return;
    }
    throw new TaskFailure(`etcd did not become healthy within 10 s; its log is ${join(this.folder, "etcd.log")}`);
  }

  /** Runs a program in the namespace that plays the host. */
  onHost(command: readonly string[], env: Readonly<Record<string, string>> = {}, stdin = ""): CommandResult {
    return this.#run(["ip", "netns", "exec", this.host, ...command], env, stdin);
  }

  mustOnHost(command: readonly string[], env: Readonly<Record<string, string>> = {}, stdin = ""): string {
    return this.#must(["ip", "netns", "exec", this.host, ...command], env, stdin);
  }

  netplugctl(args: readonly string[], stdin = ""): string {
    return this.mustOnHost([join(repositoryRoot, "dist", "netplugctl"), ...args], { ETCD_ENDPOINTS: "http://127.0.0.1:2379" }, stdin);
  }

  /** Calls the plugin as a container runtime does. */
  cni(verb: "ADD" | "DEL", pod: string, cniArgs = ""): CommandResult {
    const networkConfig = {
      cniVersion: "1.1.0",
      name: "demo",
      type: "netplug",
      nodename: "demo-node",
      etcd_endpoints: "http://127.0.0.1:2379",
      ipam: { type: "netplug-ipam" },
      log_level: "INFO",
      log_file_path: this.logFile,
      lib_dir: join(this.folder, "lib"),
      ipam_lock_file: join(this.folder, "ipam.lock"),
      agent_socket: "",
    };
    const env = {
      CNI_COMMAND: verb,
      CNI_CONTAINERID: `demo-${pod}`,
      CNI_NETNS: join(NETNS_FOLDER, this.podNamespace(pod)),
      CNI_IFNAME: "eth0",
      CNI_PATH: join(repositoryRoot, "dist"),
      CNI_ARGS: [`K8S_POD_NAMESPACE=default`, `K8S_POD_NAME=${pod}`, cniArgs].filter((piece) => piece !== "").join(";"),
    };
    return this.onHost([join(repositoryRoot, "dist", "netplug")], env, JSON.stringify(networkConfig));
  }

  inPod(pod: string, command: readonly string[]): CommandResult {
    return this.#run(["ip", "netns", "exec", this.podNamespace(pod), ...command]);
  }

  /** Leaves everything standing for the person to look at. */
  keep(): void {
    this.#etcd?.unref();
    this.#etcd = undefined;
    this.#namespaces.length = 0;
    this.#kept = true;
  }

  /** What a person runs to remove what {@link keep} left. */
  removalCommands(pods: readonly string[]): readonly string[] {
    return [
      `kill ${this.#etcd?.pid ?? ""}`.trim(),
      ...[...pods.map((pod) => this.podNamespace(pod)), this.host].map((name) => `ip netns del ${name}`),
      `rm -r ${this.folder}`,
    ];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#etcd !== undefined) {
      this.#etcd.kill("SIGTERM");
      await this.#etcd.exited;
    }
    for (const name of this.#namespaces.reverse()) this.#run(["ip", "netns", "del", name]);
    if (!this.#kept) rmSync(this.folder, { recursive: true, force: true });
  }

  #must(command: readonly string[], env: Readonly<Record<string, string>> = {}, stdin = ""): string {
    const result = this.#run(command, env, stdin);
    if (result.status === 0) return result.stdout;
    throw new TaskFailure(`${command.join(" ")}: ended with status ${result.status}\n${result.stdout}${result.stderr}`);
  }

  #run(command: readonly string[], env: Readonly<Record<string, string>> = {}, stdin = ""): CommandResult {
    return runProgramSync(command, { env: { PATH: process.env["PATH"], ...env }, stdin });
  }
}
