/** The process is killed at each thing that it does to files: nobody ever sees a part of one, and the next run sets everything right. */

import { describe, expect, test } from "bun:test";
import { existsSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import type { DurableFiles } from "../../src/install-cni/files/durable-files.ts";
import { durableFiles } from "../../src/linux/durable-files.ts";
import { share } from "../support/share.ts";
import { CONFLIST, type Content, InstallNode, KUBECONFIG, startTokenServer } from "./support/node.ts";
import { filesThatDie, type Moment } from "./support/steps.ts";

const OLD = "the old executable, which was longer than the new one\n";
const NEW = "the executable\n";
/** More than any run has. */
const MAX_STEPS = 200;

const api = share(() => startTokenServer());

interface Scenario {
  readonly name: string;
  readonly prepare: (node: InstallNode) => Promise<void>;
  readonly env?: Readonly<Record<string, string>>;
}

const ASSETS = { "assets/etcd-ca": "ca 2", "assets/etcd-cert": "cert 2", "assets/etcd-key": "key 2" };

const SCENARIOS: readonly Scenario[] = [
  { name: "a fresh node", prepare: async () => {} },
  {
    name: "a node with an older installation",
    env: { CNI_MTU: "1400", CNI_OLD_CONF_NAME: "10-old.conflist" },
    prepare: async (node) => {
      node.setExecutable(OLD);
      for (const name of Object.keys(ASSETS)) node.write(name, "old");
      expect((await node.run({ env: envOf(node) })).status).toBe(0);
      node.write("net.d/10-old.conflist", "{}");
      node.setExecutable(NEW);
      for (const [name, text] of Object.entries(ASSETS)) node.write(name, text);
    },
  },
  {
    name: "a node whose certificates are gone",
    prepare: async (node) => {
      for (const name of Object.keys(ASSETS)) node.write(name, "old");
      expect((await node.run({ env: envOf(node) })).status).toBe(0);
      for (const name of Object.keys(ASSETS)) rmSync(join(node.folder, name));
    },
  },
];

function envOf({ folder }: InstallNode, more: Readonly<Record<string, string>> = {}): Readonly<Record<string, string>> {
  return { K8S_API_ENDPOINT: api.url, ETCD_ENDPOINTS: "https://etcd:2379", STATE_FILE: `${folder}/state`, ...more };
}

describe.each(SCENARIOS)("$name", ({ prepare, env }) => {
  test.each<Moment>(["before", "half", "after"])(
    "killed %s each step",
    async (moment) => {
      const met: string[] = [];
      for (let at = 1; at <= MAX_STEPS; at++) {
        using node = new InstallNode(NEW);
        node.addPlugin("portmap", ["1.0.0", "1.1.0"]);
        await prepare(node);
        const before = node.content();
        const dying = filesThatDie(at, moment);
        const { status } = await node.run({ env: envOf(node, env), host: { disk: dying.disk } });
        const step = dying.diedAt();
        if (step === undefined) {
          expect(status).toBe(0);
          break;
        }
        met.push(step);
        if (moment === "half" && !dying.hasHalf()) continue;
        expect([step, findParts(before, node.content())]).toEqual([step, []]);
        const next = await node.run({ env: envOf(node, env) });
        expect([step, next.status, findFaults(node.content(), env)]).toEqual([step, 0, []]);
        expect([step, node.read("state"), existsSync(`${node.folder}/.state.netplug-tmp`)]).toEqual([step, '{"ready":true}\n', false]);
      }
      // Two executables, kubeconfig, conflist: making, renaming, flushing each, and the locks.
      expect(met.length).toBeGreaterThan(25);
      expect(met.length).toBeLessThan(MAX_STEPS);
    },
    60_000,
  );

  test("each name is on the disk before the next is given", async () => {
    using node = new InstallNode(NEW);
    await prepare(node);
    const steps: string[] = [];
    const disk: DurableFiles = {
      ...durableFiles,
      rename(from, to) {
        durableFiles.rename(from, to);
        steps.push(`rename in ${dirname(to)}`);
      },
      flushFolder(folder) {
        durableFiles.flushFolder(folder);
        steps.push(`flush ${folder}`);
      },
    };
    expect((await node.run({ env: envOf(node, env), host: { disk } })).status).toBe(0);
    const renames = steps.filter((step) => step.startsWith("rename"));
    expect(renames.length).toBeGreaterThan(3);
    for (const [at, step] of steps.entries()) {
      // certificates.test.ts: these belong together
      const isOneOfSeveral = step.endsWith("/netplug-tls") && steps[at + 1] === step;
      if (step.startsWith("rename") && !isOneOfSeveral) expect(steps[at + 1]).toBe(step.replace("rename in", "flush"));
    }
  });
});

/**
 * What a runtime or a plugin could stumble over: a file under a real name that is neither the old one nor the new one, or refers to what is
 * not there.
 */
function findParts(before: Content, now: Content): readonly string[] {
  const faults: string[] = [];
  const complete = (path: string): boolean => {
    const { text = "", mode = 0 } = now[path] ?? {};
    if (path.startsWith("bin/")) return text === NEW && mode === 0o755;
    if (path.startsWith("net.d/netplug-tls/")) return text.endsWith(" 2") && mode === 0o600;
    try {
      JSON.parse(text);
      return mode === 0o600;
    } catch {
      return false;
    }
  };
  for (const [path, { text }] of Object.entries(now)) {
    if (path.endsWith(".netplug-tmp") || before[path]?.text === text || complete(path)) continue;
    faults.push(`${path} is a part: ${JSON.stringify(text)}`);
  }
  const isNewConfig = now[`net.d/${CONFLIST}`] !== undefined && now[`net.d/${CONFLIST}`]?.text !== before[`net.d/${CONFLIST}`]?.text;
  const needed = ["bin/netplug", "bin/netplug-ipam", `net.d/${KUBECONFIG}`];
  const named = now[`net.d/${CONFLIST}`]?.text.match(/netplug-tls\/[a-z-]+/g) ?? [];
  faults.push(
    ...named.filter((name) => now[`net.d/${name}`] === undefined).map((name) => `the network config names ${name}, which is not there`),
  );
  if (isNewConfig) faults.push(...needed.filter((path) => !complete(path)).map((path) => `the network config is there before ${path}`));
  if (Object.keys(before).some((path) => path.endsWith(".conflist")) && !Object.keys(now).some((path) => path.endsWith(".conflist"))) {
    faults.push("there is no network config any more");
  }
  return faults;
}

/** What is not as an installation must be. */
function findFaults(now: Content, env: Readonly<Record<string, string>> = {}): readonly string[] {
  const faults = Object.keys(now).filter((path) => path.endsWith(".netplug-tmp") || path.endsWith("10-old.conflist"));
  const [main, ipam] = [now["bin/netplug"], now["bin/netplug-ipam"]];
  if (main?.text !== NEW || main.mode !== 0o755) faults.push("bin/netplug is another");
  if (ipam?.inode !== main?.inode) faults.push("bin/netplug-ipam is no link of it");
  const config = JSON.parse(now[`net.d/${CONFLIST}`]?.text ?? "null") as { readonly plugins: readonly { readonly mtu?: number }[] } | null;
  if (config?.plugins[0]?.mtu !== Number(env["CNI_MTU"] ?? 0)) faults.push("the network config is another");
  const access = now[`net.d/${KUBECONFIG}`];
  if (access?.mode !== 0o600 || !/"token": "token-\d+"/.test(access.text)) faults.push("the kubeconfig is another");
  for (const [path, text] of Object.entries(ASSETS)) {
    const copy = now[path.replace("assets", "net.d/netplug-tls")];
    if (env["CNI_OLD_CONF_NAME"] === undefined) {
      if (copy !== undefined) faults.push(`${path} is still copied`);
    } else if (copy?.text !== text || copy.mode !== 0o600) faults.push(`${path} is not copied`);
  }
  return faults;
}
