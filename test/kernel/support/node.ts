/** A node made of network namespaces: one is its "host", the others are pods. */

import { inNetns, type Netns, openNetns } from "../../../src/linux/netns.ts";
import { mustRunProgramSync } from "../../support/programs/programs.ts";
import { NETNS_PREFIX } from "../../support/run-mark.ts";

/** What `ip -j` prints. */
type Json = Readonly<Record<string, unknown>>;

/** One namespace of a node. */
export interface Place {
  readonly name: string;
  /** As a runtime hands it over in `CNI_NETNS`. */
  readonly path: string;
}

let nodes = 0;

/** Makes namespaces that no other test has, and deletes them at the end. */
export class NamespacedNode implements Disposable {
  readonly #prefix = `${NETNS_PREFIX}${++nodes}`;
  readonly #places: Place[] = [];
  readonly host: Place;
  readonly #hostNetns: Netns;

  constructor() {
    this.host = this.addPlace("host");
    this.#hostNetns = openOrFail(this.host.path);
    // As a real host has it: addresses of its own, and forwarding.
    this.ip(this.host, "link set lo up");
    this.ip(this.host, "addr add 192.0.2.1/32 dev lo");
    this.ip(this.host, "addr add 2001:db8::1/128 dev lo nodad");
    this.setSysctl(this.host, "ipv6/conf/all/forwarding", "1");
  }

  [Symbol.dispose](): void {
    this.#hostNetns[Symbol.dispose]();
    for (const place of this.#places) Bun.spawnSync(["ip", "netns", "del", place.name]);
  }

  /** A pod's namespace, as a runtime makes it: nothing but `lo`, which is down. */
  addPlace(name: string): Place {
    const place = { name: `${this.#prefix}-${name}`, path: `/run/netns/${this.#prefix}-${name}` };
    mustRunProgramSync(["ip", "netns", "add", place.name]);
    this.#places.push(place);
    return place;
  }

  deletePlace(place: Place): void {
    mustRunProgramSync(["ip", "netns", "del", place.name]);
  }

  /** Runs code of ours with the node's host namespace as the one that the process is in. Synchronous. */
  onHost<T>(work: () => T): T {
    return inNetns(this.#hostNetns, work);
  }

  /** Runs a program in a place. @returns its output @throws what it printed, when it failed */
  run(place: Place, ...command: string[]): string {
    return mustRunProgramSync(["ip", "netns", "exec", place.name, ...command]);
  }

  /** Whether the program succeeds in a place. */
  succeeds(place: Place, ...command: string[]): boolean {
    return Bun.spawnSync(["ip", "netns", "exec", place.name, ...command], { stdout: "ignore", stderr: "ignore" }).exitCode === 0;
  }

  /** `ip`, as text in and nothing out. */
  ip(place: Place, command: string): void {
    mustRunProgramSync(["ip", "-n", place.name, ...command.split(" ")]);
  }

  /** The oracle. */
  ipJson(place: Place, command: string): Json[] {
    const text = mustRunProgramSync(["ip", "-n", place.name, "-j", "-d", ...command.split(" ")]);
    return text === "" ? [] : (JSON.parse(text) as Json[]);
  }

  sysctl(place: Place, path: string): string {
    return this.run(place, "cat", `/proc/sys/net/${path}`).trim();
  }

  setSysctl(place: Place, path: string, value: string): void {
    this.run(place, "sh", "-c", `echo ${value} > /proc/sys/net/${path}`);
  }

  /** Loads rules of nftables. */
  load(place: Place, rules: string): void {
    mustRunProgramSync(["ip", "netns", "exec", place.name, "nft", "-f", "-"], { stdin: rules });
  }

  /** Names of the interfaces in a place, but `lo`. */
  links(place: Place): string[] {
    return this.ipJson(place, "link show")
      .map((link) => String(link["ifname"]))
      .filter((name) => name !== "lo")
      .toSorted();
  }

  /** Whether one ICMP echo comes back within a second. */
  pings(from: Place, address: string): boolean {
    return this.succeeds(from, "ping", "-c1", "-W1", "-n", address);
  }
}

function openOrFail(path: string): Netns {
  const netns = openNetns(path);
  if (netns === undefined) throw new Error(`open ${path}: it is not there`);
  return netns;
}
