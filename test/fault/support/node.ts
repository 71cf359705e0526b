/**
 * One node of a fault test: namespaces of its own, its part of an etcd, a bystander that must not be touched, and a pod that things happen
 * to.
 */

import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { PluginName } from "../../../src/cni/call.ts";
import type { Host } from "../../../src/cni/host.ts";
import { runPlugin } from "../../../src/cni/plugin.ts";
import { realHost } from "../../../src/cni/real-host.ts";
import { messageOf } from "../../../src/lib/errors.ts";
import { createLog, type LogRecord } from "../../../src/lib/log/log.ts";
import { type Netns, openNetns } from "../../../src/linux/netns.ts";
import type { CniJson, CniReply } from "../../support/programs/cni.ts";
import type { CniVerb, Json } from "../../support/programs/cni-call.ts";
import { cniPluginsFolder, distFolder, hostInterfaceName, spawnPlugin } from "../../support/programs/cni.ts";
import type { BlockRecord } from "../../support/servers/block-record.ts";
import { type EtcdServer, type EtcdServerOptions, startEtcd } from "../../support/servers/etcd.ts";
import { type EtcdContent, readEtcd, readEtcdctl } from "../../support/servers/etcd-content.ts";
import { applyPool, initialise, runNetplugctl } from "../../support/cli/netplugctl.ts";
import { TestNetns } from "../../support/node/netns.ts";
import { type Flow, KUBERNETES_POD, WITHOUT_WAIT } from "./flows.ts";
import { kernelIn } from "./node-kernel.ts";
import { blocksIn, compareTraces, ofNode, type Traces, tracesInEtcd, tracesInNetns, tracesOfHostLocal } from "./traces.ts";
import type { Moment } from "./faults.ts";
import { callVictim, type VictimEnd } from "./victims.ts";

export interface CallOptions {
  /** @default that of the node's flow */
  readonly plugin?: PluginName;
  /** @default the node's pod */
  readonly containerID?: string;
  readonly netns?: string;
  /** @default "eth0" */
  readonly ifname?: string;
  /** Keys of the network config that differ. */
  readonly config?: Json;
  /** What the plugin gets instead of the real host; not for a process of its own. */
  readonly host?: (real: Host) => Host;
  /** How far the clock of a process of its own is ahead. */
  readonly laterMs?: number;
}

/** For calls of a container that never was. */
export const ANOTHER: CallOptions = { containerID: "another", netns: "/run/netns/npgt-never" };

/** The same a minute later, when no ADD of now can be under way any more. */
export const LATER: CallOptions = { ...ANOTHER, laterMs: 60_001 };

let nodes = 0;
let calls = 0;

/** Greater than any number that the kernel gives a process. */
const NO_PROCESS = 4_194_304;

/** Namespaces; made before the node, all at once, so that many nodes can be made beside each other. */
interface Places {
  readonly host: TestNetns;
  readonly pod: TestNetns;
  readonly bystander: TestNetns;
}

export class FaultNode implements AsyncDisposable {
  readonly flow: Flow;
  readonly etcd: EtcdServer;
  readonly name: string;
  readonly folder: string = mkdtempSync(join(tmpdir(), "npgt-fault-"));
  readonly pod: TestNetns;
  readonly containerID: string;
  /** What the log said during the last call in this process. */
  log: readonly LogRecord[] = [];
  readonly #number = ++nodes;
  readonly #server: ReturnType<typeof Bun.serve>;
  readonly #hostPlace: TestNetns;
  readonly #hostNetns: Netns;
  readonly #bystanderPlace: TestNetns;
  #before: Traces = new Set();
  #bystanderBefore: Traces = new Set();

  private constructor(etcd: EtcdServer, flow: Flow, { host, pod, bystander }: Places) {
    this.flow = flow;
    this.etcd = etcd;
    [this.#hostPlace, this.pod, this.#bystanderPlace] = [host, pod, bystander];
    // Ended by a letter, so that no name is the beginning of another.
    this.name = `fault${process.pid}x${this.#number}n`;
    this.containerID = `pod${process.pid}x${this.#number}c`;
    this.#server = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: ({ url }) => answer(new URL(url).pathname) });
    const netns = openNetns(host.path);
    if (netns === undefined) throw new Error(`open ${host.path}: it is not there`);
    this.#hostNetns = netns;
    mkdirSync(join(this.folder, "endpoint-status"));
    mkdirSync(join(this.folder, "lib"));
  }

  /** A node on which another container runs already. @param etcd is initialised */
  static async start(etcd: EtcdServer, flow: Flow): Promise<FaultNode> {
    const [host, pod, bystander] = await Promise.all([TestNetns.create(), TestNetns.create(), TestNetns.create()]);
    const node = new FaultNode(etcd, flow, { host, pod, bystander });
    try {
      await host.mustAsync(["ip", "link", "set", "lo", "up"]);
      // Other main plugins wait seconds for the kernel to find out that nobody else has an IPv6 address.
      if (flow.mainPlugin !== undefined) await pod.mustAsync(["sysctl", "-qw", "net.ipv6.conf.default.accept_dad=0"]);
      await node.#createPools();
      // The block is claimed, so that the next address can be told; nothing waits for policy yet.
      const reply = await node.call("ADD", { containerID: `by${node.containerID}`, netns: bystander.path, config: WITHOUT_WAIT });
      if (reply.status !== 0) throw new Error(`ADD of the bystander: ${reply.stdout}`);
      node.#before = await node.#look(await readEtcd(etcd.endpoint));
      node.#bystanderBefore = new Set(await tracesInNetns("bystander", bystander.netns));
      return node;
    } catch (thrown) {
      await node[Symbol.asyncDispose]();
      throw thrown;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server.stop(true);
    this.#hostNetns[Symbol.dispose]();
    await Promise.all([this.pod, this.#bystanderPlace, this.#hostPlace].map((place) => place[Symbol.asyncDispose]()));
    rmSync(this.folder, { recursive: true, force: true });
  }

  /** Name of the namespace that plays the host's. */
  get hostNetns(): string {
    return this.#hostPlace.netns;
  }

  get hostInterface(): string {
    return hostInterfaceName({ containerID: this.containerID });
  }

  /** What the files of the pod's attachment are called. */
  get attachmentFile(): string {
    return `${this.name}-net@${this.containerID}@eth0`;
  }

  /** Whether an ADD of the pod's container still has its attachment. */
  isHeld(): boolean {
    return existsSync(join(this.folder, "attached", this.attachmentFile));
  }

  /** @param cniVersion 1.0.0 is the newest that Debian's plugins speak: nobody has to agree on another */
  config(overrides: Json = {}, cniVersion = "1.0.0"): Json {
    const { folder, flow } = this;
    return {
      cniVersion,
      name: `${this.name}-net`,
      nodename: this.name,
      etcd_endpoints: this.etcd.endpoint,
      log_level: "DEBUG",
      lib_dir: join(folder, "lib"),
      ipam_lock_file: join(folder, "ipam.lock"),
      agent_socket: "",
      ...flow.config({ folder, server: this.#server.url.href, pools: this.#pools(), number: this.#number }),
      ...overrides,
    };
  }

  /** Calls our plugin in this process. */
  async call(verb: CniVerb, options: CallOptions = {}): Promise<CniReply> {
    const log: LogRecord[] = [];
    this.log = log;
    const stdin = JSON.stringify(this.#configOf(verb, options));
    let stdout = "";
    const begin = realHost().sinceBoot();
    const began = realHost().clock.monotonic();
    const real: Host = {
      ...realHost(),
      env: this.#environment(verb, options, cniPluginsFolder),
      kernel: kernelIn(this.#hostNetns),
      readStdin: () => Promise.resolve(stdin),
      writeAnswer: (text) => void (stdout = text),
      // Each call is as a process of its own.
      processStartSinceBoot: () => begin,
      processStart: () => began,
      processId: NO_PROCESS + ++calls,
      openLog: ({ level }, fields) =>
        createLog({ clock: realHost().clock, level, sinks: [{ write: (record) => log.push(record) }], fields }),
    };
    let stderr = "";
    const status = await runPlugin(options.plugin ?? this.flow.plugin, options.host?.(real) ?? real).catch((unwritten: unknown) => {
      stderr = `write answer: ${messageOf(unwritten)}`;
      return 1;
    });
    return { status, stdout, stderr, json: stdout === "" ? undefined : (JSON.parse(stdout) as CniJson) };
  }

  /** Calls the plugin, by way of the main plugin where the flow has one, as a process that kills itself at a step. */
  async callVictim(program: string, verb: CniVerb, at: number, moment: Moment, options: CallOptions = {}): Promise<VictimEnd> {
    const { mainPlugin } = this.flow;
    const { plugin = this.flow.plugin, laterMs = 0 } = options;
    const env = this.#environment(verb, options, mainPlugin === undefined ? cniPluginsFolder : dirname(program));
    const job = { plugin, at, moment, laterMs, ...(mainPlugin === undefined && { hostNetns: this.#hostPlace.path }) };
    return await callVictim(program, job, env, JSON.stringify(this.#configOf(verb, options)), mainPlugin);
  }

  /** Calls the main plugin, or ours where there is no other: as the runtime does. */
  async callMain(verb: CniVerb): Promise<CniReply> {
    const { mainPlugin } = this.flow;
    if (mainPlugin === undefined) return await this.call(verb);
    const env = this.#environment(verb, {}, `${distFolder}:${cniPluginsFolder}`);
    return await spawnPlugin(mainPlugin, env, JSON.stringify(this.#configOf(verb, {})));
  }

  /** Writes the status file that an agent writes once the next ADD's policy is programmed. */
  async programPolicy(): Promise<void> {
    if (!this.flow.waits) return;
    const next = blocksIn(ofNode(await readEtcd(this.etcd.endpoint), this.name)).map(nextAddress);
    const status = {
      ifaceName: this.hostInterface,
      containerID: this.containerID,
      ipv4Nets: next.filter((address) => !address.includes(":")),
      ipv6Nets: next.filter((address) => address.includes(":")),
    };
    writeFileSync(join(this.folder, "endpoint-status", `cni ${this.containerID} eth0`), JSON.stringify(status));
  }

  /** What is different from before the pod came; empty when nothing of it is left. */
  async changes(): Promise<readonly string[]> {
    return compareTraces(this.#before, await this.#look(await readEtcd(this.etcd.endpoint)));
  }

  /**
   * Looks with all tools that there are, once at the end of a test.
   *
   * @returns what is different from before the pod came, for the bystander too, and what `netplugctl ipam check` finds
   */
  async verify(): Promise<readonly string[]> {
    const changes = compareTraces(this.#before, await this.#look(await readEtcdctl(this.etcd)));
    const bystander = compareTraces(this.#bystanderBefore, new Set(await tracesInNetns("bystander", this.#bystanderPlace.netns)));
    return [...changes, ...bystander, ...(await this.#problems())];
  }

  /** What our own consistency check says of this node's pools. */
  async #problems(): Promise<readonly string[]> {
    if (!this.flow.hasOwnIpam) return [];
    const { stdout } = await runNetplugctl(accessTo(this.etcd), ["ipam", "check", "-o", "json"]);
    const { problems } = JSON.parse(stdout) as { readonly problems: readonly Json[] };
    const own = [this.name, `"10.66.${this.#number}.`, `"fd66:${this.#number}:`];
    return problems.map((problem) => JSON.stringify(problem)).filter((text) => own.some((word) => text.includes(word)));
  }

  async #look(content: EtcdContent): Promise<Traces> {
    const [host, pod] = await Promise.all([tracesInNetns("host", this.#hostPlace.netns), tracesInNetns("pod", this.pod.netns)]);
    return new Set([...host, ...pod, ...tracesInEtcd(ofNode(content, this.name)), ...tracesOfHostLocal(join(this.folder, "host-local"))]);
  }

  #pools(): { readonly 4: string; readonly 6: string } {
    return { 4: `${this.name}-v4`, 6: `${this.name}-v6` };
  }

  async #createPools(): Promise<void> {
    if (!this.flow.hasOwnIpam) return;
    const pools = this.#pools();
    const [v4, v6] = [`10.66.${this.#number}.0/28`, `fd66:${this.#number}::/124`];
    await createPool(this.etcd, pools[4], { cidr: v4, blockSize: 28 });
    await createPool(this.etcd, pools[6], { cidr: v6, blockSize: 124 });
  }

  #configOf(verb: CniVerb, { config = {} }: CallOptions): Json {
    const valid = [{ containerID: `by${this.containerID}`, ifname: "eth0" }];
    if (verb !== "GC") return this.config(config);
    return this.config({ "cni.dev/valid-attachments": valid, ...config }, "1.1.0");
  }

  #environment(
    verb: CniVerb,
    { containerID = this.containerID, netns = this.pod.path, ifname = "eth0" }: CallOptions,
    cniPath: string,
  ): Record<string, string> {
    const attachment = { CNI_CONTAINERID: containerID, CNI_NETNS: netns, CNI_IFNAME: ifname };
    const args = containerID === this.containerID && this.flow.args !== undefined ? { CNI_ARGS: this.flow.args } : {};
    return { PATH: process.env["PATH"] ?? "", CNI_COMMAND: verb, CNI_PATH: cniPath, ...(verb === "GC" ? {} : { ...attachment, ...args }) };
  }
}

/** The Kubernetes API, as far as an ADD asks it; any other path is a readiness gate. */
function answer(path: string): Response {
  const { namespace, name, uid } = KUBERNETES_POD;
  if (!path.startsWith("/api")) return new Response(null, { status: 204 });
  if (path === `/api/v1/namespaces/${namespace}`) {
    return Response.json({ apiVersion: "v1", kind: "Namespace", metadata: { name: namespace, uid: "0", resourceVersion: "1" } });
  }
  if (path === `/api/v1/namespaces/${namespace}/pods/${name}`) {
    return Response.json({
      apiVersion: "v1",
      kind: "Pod",
      metadata: { namespace, name, uid, resourceVersion: "1" },
      spec: { containers: [{ name: "web", image: "web:1" }] },
    });
  }
  return Response.json({ apiVersion: "v1", kind: "Status", status: "Failure", reason: "NotFound", code: 404 }, { status: 404 });
}

/** The address that a block gives next, as a host's prefix. */
function nextAddress({ cidr, free }: BlockRecord): string {
  const [base = ""] = cidr.split("/");
  const ordinal = Number.parseInt(free, 10);
  if (base.includes(":")) return `${base}${ordinal === 0 ? "" : ordinal.toString(16)}/128`;
  const octets = base.split(".").map(Number);
  return `${octets.slice(0, 3).join(".")}.${(octets[3] ?? 0) + ordinal}/32`;
}

/** A pool that gives addresses only to those who name it. */
export async function createPool(
  etcd: EtcdServer,
  name: string,
  spec: { readonly cidr: string; readonly blockSize: number },
): Promise<void> {
  await applyPool(accessTo(etcd), name, { ...spec, assignmentMode: "Manual" });
}

/** An etcd that is one of ours. */
export async function startInitialisedEtcd(options: EtcdServerOptions = {}): Promise<EtcdServer> {
  const etcd = await startEtcd({ quick: true, ...options });
  await initialise(accessTo(etcd), []);
  return etcd;
}

/** For `netplugctl`. */
export function accessTo({ endpoint }: EtcdServer): Readonly<Record<string, string>> {
  return { ETCD_ENDPOINTS: endpoint };
}
