/** The real thing under test: `dist/netplug` and `dist/netplugctl` on a real datastore, and network namespaces. */

import { existsSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { ApiServer } from "../../support/servers/api-server.ts";
import { type CniReply, cniPluginsFolder, distFolder, pluginPath, spawnPlugin } from "../../support/programs/cni.ts";
import type { CniVerb, Json } from "../../support/programs/cni-call.ts";
import { createNode, createPod, deletePod, podsIn } from "../../support/servers/kubernetes.ts";
import { netplugctl, runNetplugctl } from "../../support/cli/netplugctl.ts";
import { EtcdNodeDatastore, isOnEtcd } from "../../support/node/node-datastore.ts";
import { startPodWorldOnKubernetes } from "../../support/node/pod-world.ts";
import { TestNode } from "../../support/node/test-node.ts";
import { type BlockView, readStoredInEtcd, readStoredInKubernetes, type Stored } from "./oracle.ts";
import { type AddressDemand, type Asked, networkOf, type NodeName, NODES, type PodAnnotations, RACKS, type Sandbox } from "./state.ts";

const NAMESPACE = "default";
/** What a history may leave behind on the API server. */
const KINDS = ["ippools", "ipreservations", "ipamconfigurations", "ipamblocks"];

/** What `netplugctl ipam explain` says of an ADD. */
export interface Explained {
  readonly addresses: readonly string[];
  /** The messages of the errors that it would fail with. */
  readonly refusals: readonly string[];
}

export interface CallOptions {
  /** For CHECK and DEL; absent: none is given. */
  readonly prevResult?: object | undefined;
  /** @default the sandbox's namespace */
  readonly netns?: string | undefined;
  /** Milliseconds after which the process is killed. */
  readonly killAfterMs?: number;
}

/** Of one run of the test; {@link World.begin} empties it for each history. */
export class World implements AsyncDisposable {
  readonly #node: TestNode;
  readonly #api: ApiServer | undefined;
  #history = 0;
  #containers = 0;

  private constructor(node: TestNode, api: ApiServer | undefined) {
    this.#node = node;
    this.#api = api;
  }

  static async start(): Promise<World> {
    if (isOnEtcd) return new World(await TestNode.startOn(await EtcdNodeDatastore.start({ quick: true }), []), undefined);
    const { api, node } = await startPodWorldOnKubernetes({ cidrs: [] });
    await createNode(api, NODES[1], []);
    for (const name of NODES) await api.kubectl(["label", "node", name, `rack=${RACKS[name]}`]);
    return new World(node, api);
  }

  get hasPods(): boolean {
    return this.#api !== undefined;
  }

  /** Forgets everything, and initialises again. */
  async begin(): Promise<void> {
    this.#history++;
    const api = this.#api;
    if (api !== undefined) {
      for (const kind of KINDS) await api.mustRequest("DELETE", `/apis/netplug.io/v3/${kind}`);
      const { items } = await api.mustRequest<{ readonly items: readonly { readonly metadata: { readonly name: string } }[] }>(
        "GET",
        podsIn(NAMESPACE),
      );
      for (const { metadata } of items) await this.deletePod(metadata.name);
      return;
    }
    await this.#node.etcd.ctl(["del", "--prefix", "/netplug/"]);
    await this.#node.ctl(["init"]);
    for (const name of NODES) {
      await this.#node.apply({ apiVersion: "netplug.io/v3", kind: "Node", metadata: { name, labels: { rack: RACKS[name] } }, spec: {} });
    }
  }

  /** What is stored, by the datastore's own account. */
  async stored(): Promise<Stored> {
    return this.#api === undefined ? await readStoredInEtcd(this.#node.etcd.endpoint) : await readStoredInKubernetes(this.#api);
  }

  async blocks(): Promise<readonly BlockView[]> {
    return (await this.stored()).blocks;
  }

  /** Waits until what a killed process may have sent has come. */
  async settle(): Promise<void> {
    const look = async (): Promise<string> =>
      JSON.stringify(await this.stored(), (_, value: unknown) => (value instanceof Map ? [...value] : value));
    let last = await look();
    for (let same = 0; same < 3;) {
      await Bun.sleep(20);
      const next = await look();
      same = next === last ? same + 1 : 0;
      last = next;
    }
  }

  /** A container ID as runtimes make them. */
  newContainerID(): string {
    return new Bun.CryptoHasher("sha256").update(`${process.pid} ${performance.timeOrigin} ${this.#containers++}`).digest("hex");
  }

  /** Starts `netplugctl`, and kills it. */
  async killedCtl(args: readonly string[], killAfterMs: number): Promise<void> {
    await runKilled([netplugctl, ...args], { PATH: process.env["PATH"] ?? "", ...this.#node.datastore.env }, "", killAfterMs);
    await this.settle();
  }

  /** Runs `netplugctl`. */
  async ctl(args: readonly string[], stdin = ""): Promise<CniReply> {
    return await runNetplugctl(this.#node.datastore.env, args, stdin);
  }

  /** The same, which must succeed. @returns stdout */
  async mustCtl(args: readonly string[], stdin = ""): Promise<string> {
    return await this.#node.ctl(args, stdin);
  }

  async apply(kind: string, name: string, spec: object): Promise<CniReply> {
    return await this.ctl(["apply", "-f", "-"], JSON.stringify({ apiVersion: "netplug.io/v3", kind, metadata: { name }, spec }));
  }

  /** @returns its UID */
  async createPod(name: string, node: NodeName, annotations: PodAnnotations): Promise<string> {
    if (this.#api === undefined) return crypto.randomUUID();
    const texts = Object.fromEntries(Object.entries(annotations).map(([key, value]) => [key, JSON.stringify(value)]));
    return (await createPod(this.#api, { name, annotations: texts, spec: { nodeName: node } })).uid;
  }

  async deletePod(name: string): Promise<void> {
    if (this.#api !== undefined) await deletePod(this.#api, { namespace: NAMESPACE, name });
  }

  /** Calls the plugin for an attachment. @returns undefined when it was killed */
  async call(verb: CniVerb, { sandbox, ifName, demand }: Asked, options: CallOptions = {}): Promise<CniReply | undefined> {
    const netns = "netns" in options ? options.netns : sandbox.netns.path;
    const env = {
      ...this.#environment(verb),
      CNI_CONTAINERID: sandbox.id,
      CNI_IFNAME: ifName,
      CNI_ARGS: argsOf(sandbox, demand.explicit?.via === "IP" ? demand.explicit.addresses[0] : undefined),
      ...(netns === undefined ? {} : { CNI_NETNS: netns }),
    };
    const { prevResult, killAfterMs } = options;
    const config = { ...this.#config(sandbox.node, ifName), ...configOf(demand), ...(prevResult === undefined ? {} : { prevResult }) };
    if (killAfterMs === undefined) return await spawnPlugin(pluginPath(sandbox.plugin), env, JSON.stringify(config));
    await runKilled([pluginPath(sandbox.plugin)], env, JSON.stringify(config), killAfterMs);
    return undefined;
  }

  /** Asks what an ADD would come to, before it is called. @param isFurther its sandbox has other interfaces: then no pod is named */
  async explain({ sandbox: { node, pod }, demand: { families, pools = {} } }: Asked, isFurther: boolean): Promise<Explained> {
    const words = [
      `--node=${node}`,
      `--families=${families.map((family) => `IPv${family}`).join(",")}`,
      ...(pools.ipv4 === undefined ? [] : [`--ipv4-pools=${pools.ipv4.join(",")}`]),
      ...(pools.ipv6 === undefined ? [] : [`--ipv6-pools=${pools.ipv6.join(",")}`]),
      ...(pod === undefined || isFurther || !this.hasPods ? [] : [`--pod=${pod.name}`]),
    ];
    const { stdout } = await this.ctl(["ipam", "explain", ...words, "-o", "json"]);
    const { addresses, refusals } = JSON.parse(stdout) as {
      readonly addresses: readonly { readonly ip: string }[];
      readonly refusals: readonly { readonly message: string }[];
    };
    return { addresses: addresses.map(({ ip }) => ip), refusals: refusals.map(({ message }) => message) };
  }

  /** Calls it for a network of a node. */
  async callNode(verb: "STATUS" | "GC", node: NodeName, ifName: string, more: Json = {}): Promise<CniReply> {
    return await spawnPlugin(pluginPath("netplug"), this.#environment(verb), JSON.stringify({ ...this.#config(node, ifName), ...more }));
  }

  /** What the node notes for itself does not outlive a boot; and a write may end half-way. */
  damageNotes(node: NodeName, how: "lose" | "break"): void {
    const folder = this.#runFolder(node);
    if (how === "lose") rmSync(folder, { recursive: true, force: true });
    else if (existsSync(join(folder, "blocks.json"))) writeFileSync(join(folder, "blocks.json"), `{"node":"${node}","blo`);
  }

  #environment(verb: CniVerb): Record<string, string> {
    return { PATH: process.env["PATH"] ?? "", CNI_COMMAND: verb, CNI_PATH: `${distFolder}:${cniPluginsFolder}` };
  }

  /** Each history and each node has files of its own. */
  #config(node: NodeName, ifName: string): Json {
    return this.#node.config({
      name: networkOf(node, ifName),
      nodename: node,
      ipam_lock_file: join(this.#runFolder(node), "ipam.lock"),
      feature_control: { ip_addrs_no_ipam: true },
    });
  }

  #runFolder(node: NodeName): string {
    return join(this.#node.folder, String(this.#history), node);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#node[Symbol.asyncDispose]();
  }
}

async function runKilled(command: string[], env: Record<string, string>, stdin: string, afterMs: number): Promise<void> {
  const child = Bun.spawn(command, { env, stdin: Buffer.from(stdin), stdout: "pipe", stderr: "ignore" });
  await Bun.sleep(afterMs);
  child.kill("SIGKILL");
  await Promise.all([child.exited, child.stdout.text()]);
}

function argsOf({ pod }: Sandbox, ip: string | undefined): string {
  const named = pod === undefined ? "" : `;K8S_POD_NAMESPACE=${NAMESPACE};K8S_POD_NAME=${pod.name};K8S_POD_UID=${pod.uid ?? ""}`;
  return `IgnoreUnknown=1${named}${ip === undefined ? "" : `;IP=${ip}`}`;
}

function configOf({ families, pools = {}, explicit }: AddressDemand): Json {
  const ipam = {
    type: "netplug-ipam",
    assign_ipv4: String(families.includes(4)),
    assign_ipv6: String(families.includes(6)),
    ...(pools.ipv4 === undefined ? {} : { ipv4_pools: pools.ipv4 }),
    ...(pools.ipv6 === undefined ? {} : { ipv6_pools: pools.ipv6 }),
  };
  return {
    ipam,
    ...(explicit?.via === "args" ? { args: { cni: { ips: explicit.addresses } } } : {}),
    ...(explicit?.via === "runtimeConfig" ? { runtimeConfig: { ips: explicit.addresses } } : {}),
  };
}
