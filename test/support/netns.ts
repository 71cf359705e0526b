/** For tests: network namespaces with unique names, which go away with the test. */

import { existsSync } from "node:fs";

const NETNS_FOLDER = "/run/netns";
let made = 0;

/** A link as `ip -j -d link` and `ip -j address` show it, as far as tests look. */
export interface LinkView {
  readonly ifname: string;
  readonly ifindex: number;
  readonly mtu: number;
  readonly address: string;
  readonly flags: readonly string[];
  readonly operstate: string;
  readonly ifalias?: string;
  readonly num_tx_queues?: number;
  readonly num_rx_queues?: number;
  readonly linkinfo?: { readonly info_kind?: string };
  readonly addr_info?: readonly {
    readonly family: string;
    readonly local: string;
    readonly prefixlen: number;
    readonly scope: string;
    readonly tentative?: boolean;
  }[];
}

export interface RouteView {
  readonly dst: string;
  readonly gateway?: string;
  readonly dev?: string;
  readonly protocol?: string;
  readonly scope?: string;
  readonly flags: readonly string[];
}

export interface NeighbourView {
  readonly dst: string;
  readonly dev: string;
  readonly lladdr?: string;
  readonly state: readonly string[];
}

export interface CommandResult {
  readonly status: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** A place in which programs run: a namespace of its own, or the one that the test is in. */
export class NetworkPlace {
  /** undefined: the namespace of the test itself. */
  readonly netns: string | undefined;

  constructor(netns?: string) {
    this.netns = netns;
  }

  run(command: readonly string[], stdin = ""): CommandResult {
    const wrapped = this.netns === undefined ? command : ["ip", "netns", "exec", this.netns, ...command];
    const child = Bun.spawnSync([...wrapped], { stdin: Buffer.from(stdin), stdout: "pipe", stderr: "pipe" });
    return { status: child.exitCode, stdout: child.stdout.toString(), stderr: child.stderr.toString() };
  }

  /** @throws Error with what the program said */
  must(command: readonly string[], stdin = ""): string {
    const { status, stdout, stderr } = this.run(command, stdin);
    if (status !== 0) throw new Error(`${command.join(" ")}: status ${status}: ${stderr}${stdout}`);
    return stdout;
  }

  links(): readonly LinkView[] {
    return this.#json(["-d", "link", "show"]);
  }

  link(ifname: string): LinkView | undefined {
    return this.links().find((link) => link.ifname === ifname);
  }

  /** `10.65.0.1/32`, of one interface, those of link scope left out. */
  addresses(ifname: string): readonly string[] {
    const shown = this.#json<LinkView>(["address", "show"]).find((link) => link.ifname === ifname);
    return (shown?.addr_info ?? []).filter(({ scope }) => scope !== "link").map(({ local, prefixlen }) => `${local}/${prefixlen}`);
  }

  routes(family: 4 | 6): readonly RouteView[] {
    return this.#json([`-${family}`, "route", "show"]);
  }

  neighbours(): readonly NeighbourView[] {
    return this.#json(["neighbour", "show"]);
  }

  sysctl(key: string): string {
    return this.must(["cat", `/proc/sys/net/${key}`]).trim();
  }

  #json<T>(args: readonly string[]): readonly T[] {
    const text = this.must(["ip", "-j", ...args]);
    return text.trim() === "" ? [] : (JSON.parse(text) as readonly T[]);
  }
}

/** A namespace of its own; disposing it deletes it. */
export class TestNetns extends NetworkPlace implements Disposable {
  declare readonly netns: string;
  /** What `CNI_NETNS` takes. */
  readonly path: string;

  constructor() {
    super(`npgt-${process.pid}-${made++}`);
    this.path = `${NETNS_FOLDER}/${this.netns}`;
    new NetworkPlace().must(["ip", "netns", "add", this.netns]);
  }

  /** Deletes it now, as a runtime that lost its sandbox does. @throws Error when it is still there */
  delete(): void {
    const { stderr } = new NetworkPlace().run(["ip", "netns", "del", this.netns]);
    if (existsSync(this.path)) throw new Error(`ip netns del ${this.netns}: ${stderr}`);
  }

  [Symbol.dispose](): void {
    this.delete();
  }
}

/** The namespace that the test itself runs in: it plays the node. */
export const nodePlace: NetworkPlace = new NetworkPlace();
