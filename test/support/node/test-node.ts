/** For tests: a node on which `dist/netplug` is called as a container runtime calls it, with all its files in a temp folder. */

import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { cniPluginsFolder, type CniJson, type CniReply, distFolder, hostInterfaceName, pluginPath, spawnPlugin } from "../programs/cni.ts";
import type { AttachmentCall, CniCall, CniVerb, Json } from "../programs/cni-call.ts";
import type { EtcdServer, EtcdServerOptions } from "../servers/etcd.ts";
import type { TestNetns } from "./netns.ts";
import { applyPool, initialise, mustNetplugctl, runNetplugctl } from "../cli/netplugctl.ts";
import { EtcdNodeDatastore, isOnEtcd, type NodeDatastore } from "./node-datastore.ts";

const WITHIN_MS = 60_000;

/** One node with an initialised datastore of its own. */
export class TestNode implements AsyncDisposable {
  readonly folder: string = mkdtempSync(join(tmpdir(), "netplug-node-"));
  readonly datastore: NodeDatastore;
  readonly nodename: string;
  #containers = 0;

  private constructor(datastore: NodeDatastore, nodename: string) {
    this.datastore = datastore;
    this.nodename = nodename;
    mkdirSync(join(this.folder, "lib"));
  }

  /** Starts a datastore (etcd, unless the suite's part says Kubernetes), initialises it and makes a pool per CIDR given. */
  static async start(cidrs: readonly string[] = ["10.65.0.0/16"], options: EtcdServerOptions = {}): Promise<TestNode> {
    if (isOnEtcd) return await TestNode.startOn(await EtcdNodeDatastore.start(options), cidrs);
    const { KubernetesNodeDatastore } = await import("./kubernetes-node-datastore.ts");
    return await TestNode.startOn(await KubernetesNodeDatastore.start("node-a"), cidrs);
  }

  /** The same on a datastore that runs, and ends with the node. */
  static async startOn(datastore: NodeDatastore, cidrs: readonly string[]): Promise<TestNode> {
    const node = new TestNode(datastore, "node-a");
    try {
      await initialise(datastore.env, cidrs);
      return node;
    } catch (thrown) {
      await node[Symbol.asyncDispose]();
      throw thrown;
    }
  }

  /** Of tests that are about etcd. */
  get etcd(): EtcdServer {
    if (this.datastore instanceof EtcdNodeDatastore) return this.datastore.etcd;
    throw new Error("the node's datastore is not etcd");
  }

  get logFile(): string {
    return join(this.folder, "cni.log");
  }

  /** The log's lines so far, parsed. */
  logLines(): readonly Json[] {
    if (!existsSync(this.logFile)) return [];
    return readFileSync(this.logFile, "utf8")
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line) as Json);
  }

  /** Waits for what calls that were not awaited do. @throws Error with the log when that takes longer than a minute */
  async until(what: string, isSo: () => boolean): Promise<void> {
    for (const end = Date.now() + WITHIN_MS; !isSo(); await Bun.sleep(20))
      if (Date.now() > end) throw new Error(`${what}: not within 60 s: ${JSON.stringify(this.logLines())}`);
  }

  /** A network config for this node; `ipam` is merged one level deep. */
  config(overrides: Json = {}): Json {
    const { ipam, ...rest } = overrides;
    return {
      cniVersion: "1.1.0",
      name: "test-net",
      type: "netplug",
      nodename: this.nodename,
      ...this.datastore.config,
      log_level: "DEBUG",
      log_file_path: this.logFile,
      lib_dir: join(this.folder, "lib"),
      ipam_lock_file: join(this.folder, "ipam.lock"),
      endpoint_status_dir: join(this.folder, "endpoint-status"),
      agent_socket: "",
      ...rest,
      ipam: ipam === undefined ? { type: "netplug-ipam" } : { type: "netplug-ipam", ...(ipam as Json) },
    };
  }

  /** A container ID that no other test has. */
  newContainerID(): string {
    return `c${process.pid}x${this.#containers++}`;
  }

  /** A plugin for {@link call}: ours without a right, such as `net_admin`. */
  pluginWithout(capability: string): string {
    const path = join(this.folder, `without-${capability}`);
    const command = `exec setpriv --bounding-set=-${capability} --inh-caps=-${capability} ${pluginPath("netplug")}`;
    writeFileSync(path, `#!/bin/sh\n${command}\n`, { mode: 0o755 });
    return path;
  }

  /** Calls the plugin. */
  async call(verb: CniVerb, call: CniCall = {}): Promise<CniReply> {
    const config = call.config ?? this.config();
    const args = await this.datastore.prepare(verb, call);
    const env: Record<string, string | undefined> = {
      PATH: process.env["PATH"],
      CNI_COMMAND: verb,
      CNI_PATH: `${distFolder}:${cniPluginsFolder}`,
      CNI_CONTAINERID: call.containerID,
      CNI_NETNS: call.netns,
      CNI_IFNAME: call.ifname ?? (verb === "STATUS" || verb === "GC" || verb === "VERSION" ? undefined : "eth0"),
      CNI_ARGS: args,
      ...call.env,
    };
    const given = Object.fromEntries(Object.entries(env).filter((entry): entry is [string, string] => entry[1] !== undefined));
    const stdin = typeof config === "string" ? config : JSON.stringify(config);
    return await spawnPlugin(pluginPath(call.plugin ?? "netplug"), given, stdin);
  }

  /** ADD that must succeed. @throws Error with the plugin's own error */
  async add(netns: TestNetns, call: AttachmentCall): Promise<CniJson> {
    const reply = await this.call("ADD", { netns: netns.path, ...call });
    if (reply.status !== 0 || reply.json === undefined) throw new Error(`ADD ${call.containerID}: ${reply.stdout}${reply.stderr}`);
    return reply.json;
  }

  /** DEL that must succeed. */
  async del(call: AttachmentCall): Promise<void> {
    const reply = await this.call("DEL", call);
    if (reply.status !== 0) throw new Error(`DEL ${call.containerID}: ${reply.stdout}${reply.stderr}`);
  }

  /** Runs `netplugctl` on this node's datastore. @throws Error when it fails */
  async ctl(args: readonly string[], stdin = ""): Promise<string> {
    return await mustNetplugctl(this.datastore.env, args, stdin);
  }

  async createPool(name: string, spec: Json): Promise<void> {
    await applyPool(this.datastore.env, name, spec);
  }

  async apply(object: Json): Promise<void> {
    await this.ctl(["apply", "-f", "-"], JSON.stringify(object));
  }

  /** How many addresses are in use, as `ipam show` counts them: without those of damaged blocks, about which it ends with status 1. */
  async addressesInUse(): Promise<number> {
    const { stdout } = await runNetplugctl(this.datastore.env, ["ipam", "show", "-o", "json"]);
    const shown = JSON.parse(stdout) as { readonly pools: readonly { readonly inUse: number }[] };
    return shown.pools.reduce((sum, { inUse }) => sum + inUse, 0);
  }

  /** Every key under `/netplug/`, as etcd's own client lists them; on Kubernetes what stands for them. */
  async keys(): Promise<readonly string[]> {
    return await this.datastore.snapshot();
  }

  /** Name of the host side of an `eth0` whose call named no pod. */
  hostSide(containerID: string): string {
    return hostInterfaceName(this.datastore.podOf(containerID) ?? { containerID });
  }

  /** The workload endpoints that are recorded. */
  async endpoints(): Promise<readonly Json[]> {
    const known = await this.datastore.endpoints();
    if (known !== undefined) return known;
    const listed = JSON.parse(await this.ctl(["get", "workloadendpoints", "-A", "-o", "json"])) as { readonly items?: readonly Json[] };
    return listed.items ?? [];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.datastore[Symbol.asyncDispose]();
    rmSync(this.folder, { recursive: true, force: true });
  }
}
