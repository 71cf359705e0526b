/** The role of docs/netplugctl.md: enough for every command, and each command says what it lacks. */

import { afterAll, beforeAll, expect, test as always } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { repositoryRoot } from "../../tools/repository.ts";
import { canStartApiServer } from "../cluster/api-server.ts";
import { poolYaml } from "../support/cli.ts";
import { createKubeCliWorld, type KubeCliWorld } from "../support/cli-kubernetes.ts";
import { createNode } from "../support/kubernetes.ts";

const test = always.skipIf(!canStartApiServer());

interface Role {
  readonly kind: string;
  readonly rules: readonly { readonly resources: readonly string[]; readonly verbs: readonly string[] }[];
}

/** The YAML of a kind in the text for users. */
function documented(kind: string): Role {
  const text = readFileSync(join(repositoryRoot, "docs/netplugctl.md"), "utf8");
  const found = [...text.matchAll(/^```yaml\n(.*?)^```$/gms)].map(([, yaml = ""]) => Bun.YAML.parse(yaml) as Role);
  const role = found.find((document) => document.kind === kind);
  if (role === undefined) throw new Error(`read docs/netplugctl.md: there is no ${kind}`);
  return role;
}

let world: KubeCliWorld;
let env: { readonly KUBECONFIG: string };
beforeAll(async () => {
  if (!canStartApiServer()) return;
  world = await createKubeCliWorld();
  env = { KUBECONFIG: world.api.issue("operator").kubeconfigFile };
  await grant(documented("ClusterRole"));
  await world.api.kubectl(["create", "clusterrolebinding", "netplug-admin", "--clusterrole=netplug-admin", "--user=operator"]);
  await createNode(world.api, "n1", []);
}, 60_000);
afterAll(async () => await world?.[Symbol.asyncDispose]());

const grant = async (role: Role): Promise<string> => await world.api.kubectl(["apply", "-f", "-"], JSON.stringify(role));

/** The API server takes a moment to hear of a role. */
async function untilDenied(verb: string, resource: string): Promise<void> {
  const isAllowed = (): Promise<boolean> =>
    world.api.kubectl(["auth", "can-i", verb, resource, "--as=operator", "--quiet"]).then(
      () => true,
      () => false,
    );
  for (const end = performance.now() + 20_000; await isAllowed();)
    if (performance.now() > end) throw new Error(`${verb} ${resource} is allowed`);
}

/** One of each command, in an order in which all succeed. */
const COMMANDS: readonly (readonly [argv: readonly string[], stdin?: string])[] = [
  [["init"]],
  [["init"]],
  [["version"]],
  [["create", "-f", "-"], poolYaml("a", "10.65.0.0/24")],
  [["apply", "-f", "-"], poolYaml("a", "10.65.0.0/24", { disabled: true })],
  [["replace", "-f", "-"], poolYaml("a", "10.65.0.0/24")],
  [["patch", "ippool", "a", "-p", '{"spec":{"natOutgoing":true}}']],
  [["label", "ippool", "a", "x=y"]],
  [["label", "node", "n1", "rack=r1"]],
  [["get", "ippools"]],
  [["get", "nodes"]],
  [["get", "workloadendpoints", "-A", "-o", "name"]],
  [["get", "ipamblocks", "-o", "name"]],
  [["ipam", "show"]],
  [["ipam", "show", "--ip=10.65.0.1"]],
  [["ipam", "check"]],
  [["ipam", "configure", "--strict-affinity=true"]],
  [["patch", "clusterinformation", "default", "-p", '{"spec":{"datastoreReady":false}}']],
  [["ipam", "split", "2", "--name", "a"]],
  [["create", "-f", "-"], poolYaml("b", "10.66.0.0/24")],
  [["patch", "clusterinformation", "default", "-p", '{"spec":{"datastoreReady":true}}']],
  [["delete", "ippool", "b"]],
];

test("every command succeeds with the documented role (needs cluster)", async () => {
  for (const [argv, stdin = ""] of COMMANDS) {
    const { status, stderr } = await world.ctl(argv, { env, stdin });
    expect([argv, status, stderr]).toEqual([argv, 0, ""]);
  }
});

test.each([
  ["customresourcedefinitions", "patch", ["init"], "patch customresourcedefinitions.apiextensions.k8s.io"],
  ["nodes", "patch", ["label", "node", "n1", "rack=r2"], "patch nodes"],
  ["nodes", "list", ["ipam", "check"], "list nodes"],
  ["pods", "list", ["get", "wep", "-A"], "list pods"],
  ["*", "list", ["get", "ippools"], "list ippools.netplug.io"],
  ["*", "create", ["create", "-f", "-"], "create ippools.netplug.io"],
  ["*", "patch", ["ipam", "configure", "--max-blocks-per-host=7"], "patch ipamconfigurations.netplug.io"],
  ["*", "delete", ["delete", "tier", "mine"], "delete tiers.netplug.io"],
] as const)("without %s %s: %j is code 108 (needs cluster)", async (resource, verb, argv, denied) => {
  const role = documented("ClusterRole");
  await world.api.kubectl(
    ["apply", "-f", "-"],
    JSON.stringify({ apiVersion: "netplug.io/v3", kind: "Tier", metadata: { name: "mine" }, spec: {} }),
  );
  const rules = role.rules.map((rule) =>
    rule.resources.includes(resource) ? { ...rule, verbs: rule.verbs.filter((one) => one !== verb) } : rule,
  );
  await grant({ ...role, rules });
  try {
    const [deniedVerb = "", deniedResource = ""] = denied.split(" ");
    await untilDenied(deniedVerb, deniedResource);
    expect(await world.ctl(argv, { env, stdin: poolYaml("late", "10.90.0.0/24") })).toMatchObject({
      status: 1,
      stdout: "",
      stderr: expect.stringContaining(`netplugctl: ${denied} is not permitted; role cluster-admin (code 108)\n`),
    });
  } finally {
    await grant(role);
  }
});
