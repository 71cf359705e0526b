/** `npm run demo`: netplug's main job, for real, in front of a person. */

import { readFileSync } from "node:fs";
import { readLedger } from "../../src/lib/log/read-ledger.ts";
import { build } from "../build.ts";
import { bold, dim, green, red, since, TaskFailure } from "../terminal.ts";
import { toLedgerBars } from "./ledger-bars.ts";
import { DemoWorld } from "./world.ts";

const PODS = ["web", "client"] as const;

const POOL = {
  apiVersion: "netplug.io/v3",
  kind: "IPPool",
  metadata: { name: "demo-pool" },
  spec: { cidr: "10.65.0.0/16" },
};

/** @returns the exit status */
export async function runDemo(args: readonly string[]): Promise<number> {
  const unknown = args.find((arg) => arg !== "--keep");
  if (unknown !== undefined) throw new TaskFailure(`npm run demo: got "${unknown}", want nothing or -- --keep`);
  build();

  const started = performance.now();
  // It takes seconds, and has much to remove: an interrupt ends the program that runs just then, or waits for the end.
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => undefined);
  await using world = new DemoWorld();
  await startCluster(world);
  const addresses = PODS.map((pod) => addPod(world, pod));
  showTraffic(world, addresses);
  showOwners(world, addresses);
  showRefusal(world);
  if (args.includes("--keep")) {
    keep(world);
    return 0;
  }
  for (const pod of PODS) deletePod(world, pod);
  proveNothingIsLeft(world);
  print(
    bold(
      `\nDone in ${since(started)}. Next: docs/install.md puts netplug into a cluster, docs/container-hosts.md onto a host; npm run cluster brings up a Kubernetes to try it on.`,
    ),
  );
  return 0;
}

async function startCluster(world: DemoWorld): Promise<void> {
  step("etcd starts in a network namespace that plays the host, and gets a pool");
  await world.startHost();
  print(world.netplugctl(["create", "-f", "-"], JSON.stringify(POOL)));
}

/** @returns the pod's address */
function addPod(world: DemoWorld, pod: string): string {
  step(`ADD: pod ${pod} gets its interface and address`);
  world.addNamespace(world.podNamespace(pod));
  const result = world.cni("ADD", pod);
  if (result.status !== 0) throw new TaskFailure(`ADD of ${pod} failed:\n${result.stdout}${result.stderr}`);
  const { interfaces, ips, routes } = JSON.parse(result.stdout) as {
    interfaces: { name: string }[];
    ips: { address: string }[];
    routes: { dst: string; gw: string }[];
  };
  const [address] = (ips[0]?.address ?? "").split("/");
  if (address === undefined || address === "") throw new TaskFailure(`ADD of ${pod} gave no address: ${result.stdout}`);
  print(`${interfaces.map(({ name }) => name).join(" ⇄ ")}  ${address}  ${routes.map(({ dst, gw }) => `${dst} via ${gw}`).join(", ")}`);
  printLedger(world);
  return address;
}

function printLedger(world: DemoWorld): void {
  const entry = readLedger(readFileSync(world.logFile, "utf8").split("\n")).at(-1);
  if (entry === undefined) throw new TaskFailure(`no ledger line in the plugin's log ${world.logFile}`);
  print(dim("where its time went (netplugctl ledger shows this of a node's log):"));
  for (const line of toLedgerBars(entry)) print(dim(line));
}

function showTraffic(world: DemoWorld, [web = "", client = ""]: readonly string[]): void {
  step("The pods talk");
  for (const [from, to] of [
    ["client", web],
    ["web", client],
  ] as const) {
    const result = world.inPod(from, ["ping", "-c", "3", "-i", "0.2", "-W", "2", to]);
    if (result.status !== 0) throw new TaskFailure(`${from} does not reach ${to}:\n${result.stdout}${result.stderr}`);
    print(`${from} → ${to}: ${result.stdout.split("\n").find((line) => line.includes("packet loss")) ?? ""}`);
  }
}

function showOwners(world: DemoWorld, addresses: readonly string[]): void {
  step("Who owns which address");
  print(world.netplugctl(["ipam", "show"]));
  for (const address of addresses) print(world.netplugctl(["ipam", "show", `--ip=${address}`]));
}

function showRefusal(world: DemoWorld): void {
  step("A request that cannot be met is refused, and says why");
  world.addNamespace(world.podNamespace("greedy"));
  const result = world.cni("ADD", "greedy", "IP=192.0.2.7");
  if (result.status === 0) throw new TaskFailure(`an address outside every pool was given: ${result.stdout}`);
  print(red(result.stdout));
}

function deletePod(world: DemoWorld, pod: string): void {
  step(`DEL: pod ${pod} goes`);
  const result = world.cni("DEL", pod);
  if (result.status !== 0) throw new TaskFailure(`DEL of ${pod} failed:\n${result.stdout}${result.stderr}`);
  printLedger(world);
}

/** Asks the kernel and etcd, not netplug. */
function proveNothingIsLeft(world: DemoWorld): void {
  step("Nothing is left");
  const links = world.mustOnHost(["ip", "-br", "link", "show", "type", "veth"]).trim();
  const endpoints = world
    .mustOnHost(["etcdctl", "get", "--prefix", "--keys-only", "/netplug/v3/workloadendpoints/"], { ETCDCTL_API: "3" })
    .trim();
  const inUse = (JSON.parse(world.netplugctl(["ipam", "show", "-o", "json"])) as { pools: { inUse: number }[] }).pools[0]?.inUse;
  for (const [what, found] of [
    ["ip link: veth interfaces on the host", links],
    ["etcdctl: workload endpoints", endpoints],
    ["netplugctl: addresses in use", inUse === 0 ? "" : String(inUse)],
  ] as const) {
    if (found !== "") throw new TaskFailure(`${what}: want none, got\n${found}`);
    print(`${green("✓")} ${what}: none`);
  }
}

function keep(world: DemoWorld): void {
  const commands = world.removalCommands([...PODS, "greedy"]);
  step("Kept for you to look at");
  print(`ip netns exec ${world.podNamespace("web")} ip address        # inside a pod`);
  print(`ip netns exec ${world.host} ip route              # the host's routes`);
  print(`ip netns exec ${world.host} dist/netplugctl get workloadendpoints -A`);
  print(`\nRemove it with\n  ${commands.join("\n  ")}`);
  world.keep();
}

function step(text: string): void {
  print(bold(`\n${text}`));
}

function print(text: string): void {
  console.log(text.trimEnd());
}
