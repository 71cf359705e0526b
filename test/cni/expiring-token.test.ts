/**
 * The plugin while its token ends for real: what each verb says, what it leaves, and that the next call needs nothing but another token.
 */

import { expect } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { toKubeconfig } from "../../src/install-cni/account/kubeconfig.ts";
import { writeKubeconfig } from "../support/servers/kubeconfig.ts";
import { issueShortToken, untilExpired } from "../support/servers/short-token.ts";
import { type CniJson, hostInterfaceName } from "../support/programs/cni.ts";
import type { CniCall, Json } from "../support/programs/cni-call.ts";
import { createPod } from "../support/servers/kubernetes.ts";
import { nodePlace, TestNetns } from "../support/node/netns.ts";
import { onApiServer } from "../support/servers/on-api-server.ts";
import { annotationsOf } from "../support/servers/pod-records.ts";
import { startPodWorldOnKubernetes } from "../support/node/pod-world.ts";

const ACCOUNT = { namespace: "kube-system", name: "netplug-cni-plugin" } as const;
const LIFE_MS = 9_000;

const [test, { api, node }] = onApiServer(() => startPodWorldOnKubernetes({ cidrs: ["10.65.0.0/24"] }));

/** One way in which a token reaches the plugin. */
interface Way {
  readonly kubeconfig: string;
  /** What a refusal calls it. */
  readonly label: string;
  setToken(token: string): void;
}

/** As `install-cni` writes it. */
function inKubeconfig(): Way {
  const { url, caFile } = api;
  const kubeconfig = join(node.folder, "netplug-kubeconfig");
  const access = { server: url, ca: readFileSync(caFile, "utf8"), skipsTlsVerify: false, tlsServerName: undefined, proxyUrl: undefined };
  return {
    kubeconfig,
    label: `token of user "netplug-cni-plugin" in kubeconfig "${kubeconfig}"`,
    setToken: (token) => writeFileSync(kubeconfig, toKubeconfig(access, ACCOUNT.name, token)),
  };
}

/** As people have it who let something else renew it. */
function inFile(): Way {
  const tokenFile = join(node.folder, "token");
  const kubeconfig = writeKubeconfig(join(node.folder, "kubeconfig"), api, { tokenFile });
  return {
    kubeconfig,
    label: `token in "${tokenFile}" of user "user" in kubeconfig "${kubeconfig}"`,
    setToken: (token) => writeFileSync(tokenFile, token),
  };
}

/** A pod that one way is used for; `name` is its pod's. */
interface Attachment {
  readonly name: string;
  readonly way: Way;
  readonly netns: TestNetns;
  readonly call: Omit<CniCall, "config"> & { readonly containerID: string; readonly config: Json };
}

async function prepare(name: string, way: Way, netns: TestNetns): Promise<Attachment> {
  const { args } = await createPod(api, { name });
  const config = node.config({ kubernetes: { kubeconfig: way.kubeconfig } });
  return { name, way, netns, call: { containerID: node.newContainerID(), netns: netns.path, args, config } };
}

/** Where an attachment shows: in its pod, on the node, in the pod's status. */
async function tracesOf({ name, netns }: Attachment): Promise<readonly [pod: boolean, host: boolean, recorded: string]> {
  const recorded = (await annotationsOf(api, { namespace: "default", name }))["cni.netplug.io/podIPs"] ?? "";
  const hostSide = nodePlace.link(hostInterfaceName({ namespace: "default", pod: name }));
  return [netns.link("eth0") !== undefined, hostSide !== undefined, recorded];
}

const NOTHING = [false, false, ""] as const;

/** Plays every verb; what is there of `old` on the node goes, nothing of `next` comes. */
async function expectRefusals(old: Attachment, prevResult: CniJson, next: Attachment): Promise<void> {
  const { config } = old.call;
  const told = `the API server does not accept the ${old.way.label}; renew it: see whether "netplug install-cni" runs on this node`;
  const refused = (code: number): object => ({ code, msg: expect.stringContaining(told) });
  expect((await node.call("ADD", next.call)).json).toMatchObject(refused(108));
  expect(await tracesOf(next)).toEqual(NOTHING);
  expect((await node.call("CHECK", { ...old.call, config: { ...config, prevResult } })).json).toMatchObject(refused(108));
  expect((await node.call("STATUS", { config })).json).toMatchObject(refused(50));
  expect((await node.call("GC", { config: { ...config, "cni.dev/valid-attachments": [] } })).json).toMatchObject(refused(108));
  // what is here goes; the rest is left to the DEL that the runtime makes again because of the error
  for (const _ of ["first", "again"]) expect((await node.call("DEL", old.call)).json).toMatchObject(refused(108));
  expect(await tracesOf(old)).toEqual([false, false, prevResult.ips?.[0]?.address ?? "no address"]);
}

test("an expired token is code 108, loses and leaves nothing, and never shows; with the next one all goes on (needs cluster)", async () => {
  const ways = [inKubeconfig(), inFile()];
  using first = new TestNetns();
  using second = new TestNetns();
  using third = new TestNetns();
  const prepared = await Promise.all(ways.map(async (way, index) => await prepare(`old-${index}`, way, index === 0 ? first : second)));
  // All but the calls themselves is done: they must end before the token does.
  const token = await issueShortToken(api, ACCOUNT, LIFE_MS);
  for (const way of ways) way.setToken(token);
  const old = await Promise.all(prepared.map(async (one): Promise<[Attachment, CniJson]> => [one, await node.add(one.netns, one.call)]));
  await untilExpired(api, token, LIFE_MS);

  const next = await Promise.all(ways.map(async (way, index) => await prepare(`new-${index}`, way, third)));
  for (const [index, later] of next.entries()) {
    const [earlier, result] = old[index] ?? [later, {}];
    await expectRefusals(earlier, result, later);
  }
  expect(await node.addressesInUse()).toBe(2);
  expect(readFileSync(node.logFile, "utf8")).not.toContain(token);

  const renewed = await api.kubectl(["create", "token", ACCOUNT.name, "--namespace", ACCOUNT.namespace]);
  for (const way of ways) way.setToken(renewed.trim());
  for (const [one] of old) {
    await node.del(one.call);
    expect(await tracesOf(one)).toEqual(NOTHING);
  }
  for (const one of next) {
    const { ips } = await node.add(one.netns, one.call);
    expect(await tracesOf(one)).toEqual([true, true, ips?.[0]?.address ?? "no address"]);
    await node.del(one.call);
    expect(await tracesOf(one)).toEqual(NOTHING);
  }
  expect(await node.addressesInUse()).toBe(0);
});
