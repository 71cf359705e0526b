/** The distribution's Podman runs containers on the plugin: they talk, get what they ask for, survive reloads and reboots, and leave nothing. */

import { expect } from "bun:test";
import { podmanCallsPlugins } from "../../tools/prerequisites/podman.ts";
import { cniPluginsFolder, distFolder, pluginPath } from "../support/programs/cni.ts";
import type { Json } from "../support/programs/cni-call.ts";
import { ShownDocument } from "../support/documents/document.ts";
import { eventually } from "../support/time/eventually.ts";
import { nodePlace } from "../support/node/netns.ts";
import { requireOwnNamespace } from "../support/node/own-namespace.ts";
import { shareIf } from "../support/share.ts";
import { TestNode } from "../support/node/test-node.ts";
import { PodmanMachine } from "./podman-machine.ts";

const isUsable = podmanCallsPlugins();
const [testPodman, node] = shareIf(isUsable, () => {
  requireOwnNamespace("podman");
  return TestNode.start(["10.65.0.0/24"]);
});
const [, machine] = shareIf(isUsable, () => {
  const portmap: Json = { type: "portmap", snat: true, capabilities: { portMappings: true } };
  return PodmanMachine.start([conflist("pods", "1.0.0", [portmap]), conflist("blue", "0.4.0"), conflist("newer", "1.1.0")]);
});

const TROUBLESHOOTING = new ShownDocument("docs/troubleshooting.md");

/** What is in /run goes with a reboot. */
function pluginConfig(name: string): Json {
  return node.config({ name, ipam_lock_file: "/run/netplug/ipam.lock" });
}

function conflist(name: string, cniVersion: string, chained: readonly Json[] = []): Json {
  const { cniVersion: _version, name: _name, ...plugin } = pluginConfig(name);
  return { cniVersion, name, plugins: [plugin, ...chained] };
}

async function expectNothingLeft(): Promise<void> {
  expect(await node.addressesInUse()).toBe(0);
  expect(await node.endpoints()).toEqual([]);
  expect(nodePlace.links().map(({ ifname }) => ifname)).toEqual(["lo"]);
}

testPodman("containers whose names no pod could have reach each other; removing them leaves nothing (needs podman-4)", async () => {
  const server = machine.runContainer(["--name=happy_pike"], ["nc", "-ll", "-p", "8080", "-e", "/bin/echo", "hello"]);
  const address = machine.addressOf(server, "pods");
  expect(address).toStartWith("10.65.0.");
  await eventually(() => {
    const client = machine.tryContainer(["--name=Client.1"], ["nc", "-w", "3", address, "8080"]);
    expect([client.status, client.stdout.trim()]).toEqual([0, "hello"]);
  });
  expect(await node.endpoints()).toMatchObject([{ spec: { orchestrator: "cni", containerID: server, ipNetworks: [`${address}/32`] } }]);

  machine.podman(["rm", "--force", "happy_pike"]);
  await expectNothingLeft();
});

testPodman("--ip and --mac-address hold through a restart and a reload; others are told who has them (needs podman-4)", async () => {
  const asked = ["--ip=10.65.0.77", "--mac-address=02:00:5e:10:00:01"];
  const fixed = machine.runContainer(["--name=fixed", ...asked]);
  const expectAsAsked = (): void => {
    const shown = machine.podman(["exec", "fixed", "ip", "address", "show", "dev", "eth0"]);
    expect(shown).toContain("inet 10.65.0.77/32");
    expect(shown).toContain("link/ether 02:00:5e:10:00:01");
  };
  expectAsAsked();
  const other = machine.tryContainer(["--ip=10.65.0.77"], ["true"]);
  expect([other.status, other.stderr]).toEqual([126, expect.stringContaining(`it belongs to container "${fixed}"`)]);

  for (const [verb, ...options] of [
    ["restart", "--time=0"],
    ["network", "reload"],
    ["network", "reload"],
  ]) {
    machine.podman([verb ?? "", ...options, "fixed"]);
    expectAsAsked();
  }
  machine.podman(["rm", "--force", "fixed"]);
  await expectNothingLeft();
});

/** What comes from the node needs an address of it to come from. */
const NODE_ADDRESS = "192.0.2.1";

testPodman("a published port reaches the container, also after a reload (needs podman-4)", async () => {
  nodePlace.must(["ip", "address", "add", `${NODE_ADDRESS}/32`, "dev", "lo"]);
  machine.runContainer(["--name=server", "--publish=18080:8080"], ["nc", "-ll", "-p", "8080", "-e", "/bin/echo", "hello"]);
  const ask = ["busybox", "nc", "-w", "3", NODE_ADDRESS, "18080"];
  const expectAnswer = async (): Promise<void> => await eventually(() => expect(nodePlace.run(ask).stdout.trim()).toBe("hello"));
  await expectAnswer();
  machine.podman(["network", "reload", "server"]);
  await expectAnswer();
  machine.podman(["rm", "--force", "server"]);
  nodePlace.must(["ip", "address", "del", `${NODE_ADDRESS}/32`, "dev", "lo"]);
  await expectNothingLeft();
});

testPodman("a container of two networks has an interface and an address of each (needs podman-4)", async () => {
  const both = machine.runContainer(["--network=pods", "--network=blue"]);
  const addresses = ["pods", "blue"].map((network) => machine.addressOf(both, network));
  const shown = machine.podman(["exec", both, "ip", "address"]);
  for (const text of ["eth0@", "eth1@", ...addresses.map((address) => `inet ${address}/32`)]) expect(shown).toContain(text);
  machine.podman(["network", "disconnect", "blue", both]);
  expect(await node.addressesInUse()).toBe(1);
  machine.podman(["rm", "--force", both]);
  await expectNothingLeft();
});

testPodman("a network of CNI 1.1.0 is refused with the words of docs/troubleshooting.md, and leaves nothing (needs podman-4)", async () => {
  const { status, stderr } = machine.tryContainer(["--network=newer"], ["true"]);
  expect([status, stderr]).toEqual([126, expect.stringContaining(TROUBLESHOOTING.one("unsupported CNI result version"))]);
  await expectNothingLeft();
});

testPodman("the containers of a build have the network and leave nothing (needs podman-4)", async () => {
  expect(machine.build("ip address show dev eth0")).toContain("inet 10.65.0.");
  await expectNothingLeft();
});

testPodman(
  "after a reboot the documented GC releases everything, and containers start with what they ask for (needs podman-4)",
  async () => {
    machine.runContainer(["--name=fixed", "--ip=10.65.0.77"]);
    machine.runContainer(["--name=gone"]);
    await machine.reboot();

    // Podman takes a container that it has not started since for one without a network
    machine.podman(["rm", "--force", "gone"]);
    expect(await node.addressesInUse()).toBe(2);
    const gc = machine.run([pluginPath("netplug")], JSON.stringify({ ...pluginConfig("pods"), ...documentedGc() }), {
      CNI_COMMAND: "GC",
      CNI_PATH: `${distFolder}:${cniPluginsFolder}`,
    });
    expect([gc.status, gc.stdout]).toEqual([0, ""]);
    await expectNothingLeft();

    machine.podman(["start", "fixed"]);
    expect(machine.addressOf("fixed", "pods")).toBe("10.65.0.77");
    machine.podman(["rm", "--force", "fixed"]);
    await expectNothingLeft();
  },
);

/** The network config that the document for users hands to GC. */
function documentedGc(): Json {
  const [, config] = /^(\{.*\})$/m.exec(new ShownDocument("docs/container-hosts.md").block("", "CNI_COMMAND=GC")) ?? [];
  if (config === undefined) throw new Error("docs/container-hosts.md: no call of GC");
  return JSON.parse(config) as Json;
}
