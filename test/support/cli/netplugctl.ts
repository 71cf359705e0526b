/** For tests: `dist/netplugctl`, called as people call it. */

import { join } from "node:path";
import { type CniReply, distFolder, spawnPlugin } from "../programs/cni.ts";
import { mustRunProgram } from "../programs/programs.ts";

/** Path of the executable. */
export const netplugctl: string = join(distFolder, "netplugctl");

/** @param env besides `PATH`: where the datastore is */
export async function runNetplugctl(env: Readonly<Record<string, string>>, args: readonly string[], stdin = ""): Promise<CniReply> {
  return await spawnPlugin(netplugctl, withPath(env), stdin, args);
}

/** The same, which must succeed. @returns stdout @throws Error with what it said */
export async function mustNetplugctl(env: Readonly<Record<string, string>>, args: readonly string[], stdin = ""): Promise<string> {
  return await mustRunProgram([netplugctl, ...args], { env: withPath(env), stdin });
}

/** Makes the datastore, with pools `pool-0`, … in this order. */
export async function initialise(env: Readonly<Record<string, string>>, pools: readonly string[]): Promise<void> {
  await mustNetplugctl(env, ["init"]);
  for (const [index, cidr] of pools.entries()) await applyPool(env, `pool-${index}`, { cidr });
}

export async function applyPool(env: Readonly<Record<string, string>>, name: string, spec: object): Promise<void> {
  const pool = { apiVersion: "netplug.io/v3", kind: "IPPool", metadata: { name }, spec };
  await mustNetplugctl(env, ["apply", "-f", "-"], JSON.stringify(pool));
}

/** Locks the datastore, or unlocks it: then ADDs are served. */
export async function setReady(env: Readonly<Record<string, string>>, isReady: boolean): Promise<void> {
  await patchClusterInformation(env, { datastoreReady: isReady });
}

export async function patchClusterInformation(env: Readonly<Record<string, string>>, spec: object): Promise<void> {
  await mustNetplugctl(env, ["patch", "clusterinformation", "default", "-p", JSON.stringify({ spec })]);
}

function withPath(env: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  return { PATH: process.env["PATH"] ?? "", ...env };
}
