/** ADD to DEL with address management of the CNI project, through the built plugin. */

import { describe, expect, test } from "bun:test";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { CNI_VERSIONS, type CniReply } from "../support/programs/cni.ts";
import type { Json } from "../support/programs/cni-call.ts";
import { TestNetns } from "../support/node/netns.ts";
import { isOnEtcd, onEtcd } from "../support/node/node-datastore.ts";
import { share } from "../support/share.ts";
import { TestNode } from "../support/node/test-node.ts";

const node = share(() => TestNode.start(["10.65.0.0/24"]));

function configOf(ipam: Json, overrides: Json = {}): Json {
  return { ...node.config(overrides), ipam: { type: "host-local", dataDir: join(node.folder, "host-local"), ...ipam } };
}

/** Addresses that host-local has given, by the files that it keeps. */
function reserved(): readonly string[] {
  const folder = join(node.folder, "host-local", "test-net");
  return existsSync(folder) ? readdirSync(folder).filter((name) => /^[0-9a-f]+[.:]/.test(name)) : [];
}

async function expectGone(reply: CniReply): Promise<void> {
  expect([reply.status, reply.stdout]).toEqual([0, ""]);
  expect([reserved(), await node.endpoints()]).toEqual([[], []]);
}

/**
 * A pod whose addresses are host-local's, called through a script.
 *
 * @param script what it does first; when it goes on, host-local gets the call
 * @returns the call that has added it
 */
async function addThrough(pod: TestNetns, script: string) {
  const folder = mkdtempSync(join(node.folder, "delegate-"));
  writeFileSync(join(folder, "host-local"), `#!/bin/sh\n${script}\nexec /usr/lib/cni/host-local\n`, { mode: 0o755 });
  const config = configOf({ subnet: "10.88.0.0/24" });
  const call = { containerID: node.newContainerID(), netns: pod.path, config, env: { CNI_PATH: folder } };
  expect((await node.call("ADD", call)).status).toBe(0);
  return call;
}

describe("host-local", () => {
  test("gives both families; a range's gateway does not count, next hops are ours, and CHECK and a second ADD are content", async () => {
    using pod = new TestNetns();
    const ranges = [[{ subnet: "10.88.0.0/24", gateway: "10.88.0.2" }], [{ subnet: "fd88::/64", gateway: "nonsense" }]];
    const config = configOf({ ranges });
    const call = { containerID: node.newContainerID(), netns: pod.path, config };
    const first = await node.call("ADD", call);
    expect(first.json?.ips).toEqual([
      { address: "10.88.0.2/32", interface: 1 },
      { address: "fd88::2/128", interface: 1 },
    ]);
    expect(first.json?.routes).toEqual([
      { dst: "0.0.0.0/0", gw: "169.254.1.1" },
      { dst: "::/0", gw: "fe80::ecee:eeff:feee:eeee" },
    ]);
    expect(pod.addresses("eth0")).toEqual(["10.88.0.2/32", "fd88::2/128"]);
    expect(await node.call("ADD", call)).toMatchObject({ status: 0, stdout: first.stdout });
    expect(reserved()).toHaveLength(2);
    expect(await node.call("CHECK", { ...call, config: { ...config, prevResult: first.json } })).toMatchObject({ status: 0, stdout: "" });
    await expectGone(await node.call("DEL", call));
  });

  test.each<[routes: readonly Json[] | undefined, expected: readonly string[]]>([
    [undefined, ["default"]],
    [[], []],
    [[{ dst: "10.0.0.0/8", gw: "192.0.2.1" }, { dst: "fd00::/8" }, {}], ["10.0.0.0/8"]],
  ])("with the routes %j installs %j by our next hop", async (routes, expected) => {
    using pod = new TestNetns();
    const config = configOf({ subnet: "10.88.0.0/24", ...(routes !== undefined && { routes }) });
    const call = { containerID: node.newContainerID(), netns: pod.path, config };
    expect((await node.call("ADD", call)).status).toBe(0);
    const installed = pod.routes(4).filter(({ gateway }) => gateway !== undefined);
    expect(installed.map(({ dst, gateway }) => [dst, gateway])).toEqual(expected.map((dst) => [dst, "169.254.1.1"]));
    await expectGone(await node.call("DEL", call));
  });

  test("has its dns in the result, as CNI wants it, and in that of a second ADD, until the DEL or a GC", async () => {
    using pod = new TestNetns();
    const resolvConf = join(node.folder, "resolv.conf");
    writeFileSync(resolvConf, "nameserver 192.0.2.53\nsearch example.org\n");
    const call = { containerID: node.newContainerID(), netns: pod.path, config: configOf({ subnet: "10.88.0.0/24", resolvConf }) };
    const noted = (): readonly string[] => readdirSync(join(node.folder, "dns"));
    const { json } = await node.call("ADD", call);
    expect(json?.dns).toEqual({ nameservers: ["192.0.2.53"], search: ["example.org"] });
    expect((await node.call("ADD", call)).json).toEqual(json);
    pod.must(["ip", "link", "delete", "eth0"]);
    expect((await node.call("ADD", call)).json).toEqual(json);
    expect(noted()).toHaveLength(1);
    await expectGone(await node.call("DEL", call));
    expect(noted()).toEqual([]);
    expect((await node.call("ADD", call)).json?.dns).toEqual(json?.dns);
    expect((await node.call("GC", { config: { ...call.config, "cni.dev/valid-attachments": [] } })).stdout).toBe("");
    expect(noted()).toEqual([]);
    await expectGone(await node.call("DEL", call));
  });

  test.each([...CNI_VERSIONS])("works in CNI %s", async (cniVersion) => {
    using pod = new TestNetns();
    const call = { containerID: node.newContainerID(), netns: pod.path, config: configOf({ subnet: "10.88.0.0/24" }, { cniVersion }) };
    const { status, json } = await node.call("ADD", call);
    expect([status, json?.cniVersion, json?.ip4?.ip ?? json?.ips?.[0]?.address]).toEqual([
      0,
      cniVersion,
      expect.stringContaining("10.88.0."),
    ]);
    await expectGone(await node.call("DEL", call));
  });

  test.each<[way: string, overrides: Json, args: string]>([
    ["IP in CNI_ARGS", {}, "IP=10.88.0.99"],
    ["args.cni.ips", { args: { cni: { ips: ["10.88.0.99"] } } }, ""],
    ["the capability", { runtimeConfig: { ips: ["10.88.0.99/24"] } }, ""],
  ])("is asked for an address by %s", async (_way, overrides, args) => {
    using pod = new TestNetns();
    const config = configOf({ subnet: "10.88.0.0/24" }, overrides);
    const call = { containerID: node.newContainerID(), netns: pod.path, config, args };
    expect((await node.call("ADD", call)).json?.ips?.[0]?.address).toBe("10.88.0.99/32");
    await expectGone(await node.call("DEL", call));
  });

  onEtcd(() => {
    test.each(["usePodCidr", "USEPODCIDR", "usePodCidrIPv6"])(
      "with the word %p needs the Kubernetes API, and DEL does not",
      async (subnet) => {
        using pod = new TestNetns();
        for (const ipam of [{ subnet }, { ranges: [[{ subnet }]] }]) {
          const call = { containerID: node.newContainerID(), netns: pod.path, config: configOf(ipam) };
          const { json } = await node.call("ADD", call);
          expect([json?.code, json?.msg]).toEqual([7, expect.stringContaining("find the Kubernetes API: want a kubeconfig")]);
          await expectGone(await node.call("DEL", call));
        }
      },
    );
  });

  test.each<[ipam: Json, expected: readonly (number | string | undefined)[]]>([
    [{ ranges: [[{ subnet: "10.88.0.0/24", gateway: "usePodCidr" }]] }, [undefined, undefined]],
    [{ subnet: "10.88.0.0/24", rangeStart: "usePodCidr" }, [7, 'read "ipam.rangeStart": got "usePodCidr", want an address']],
  ])("with a pod-CIDR word that is no subnet, %j, asks no Kubernetes API", async (ipam, expected) => {
    using pod = new TestNetns();
    const call = { containerID: node.newContainerID(), netns: pod.path, config: configOf(ipam) };
    const { json } = await node.call("ADD", call);
    expect([json?.code, json?.msg]).toEqual([...expected]);
    await expectGone(await node.call("DEL", call));
  });

  test("that takes a GC and does nothing at it releases what belongs to no attachment all the same", async () => {
    using pod = new TestNetns();
    // As that of the CNI project which says 1.1.0; this one is the distribution's behind it.
    const call = await addThrough(pod, '[ "$CNI_COMMAND" = GC ] && exit 0');
    expect(reserved()).toHaveLength(1);
    const config = { ...call.config, "cni.dev/valid-attachments": [] };
    expect((await node.call("GC", { config, env: call.env })).stdout).toBe("");
    // On Kubernetes the record is the pod, which ends by itself.
    expect([reserved(), pod.link("eth0"), isOnEtcd ? await node.endpoints() : []]).toEqual([[], undefined, []]);
    await expectGone(await node.call("DEL", call));
  });

  onEtcd(() => {
    test("that fails to release something at a GC is asked for it at the next one", async () => {
      using pod = new TestNetns();
      const ill = join(node.folder, "ill");
      const script = `[ "$CNI_COMMAND" = GC ] && exit 0\n[ -e ${ill} ] && { echo '{"code":999,"msg":"ill"}'; exit 1; }`;
      const call = await addThrough(pod, script);
      const { env } = call;
      writeFileSync(ill, "");
      const config = { ...call.config, "cni.dev/valid-attachments": [] };
      const { json } = await node.call("GC", { config, env });
      expect([json?.code, json?.msg, reserved().length]).toEqual([111, expect.stringContaining("ill"), 1]);
      expect([pod.link("eth0"), (await node.endpoints()).length]).toEqual([undefined, 1]);
      rmSync(ill);
      await expectGone(await node.call("GC", { config, env }));
    });
  });

  test("is told at a GC to keep what an interface has that could not be taken away", async () => {
    using pod = new TestNetns();
    const asked = join(node.folder, "asked.json");
    const call = await addThrough(pod, `[ "$CNI_COMMAND" = GC ] && { cat > ${asked}; exit 0; }`);
    const valid = [{ containerID: "another", ifname: "eth0" }];
    const config = { ...call.config, "cni.dev/valid-attachments": valid, "cni.dev/attachments": valid };
    const reply = await node.call("GC", { config, env: call.env, plugin: node.pluginWithout("net_admin") });
    expect([reply.json?.code, reserved().length, pod.link("eth0")?.ifname]).toEqual([109, 1, "eth0"]);
    const given = JSON.parse(readFileSync(asked, "utf8")) as Json;
    const kept = [...valid, { containerID: call.containerID, ifname: "eth0" }];
    expect([given["cni.dev/valid-attachments"], given["cni.dev/attachments"]]).toEqual([kept, kept]);
    await expectGone(await node.call("DEL", call));
  });

  test("that is full is code 111 with its own word, and leaves nothing", async () => {
    using first = new TestNetns();
    using second = new TestNetns();
    const config = configOf({ ranges: [[{ subnet: "10.88.0.0/30", rangeStart: "10.88.0.2", rangeEnd: "10.88.0.2" }]] });
    const holder = { containerID: node.newContainerID(), netns: first.path, config };
    await node.call("ADD", holder);
    const { json } = await node.call("ADD", { containerID: node.newContainerID(), netns: second.path, config });
    expect([json?.code, json?.details]).toEqual([111, expect.stringContaining("no IP addresses available")]);
    expect([second.link("eth0"), reserved(), (await node.endpoints()).length]).toEqual([undefined, ["10.88.0.2"], 1]);
    await expectGone(await node.call("DEL", holder));
  });

  test.each<[ipam: Json, key: string]>([
    [{ ranges: 5 }, "ipam.ranges"],
    [{ ranges: [{}] }, "ipam.ranges[0]"],
    [{ subnet: 5 }, "ipam.subnet"],
    [{ subnet: "10.88.0.0/24", routes: 5 }, "ipam.routes"],
  ])("with %j is code 7 on ADD, and a DEL with it does its work", async (bad, key) => {
    using pod = new TestNetns();
    const call = { containerID: node.newContainerID(), netns: pod.path };
    const refused = await node.call("ADD", { ...call, config: configOf(bad) });
    expect([refused.json?.code, refused.json?.msg]).toEqual([7, expect.stringContaining(`read "${key}": got `)]);
    await node.call("ADD", { ...call, config: configOf({ subnet: "10.88.0.0/24" }) });
    expect(reserved()).toHaveLength(1);
    await expectGone(await node.call("DEL", { ...call, config: configOf(bad) }));
  });

  test("takes no pools of ours: code 105", async () => {
    using pod = new TestNetns();
    const config = configOf({ subnet: "10.88.0.0/24", ipv4_pools: ["pool-0"] });
    const { json } = await node.call("ADD", { containerID: node.newContainerID(), netns: pod.path, config });
    expect(json).toMatchObject({ code: 105, msg: expect.stringContaining('"ipam.ipv4_pools"') });
    expect(reserved()).toEqual([]);
  });
});

test("any other IPAM plugin works the same way: static", async () => {
  using pod = new TestNetns();
  const ipam = { type: "static", addresses: [{ address: "10.90.0.5/24", gateway: "10.90.0.1" }], dns: { nameservers: ["192.0.2.9"] } };
  const call = { containerID: node.newContainerID(), netns: pod.path, config: configOf(ipam) };
  const { json } = await node.call("ADD", call);
  expect(json).toMatchObject({ ips: [{ address: "10.90.0.5/32" }], dns: { nameservers: ["192.0.2.9"] } });
  const checked = await node.call("CHECK", { ...call, config: { ...call.config, prevResult: json } });
  expect([checked.status, checked.stdout]).toEqual([0, ""]);
  await expectGone(await node.call("DEL", call));
});
