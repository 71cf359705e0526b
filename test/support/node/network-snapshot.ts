/** For tests: what is in a network namespace at one moment, by one process, since some tests look thousands of times. */

import { existsSync } from "node:fs";
import type { LinkView, RouteView } from "./netns.ts";
import { mustRunProgram } from "../programs/programs.ts";

export interface NetworkSnapshot {
  /** Every interface but `lo`. */
  readonly links: readonly {
    readonly name: string;
    readonly alias: string | undefined;
    /** `10.65.0.1/32`; those of link scope are left out. */
    readonly addresses: readonly string[];
  }[];
  /** Of all tables, but those that the kernel made by itself. */
  readonly routes: readonly RouteView[];
}

/** @param netns its name; absent: the one that the test is in @returns undefined when it is gone */
export async function snapshotNetwork(netns?: string): Promise<NetworkSnapshot | undefined> {
  if (netns !== undefined && !existsSync(`/run/netns/${netns}`)) return undefined;
  const where = netns === undefined ? [] : ["-n", netns];
  const [links = [], routes = []] = await runIp(where, "address show\nroute show table all\n");
  return {
    links: (links as readonly LinkView[])
      .filter(({ ifname }) => ifname !== "lo")
      .map(({ ifname, ifalias, addr_info = [] }) => ({
        name: ifname,
        alias: ifalias,
        addresses: addr_info.filter(({ scope }) => scope === "global").map(({ local, prefixlen }) => `${local}/${prefixlen}`),
      })),
    routes: (routes as readonly RouteView[]).filter(({ protocol }) => protocol !== "kernel"),
  };
}

/** What `ip -j` prints for each of several commands. */
async function runIp(where: readonly string[], commands: string): Promise<readonly (readonly unknown[])[]> {
  const stdout = await mustRunProgram(["ip", ...where, "-j", "-d", "-batch", "-"], { stdin: commands });
  const lines = stdout.split("\n").filter((line) => line.startsWith("["));
  return lines.map((line) => JSON.parse(line) as readonly unknown[]);
}
