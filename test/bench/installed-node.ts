/** An API server with netplug installed for one node, as `install-cni` leaves it, and attachments on it. */

import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { newBlock, take } from "../../src/ipam/block.ts";
import { toBlockObject } from "../../src/datastore/kubernetes/objects/block-object.ts";
import { parsePrefix, toPrefixText } from "../../src/lib/ip/prefix.ts";
import { startApiServer } from "../support/servers/api-server.ts";
import type { ApiServer } from "../support/servers/api-server.ts";
import { pluginPath, spawnPlugin } from "../support/programs/cni.ts";
import type { Json } from "../support/programs/cni-call.ts";
import { createNode, podArgs, podsIn } from "../support/servers/kubernetes.ts";
import { applyRoles } from "../support/servers/rights.ts";
import { initialise } from "../support/cli/netplugctl.ts";
import { compileProgram } from "./compile.ts";
import { requestOf } from "./ipam-world.ts";
import { environmentOf, ptpConfig, type Verb } from "./plugin-call.ts";
import type { RequestsAlone } from "./requests-alone.ts";

const NODE = "bench-node";
/** Room for 16 384 blocks of 64 addresses. */
const POOL = { base: "10.128.0.0", bits: 12, blocks: 2 ** 14 } as const;
const IN_FLIGHT = 16;

export interface Reply {
  readonly ms: number;
  readonly status: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** What a call of a plugin is about. */
export interface Attachment {
  readonly containerID: string;
  readonly netns: string;
  /** One of {@link InstalledNode.createPods}. */
  readonly pod: string;
  /** What the ADD said, which runtimes tell the DEL. */
  readonly result?: Json;
}

/** How a plugin is called. */
export type Caller = InstalledNode["call"];

export class InstalledNode implements AsyncDisposable {
  readonly api: ApiServer;
  readonly folder: string;
  #config: Json = {};
  #block: string | undefined;

  private constructor(api: ApiServer) {
    this.api = api;
    this.folder = mkdtempSync(join(tmpdir(), "npgt-bench-"));
  }

  /** With the roles that we ship, one pool, and the plugin's own token. */
  static async start(): Promise<InstalledNode> {
    const node = new InstalledNode(await startApiServer({ isDurable: true }));
    try {
      await node.#install();
      return node;
    } catch (thrown) {
      await node[Symbol.asyncDispose]();
      throw thrown;
    }
  }

  get logFile(): string {
    return join(this.folder, "cni.log");
  }

  /** The node's note of its blocks. */
  get hintFile(): string {
    return join(this.folder, "blocks.json");
  }

  async #install(): Promise<void> {
    const { api, folder } = this;
    await api.kubectl(["wait", "--for=create", "namespace/kube-system", "--timeout=30s"]);
    await applyRoles(api);
    await createNode(api, NODE, []);
    await initialise(this.#access(), [`${POOL.base}/${POOL.bits}`]);
    const [bin, conf] = [join(folder, "bin"), join(folder, "net.d")];
    for (const made of [bin, conf, join(folder, "lib")]) mkdirSync(made);
    const env = {
      ...this.#access(),
      KUBERNETES_NODE_NAME: NODE,
      SKIP_CNI_BINARIES: "netplug,netplug-ipam",
      CNI_NET_DIR: conf,
      LOG_FILE_PATH: this.logFile,
    };
    const command = ["install-cni", "--once", `--bin-dir=${bin}`, `--conf-dir=${conf}`];
    const { status, stdout, stderr } = await spawnPlugin(pluginPath("netplug"), env, "", command);
    if (status !== 0) throw new Error(`netplug ${command.join(" ")}: status ${status}: ${stderr}${stdout}`);
    const { plugins, name } = JSON.parse(readFileSync(join(conf, "10-netplug.conflist"), "utf8")) as {
      name: string;
      plugins: readonly Json[];
    };
    const places = { lib_dir: join(folder, "lib"), ipam_lock_file: join(folder, "ipam.lock"), endpoint_status_dir: join(folder, "status") };
    this.#config = { cniVersion: "1.0.0", name, ...plugins[0], ...places, agent_socket: "" };
  }

  #access(): Record<string, string> {
    return { PATH: process.env["PATH"] ?? "", DATASTORE_TYPE: "kubernetes", KUBECONFIG: this.api.kubeconfigFile };
  }

  /** Pods that nobody runs, on the node. */
  async createPods(names: readonly string[]): Promise<void> {
    const spec = { nodeName: NODE, containers: [{ name: "main", image: "localhost/none:1" }] };
    await this.#post(
      podsIn("default"),
      names.map((name) => ({ metadata: { name, labels: { app: "bench" } }, spec })),
    );
  }

  /** Blocks of other nodes, four each, with an address given in each. */
  async createBlocks(count: number): Promise<void> {
    const objects = Array.from({ length: count }, (_, index) => {
      // from the end of the pool: the node's own blocks are elsewhere as a rule
      const number = POOL.blocks - 1 - index;
      const cidr = parsePrefix(`10.${128 + (number >> 10)}.${(number >> 2) & 255}.${(number & 3) * 64}/26`);
      const node = `other-${index >> 2}`;
      return toBlockObject(take(newBlock(cidr, node, 1_760_000_000), 0, requestOf(node, toPrefixText(cidr)).owner, 1_760_000_000));
    });
    const type = { apiVersion: "netplug.io/v3", kind: "IPAMBlock" };
    await this.#post(
      "/apis/netplug.io/v3/ipamblocks",
      objects.map((object) => ({ ...type, ...object })),
    );
  }

  async #post(path: string, objects: readonly object[]): Promise<void> {
    const rest = objects.values();
    const work = async (): Promise<void> => {
      for (const object of rest) await this.api.mustRequest("POST", path, object);
    };
    await Promise.all(Array.from({ length: IN_FLIGHT }, work));
  }

  /** Requests for writes of blocks so far, by the API server's own count. */
  async countBlockWrites(): Promise<{ readonly all: number; readonly refused: number }> {
    const lines = (await this.api.kubectl(["get", "--raw", "/metrics"])).split("\n");
    const ofBlocks = lines.filter((line) => line.startsWith("apiserver_request_total{") && line.includes('resource="ipamblocks"'));
    const writes = ofBlocks.filter((line) => /verb="(?:POST|PUT|PATCH)"/.test(line));
    const sum = (some: readonly string[]): number => some.reduce((count, line) => count + Number(line.split(" ").at(-1)), 0);
    return { all: sum(writes), refused: sum(writes.filter((line) => line.includes('code="409"'))) };
  }

  /** One call of netplug, as containerd makes it. */
  call(verb: Verb, attachment: Attachment): Promise<Reply> {
    const args = podArgs({ namespace: "default", name: attachment.pod });
    return callPlugin(pluginPath("netplug"), this.#config, verb, attachment, args);
  }

  /** The same of `ptp` with `host-local`. */
  callPtp(verb: Verb, attachment: Attachment): Promise<Reply> {
    return callPlugin(pluginPath("ptp"), ptpConfig(this.folder), verb, attachment, "");
  }

  /** {@link RequestsAlone} in a process of its own, on the node's first block; what an administrator may, needs no look at roles. */
  async callRequestsAlone(pod: string): Promise<Reply> {
    const { api, folder } = this;
    const program = join(folder, "requests-alone");
    if (!existsSync(program)) compileProgram(join(import.meta.dir, "requests-alone.ts"), program, folder);
    this.#block ??= (await api.kubectl(["get", "ipamblocks", "--output=jsonpath={.items[0].metadata.name}"])).trim();
    const ca = readFileSync(api.caFile, "utf8");
    const about: RequestsAlone = { server: api.url, ca, token: api.token, node: NODE, pod, block: this.#block };
    return await time(program, {}, JSON.stringify(about));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.api.stop();
    rmSync(this.folder, { recursive: true, force: true });
  }
}

async function callPlugin(path: string, config: Json, verb: Verb, attachment: Attachment, args: string): Promise<Reply> {
  const { containerID, netns, result } = attachment;
  const env = { ...environmentOf(verb, containerID, netns), CNI_ARGS: args };
  return await time(path, env, JSON.stringify(result === undefined ? config : { ...config, prevResult: result }));
}

async function time(path: string, env: Readonly<Record<string, string>>, stdin: string): Promise<Reply> {
  const started = performance.now();
  const { status, stdout, stderr } = await spawnPlugin(path, env, stdin);
  return { ms: performance.now() - started, status, stdout, stderr };
}
