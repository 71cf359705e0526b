/**
 * The roles for people of `manifests/rbac.yaml`: enough for every command, or for those that only show; each command says what it lacks.
 */

import { describe, expect, test as always } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { HostAddress } from "../../src/cli/host/host-addresses.ts";
import { parseAddress } from "../../src/lib/ip/address.ts";
import { repositoryRoot } from "../../tools/repository.ts";
import { allocateFor } from "../support/cli/container-addresses.ts";
import { poolYaml } from "../support/cli/documents.ts";
import { shareKubernetesCliWorld } from "../support/cli/kubernetes-cli-world.ts";
import { deleteCrds } from "../support/servers/delete-crds.ts";
import { createNode, createPod, type PodTemplate } from "../support/servers/kubernetes.ts";
import { untilAllowed, untilDenied } from "../support/servers/rights.ts";

interface Role {
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly rules: readonly { readonly resources: readonly string[]; readonly verbs: readonly string[] }[];
}

const ROLES = Bun.YAML.parse(readFileSync(join(repositoryRoot, "manifests/rbac.yaml"), "utf8")) as readonly Role[];
const ROLE = roleOf("netplug-admin");

function roleOf(name: string): Role {
  const role = ROLES.find(({ kind, metadata }) => kind === "ClusterRole" && metadata.name === name);
  if (role === undefined) throw new Error(`read manifests/rbac.yaml: there is no ${name}`);
  return role;
}

let env: { readonly KUBECONFIG: string };
let viewer: { readonly KUBECONFIG: string };
const [test, world] = shareKubernetesCliWorld(async (world) => {
  env = { KUBECONFIG: world.api.issue("operator").kubeconfigFile };
  viewer = { KUBECONFIG: world.api.issue("viewer").kubeconfigFile };
  await grant(ROLE);
  await grant(roleOf("netplug-view"));
  for (const [role, user] of [
    ["netplug-admin", "operator"],
    ["netplug-view", "viewer"],
  ])
    await world.api.kubectl(["create", "clusterrolebinding", `${role}`, `--clusterrole=${role}`, `--user=${user}`]);
  for (const user of ["operator", "viewer"]) await untilAllowed(world.api, user, "get", "nodes");
  await createNode(world.api, "n1", []);
});

const grant = async (role: Role): Promise<string> => await world.api.kubectl(["apply", "-f", "-"], JSON.stringify(role));

/** Commands that ask nobody for a right. */
const WITHOUT_DATASTORE = ["validate", "ledger", "completion"];

/** Commands that other tests here run: one exits with 1 when it has something to show, one wants something of the host. */
const RUN_APART = ["diff", "ipam adopt"];

/** An address that somebody has, for a command that releases it. */
const HELD = "10.65.0.7";

const hold = (): Promise<string> => allocateFor(world.datastore, "c-gone", "n1", { address: HELD });

const WEB: PodTemplate = {
  name: "web",
  spec: { nodeName: "n1" },
  annotations: { containerID: "c-web", podIP: "10.65.0.9/32", podIPs: "10.65.0.9/32" },
};

const GET_ENDPOINT = ["get", "workloadendpoint", "n1-k8s-web-eth0"] as const;
const RELEASE = ["ipam", "release", `--ip=${HELD}`] as const;

const ONLY_SHOWS = /^(get|diff|version|ipam show|ipam explain|ipam check)\b/;

/** What a denial of a command names: the role that is enough for all of it. */
const roleFor = (argv: readonly string[]): string => (ONLY_SHOWS.test(argv.join(" ")) ? "netplug-view" : "netplug-admin");

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
  [["ipam", "explain", "--node=n1"]],
  [RELEASE],
  [["ipam", "check"]],
  [["ipam", "configure", "--strict-affinity=true"]],
  [["patch", "clusterinformation", "default", "-p", '{"spec":{"datastoreReady":false}}']],
  [["ipam", "split", "2", "--name", "a"]],
  [["create", "-f", "-"], poolYaml("b", "10.66.0.0/24")],
  [["patch", "clusterinformation", "default", "-p", '{"spec":{"datastoreReady":true}}']],
  [["delete", "ippool", "b"]],
  // has an address that nobody allocated, which check would find
  [GET_ENDPOINT],
];

/** What commands that only show do with their options, while the pod of {@link WEB} has its address. */
const SHOWN: readonly (readonly [argv: readonly string[], stdin?: string])[] = [
  [["get", "nodes", "-l", "rack", "-o", "wide", "--show-labels", "--no-headers"]],
  [["get", "workloadendpoints", "-n", "default", "-o", "custom-columns=NAME:.metadata.name"]],
  [["get", "workloadendpoints,ippools,nodes,ipamblocks", "-A", "-o", "yaml"]],
  [["get", "-f", "-"], poolYaml("seen", "10.93.0.0/24")],
  [["diff", "-f", "-", "-n", "default"], poolYaml("seen", "10.93.0.0/24")],
  [["version", "-o", "json"]],
  [["version", "--client"]],
  [["ipam", "show", "--show-blocks"]],
  [["ipam", "show", "--show-borrowed"]],
  [["ipam", "show", "--show-configuration"]],
  [["ipam", "show", "-o", "json"]],
  [["ipam", "show", "--ip=10.65.0.9"]],
  [["ipam", "show", "--ip=10.65.0.9", "-o", "yaml"]],
  [["ipam", "explain", "--pod=web"]],
  [["ipam", "explain", "--pod=default/web", "--families=IPv4", "--ipv4-pools=seen", "-o", "json"]],
  [["ipam", "explain", "--node=n1", "--namespace=default"]],
  [["ipam", "explain", "-f", "-", "--node=n1"], JSON.stringify({ apiVersion: "v1", kind: "Pod", metadata: { name: "to-come" } })],
  [["ipam", "check", "-o", "json"]],
];

/** What may follow on words of a command line. */
const proposed = async (...words: readonly string[]): Promise<readonly string[]> =>
  [...(await world.done(["__complete", ...words, ""])).matchAll(/^[^\t]+/gm)].map(([word]) => word);

test("there is one of each command (needs cluster)", async () => {
  const names = (await proposed()).filter((name) => name !== "ipam");
  const inGroup = (await proposed("ipam")).map((name) => `ipam ${name}`);
  const tried = COMMANDS.map(([argv]) => argv.slice(0, argv[0] === "ipam" ? 2 : 1).join(" "));
  expect([...names, ...inGroup].sort()).toEqual([...new Set([...tried, ...WITHOUT_DATASTORE, ...RUN_APART])].sort());
});

test("every command succeeds with the role (needs cluster)", async () => {
  for (const [argv, stdin = ""] of COMMANDS) {
    if (argv === RELEASE) await hold();
    if (argv === GET_ENDPOINT) await createPod(world.api, WEB);
    const { status, stderr } = await world.ctl(argv, { env, stdin });
    expect([argv, status, stderr]).toEqual([argv, 0, ""]);
  }
});

test("ipam adopt claims a block with the role (needs cluster)", async () => {
  await world.createPool("adopted", "10.67.0.0/24");
  const attachment = { network: "test-net", containerID: "c-adopted", ifName: "eth0" };
  const hostAddresses = (): readonly HostAddress[] => [{ attachment, address: parseAddress("10.67.0.7"), where: "npg0" }];
  const { status, stdout } = await world.ctl(["ipam", "adopt", "--node=n1", `--run-dir=${world.api.folder}`], { env, hostAddresses });
  expect([status, stdout]).toEqual([0, expect.stringContaining('10.67.0.7 allocated to container "c-adopted"')]);
  await world.done(["ipam", "release", "--ip=10.67.0.7"]);
});

test("ipam adopt claims no block of which the plugin cannot be told (needs cluster)", async () => {
  await world.createPool("untold", "10.68.0.0/24");
  const attachment = { network: "test-net", containerID: "c-untold", ifName: "eth0" };
  const hostAddresses = (): readonly HostAddress[] => [{ attachment, address: parseAddress("10.68.0.7"), where: "npg0" }];
  const { status, stderr } = await world.ctl(["ipam", "adopt", "--node=n1", "--run-dir=/dev/null"], { env, hostAddresses });
  expect([status, stderr]).toEqual([
    1,
    'netplugctl: open "/dev/null/blocks.json.lock": its folder is a file or a broken link, or vanished\n',
  ]);
  expect(await world.done(["ipam", "show", "--ip=10.68.0.7"])).toContain("not allocated");
});

test("ipam adopt claims no block where the plugin has no folder, as in a container that does not see the node's (needs cluster)", async () => {
  await world.createPool("unseen", "10.69.0.0/24");
  const attachment = { network: "test-net", containerID: "c-unseen", ifName: "eth0" };
  const hostAddresses = (): readonly HostAddress[] => [{ attachment, address: parseAddress("10.69.0.7"), where: "npg0" }];
  const folder = join(world.api.folder, "absent");
  const { status, stdout, stderr } = await world.ctl(["ipam", "adopt", "--node=n1", `--run-dir=${folder}`], { env, hostAddresses });
  expect([status, stdout]).toEqual([1, ""]);
  expect(stderr).toContain(`find the plugin's files: there is no folder "${folder}" here; give that of ipam_lock_file`);
  expect([existsSync(folder), await world.done(["ipam", "show", "--ip=10.69.0.7"])]).toEqual([
    false,
    expect.stringContaining("not allocated"),
  ]);
});

test("ipam adopt reports what may be from before the boot, whether or not the plugin has a folder by now (needs cluster)", async () => {
  const attachment = { network: "test-net", containerID: "c-before", ifName: "eth0" };
  const hostAddresses = (): readonly HostAddress[] => [{ attachment, address: parseAddress("10.69.0.8"), where: undefined }];
  const argv = ["ipam", "adopt", "--node=n1", `--run-dir=${join(world.api.folder, "after-boot")}`];
  const { status, stdout } = await world.ctl(argv, { env, hostAddresses });
  expect([status, stdout]).toEqual([1, expect.stringContaining('10.69.0.8 may be in use by container "c-before"')]);
});

test("ipam adopt fails where the plugin cannot be told which blocks there are, also when it has nothing to claim (needs cluster)", async () => {
  const { status, stdout, stderr } = await world.ctl(["ipam", "adopt", "--node=n1", "--run-dir=/dev/null/run"], {
    env,
    hostAddresses: () => [],
  });
  expect([status, stdout, stderr]).toEqual([1, "", 'netplugctl: make folder "/dev/null/run": ENOTDIR (not a directory)\n']);
});

describe("with the role for viewers", () => {
  test("every command that only shows does so (needs cluster)", async () => {
    await allocateFor(world.datastore, "c-web", "n1", { address: "10.65.0.9" }); // else check says what to do
    for (const [argv] of COMMANDS.filter(([words]) => ONLY_SHOWS.test(words.join(" "))))
      expect([argv, await world.ctl(argv, { env: viewer })]).toMatchObject([argv, { stderr: "" }]);
  });

  test("every option of such a command is permitted (needs cluster)", async () => {
    await world.createPool("seen", "10.93.0.0/24");
    const permitted = { status: 0, stderr: expect.not.stringContaining("permitted") };
    for (const [argv, stdin = ""] of SHOWN) expect([argv, await world.ctl(argv, { env: viewer, stdin })]).toMatchObject([argv, permitted]);
    for (const kind of await proposed("get"))
      expect([kind, await world.ctl(["get", kind, "-A"], { env: viewer })]).toMatchObject([kind, permitted]);
  });

  test("diff shows what an administrator would change (needs cluster)", async () => {
    const { status, stdout, stderr } = await world.ctl(["diff", "-f", "-"], { env: viewer, stdin: poolYaml("viewed", "10.91.0.0/24") });
    expect([status, stdout, stderr]).toEqual([1, expect.stringContaining("+  cidr: 10.91.0.0/24\n"), ""]);
  });

  test.each([
    [["init"], "get customresourcedefinitions.apiextensions.k8s.io"],
    [["create", "-f", "-"], "create ippools.netplug.io"],
    [["label", "node", "n1", "rack=r9", "--overwrite"], "patch nodes"],
    [RELEASE, "update ipamblocks.netplug.io"],
    [["ipam", "configure", "--max-blocks-per-host=9"], "patch ipamconfigurations.netplug.io"],
    [["patch", "clusterinformation", "default", "-p", '{"spec":{"datastoreReady":false}}'], "patch clusterinformations.netplug.io"],
    [["delete", "tier", "default-deny"], "delete tiers.netplug.io"],
  ])("%j is refused: %p (needs cluster)", async (argv, denied) => {
    if (argv === RELEASE) await hold();
    const tier = { apiVersion: "netplug.io/v3", kind: "Tier", metadata: { name: "default-deny" }, spec: {} };
    if (argv[0] === "delete") await world.api.kubectl(["apply", "-f", "-"], JSON.stringify(tier));
    const { status, stderr } = await world.ctl(argv, { env: viewer, stdin: poolYaml("viewed", "10.91.0.0/24") });
    expect([status, stderr]).toEqual([
      1,
      expect.stringContaining(`netplugctl: ${denied} is not permitted; role netplug-admin (code 108)\n`),
    ]);
  });
});

test.each(["get ippools", "version", "diff -f -", "ipam show", "ipam explain --node=n1", "ipam check"])(
  "whoever may nothing is told that the role for viewers is enough for %s (needs cluster)",
  async (line) => {
    const nobody = { KUBECONFIG: world.api.issue("nobody").kubeconfigFile };
    const { stderr } = await world.ctl(line.split(" "), { env: nobody, stdin: poolYaml("viewed", "10.91.0.0/24") });
    expect(stderr).toContain("is not permitted; role netplug-view");
    expect(stderr).not.toContain("netplug-admin");
  },
);

type Denial = readonly [resource: string, verb: string, argv: readonly string[], denied: string];

/** Shows nothing: no object has the label. */
const watching = (kind: string): readonly string[] => ["get", kind, "-l", "none", "-o", "json", "--watch"];

/** Every right of the role, and a command that needs it. */
const DENIALS: readonly Denial[] = [
  ["customresourcedefinitions", "get", ["init"], "get customresourcedefinitions.apiextensions.k8s.io"],
  ["customresourcedefinitions", "create", ["init"], "create customresourcedefinitions.apiextensions.k8s.io"],
  ["customresourcedefinitions", "patch", ["init"], "patch customresourcedefinitions.apiextensions.k8s.io"],
  ["nodes", "get", ["get", "node", "n1"], "get nodes"],
  ["nodes", "list", ["ipam", "check"], "list nodes"],
  ["nodes", "watch", watching("nodes"), "watch nodes"],
  ["nodes", "patch", ["label", "node", "n1", "rack=r2", "--overwrite"], "patch nodes"],
  ["pods", "get", GET_ENDPOINT, "get pods"],
  ["pods", "list", ["get", "wep", "-A"], "list pods"],
  ["pods", "watch", watching("wep"), "watch pods"],
  ["namespaces", "get", ["ipam", "explain", "--node=n1"], "get namespaces"],
  ["*", "get", ["get", "tier", "mine"], "get tiers.netplug.io"],
  ["*", "list", ["get", "ippools"], "list ippools.netplug.io"],
  ["*", "watch", watching("ippools"), "watch ippools.netplug.io"],
  ["*", "create", ["create", "-f", "-"], "create ippools.netplug.io"],
  ["*", "patch", ["ipam", "configure", "--max-blocks-per-host=7"], "patch ipamconfigurations.netplug.io"],
  ["*", "delete", ["delete", "tier", "mine"], "delete tiers.netplug.io"],
  ["ipamblocks", "update", RELEASE, "update ipamblocks.netplug.io"],
];

/** Without it no command fails; `kubernetes-service-cidrs.test.ts` has what is said then. */
const WANTED_BY_CHECK = "list servicecidrs";

always("there is a command for every right of the role: it has none too many", () => {
  const rights = ROLE.rules.flatMap(({ resources, verbs }) => resources.flatMap((one) => verbs.map((verb) => `${verb} ${one}`)));
  expect([...DENIALS.map(([resource, verb]) => `${verb} ${resource}`), WANTED_BY_CHECK].sort()).toEqual(rights.sort());
});

test.each(DENIALS)("without %s %s: %j is code 108 (needs cluster)", async (resource, verb, argv, denied) => {
  if (argv === RELEASE) await hold();
  // one that is there already would be patched only
  if (verb === "create" && argv[0] === "init") await deleteCrds(world.api, ["profiles.netplug.io"]);
  if (argv.includes("mine")) {
    const tier = { apiVersion: "netplug.io/v3", kind: "Tier", metadata: { name: "mine" }, spec: {} };
    await world.api.kubectl(["apply", "-f", "-"], JSON.stringify(tier));
  }
  const rules = ROLE.rules
    .map((rule) => (rule.resources.includes(resource) ? { ...rule, verbs: rule.verbs.filter((one) => one !== verb) } : rule))
    .filter(({ verbs }) => verbs.length > 0);
  await grant({ ...ROLE, rules });
  try {
    const [deniedVerb = "", deniedResource = ""] = denied.split(" ");
    await untilDenied(world.api, "operator", deniedVerb, deniedResource);
    expect(await world.ctl(argv, { env, stdin: poolYaml("late", "10.90.0.0/24") })).toMatchObject({
      status: 1,
      stdout: "",
      stderr: expect.stringContaining(`netplugctl: ${denied} is not permitted; role ${roleFor(argv)} (code 108)\n`),
    });
  } finally {
    await grant(ROLE);
  }
});

test("a pool that may be disabled, and not deleted, stays disabled, and that is said (needs cluster)", async () => {
  await world.createPool("kept", "10.92.0.0/24");
  await grant({ ...ROLE, rules: ROLE.rules.map((rule) => ({ ...rule, verbs: rule.verbs.filter((verb) => verb !== "delete") })) });
  try {
    await untilDenied(world.api, "operator", "delete", "ippools.netplug.io");
    const warning = "warning: ippool/kept was disabled, so that it could be deleted, and stays so; to enable it again: ";
    const enable = `netplugctl patch ippool kept -p '{"spec":{"disabled":false}}'`;
    const denied = "netplugctl: delete ippools.netplug.io is not permitted; role netplug-admin (code 108)\n";
    const first = await world.ctl(["delete", "ippool", "kept"], { env });
    expect([first.status, first.stdout, first.stderr]).toEqual([1, "", expect.stringContaining(`${warning}${enable}\n${denied}`)]);
    const again = await world.ctl(["delete", "ippool", "kept"], { env });
    expect([again.status, again.stderr]).toEqual([1, expect.not.stringContaining("warning")]);
  } finally {
    await grant(ROLE);
  }
});

test("whoever may read pools alone is told that there are none, and nothing of what nobody asked for (needs cluster)", async () => {
  const pools = { KUBECONFIG: world.api.issue("pools").kubeconfigFile };
  const rules = [{ apiGroups: ["netplug.io"], resources: ["ippools"], verbs: ["get", "list"] }];
  await world.api.kubectl(
    ["apply", "-f", "-"],
    JSON.stringify({ apiVersion: "rbac.authorization.k8s.io/v1", kind: "ClusterRole", metadata: { name: "pools" }, rules }),
  );
  await world.api.kubectl(["create", "clusterrolebinding", "pools", "--clusterrole=pools", "--user=pools"]);
  await untilAllowed(world.api, "pools", "list", "ippools.netplug.io");
  const get = ["get", "ippools", "--selector=no=such"];
  expect(await world.ctl(get, { env: pools })).toEqual({ status: 0, stdout: "", stderr: 'no ippools found with --selector "no=such"\n' });
});
