/** For tests: network namespaces with unique names, which go away with the test. */

import { existsSync } from "node:fs";
import { NETNS_PREFIX } from "../run-mark.ts";
import { type CommandResult, expectSuccess, runProgram, runProgramSync } from "../programs/programs.ts";

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

/** A place in which programs run: a namespace of its own, or the one that the test is in. */
export class NetworkPlace {
  /** undefined: the namespace of the test itself. */
  readonly netns: string | undefined;

  constructor(netns?: string) {
    this.netns = netns;
  }

  run(command: readonly string[], stdin = ""): CommandResult {
    return runProgramSync(this.#wrap(command), { stdin });
  }

  /** @throws Error with what the program said */
  must(command: readonly string[], stdin = ""): string {
    return expectSuccess(command, this.run(command, stdin));
  }

  /** {@link run}, and tests that run beside this one go on meanwhile. */
  async runAsync(command: readonly string[]): Promise<CommandResult> {
    return await runProgram(this.#wrap(command));
  }

  /** {@link must}, and tests that run beside this one go on meanwhile. */
  async mustAsync(command: readonly string[]): Promise<string> {
    return expectSuccess(command, await this.runAsync(command));
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

  #wrap(command: readonly string[]): string[] {
    return this.netns === undefined ? [...command] : ["ip", "netns", "exec", this.netns, ...command];
  }

  #json<T>(args: readonly string[]): readonly T[] {
    const text = this.must(["ip", "-j", ...args]);
    return text.trim() === "" ? [] : (JSON.parse(text) as readonly T[]);
  }
}

/** The namespace that the test itself runs in: it plays the node. */
export const nodePlace: NetworkPlace = new NetworkPlace();

const newName = (): string => `${NETNS_PREFIX}${made++}`;
const toAdd = (netns: string): readonly string[] => ["ip", "netns", "add", netns];
const toDelete = (netns: string): readonly string[] => ["ip", "netns", "del", netns];

/** A namespace of its own; disposing it deletes it. */
export class TestNetns extends NetworkPlace implements Disposable, AsyncDisposable {
  declare readonly netns: string;
  /** What `CNI_NETNS` takes. */
  readonly path: string;

  /** @param existing the name of one that is made already */
  constructor(existing?: string) {
    const netns = existing ?? newName();
    super(netns);
    this.path = `${NETNS_FOLDER}/${netns}`;
    if (existing === undefined) nodePlace.must(toAdd(netns));
  }

  /** Makes one, and tests that run beside this one go on meanwhile. */
  static async create(): Promise<TestNetns> {
    const netns = newName();
    await nodePlace.mustAsync(toAdd(netns));
    return new TestNetns(netns);
  }

  /** Deletes it now, as a runtime that lost its sandbox does. @throws Error when it is still there */
  delete(): void {
    this.#requireGone(nodePlace.run(toDelete(this.netns)));
  }

  [Symbol.dispose](): void {
    this.delete();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#requireGone(await nodePlace.runAsync(toDelete(this.netns)));
  }

  #requireGone({ stderr }: CommandResult): void {
    if (existsSync(this.path)) throw new Error(`${toDelete(this.netns).join(" ")}: ${stderr}`);
  }
}
