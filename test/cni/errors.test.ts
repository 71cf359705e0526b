/** Bad input: one clear error each, on stdout as the CNI specification says, and nothing left behind. */

import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { pluginPath } from "../support/programs/cni.ts";
import type { CniCall, Json } from "../support/programs/cni-call.ts";
import { nodePlace, TestNetns } from "../support/node/netns.ts";
import { onEtcd } from "../support/node/node-datastore.ts";
import { applyPool, mustNetplugctl } from "../support/cli/netplugctl.ts";
import { share } from "../support/share.ts";
import { TestNode } from "../support/node/test-node.ts";

let pod: TestNetns;
let inUseBefore: number;
const node = share(() => TestNode.start(["10.65.0.0/24"]));
beforeEach(async () => {
  pod = new TestNetns();
  inUseBefore = await node.addressesInUse();
});
afterEach(async () => {
  using _pod = pod;
  expect(pod.links().map(({ ifname }) => ifname)).toEqual(["lo"]);
  expect(nodePlace.links().filter(({ ifalias }) => ifalias?.startsWith("netplug:bad-input") === true)).toEqual([]);
  expect(await node.addressesInUse()).toBe(inUseBefore);
});

async function refusal(call: CniCall): Promise<{ readonly code: number | undefined; readonly msg: string }> {
  const config = call.config ?? node.config({ name: "bad-input" });
  const reply = await node.call("ADD", { containerID: node.newContainerID(), netns: pod.path, ...call, config });
  expect(reply.status).toBe(1);
  expect(reply.json?.cniVersion).toMatch(/^\d+\.\d+\.\d+$/);
  const msg = reply.json?.msg ?? "";
  expect(msg).not.toEndWith(".");
  return { code: reply.json?.code, msg };
}

describe("the environment", () => {
  test.each([
    ["CNI_CONTAINERID", undefined, 4],
    ["CNI_CONTAINERID", "", 4],
    ["CNI_CONTAINERID", "../../etc", 4],
    ["CNI_CONTAINERID", "a b", 4],
    ["CNI_NETNS", undefined, 4],
    ["CNI_IFNAME", undefined, 4],
    ["CNI_IFNAME", "a/b", 4],
    ["CNI_IFNAME", "..", 4],
    ["CNI_IFNAME", "sixteencharacter", 4],
    ["CNI_IFNAME", "a b", 4],
    ["CNI_IFNAME", "default", 4],
    ["CNI_IFNAME", "\u202ea", 4],
    ["CNI_CONTAINERID", "c".repeat(300), 4],
    ["CNI_COMMAND", "FLY", 4],
    ["CNI_NETNS", "/nowhere/netns", 8],
    ["CNI_NETNS", "/proc/self/ns/net", 8],
    ["CNI_NETNS", "/etc/passwd", 8],
    ["CNI_NETNS", "/proc/self/ns/mnt", 8],
    ["CNI_ARGS", "K8S_POD_NAME", 104],
    ["CNI_ARGS", "A=b=c", 104],
    ["CNI_ARGS", "K8S_POD_NAME=web", 104],
    ["CNI_ARGS", "K8S_POD_NAMESPACE=Bad_Name;K8S_POD_NAME=web", 104],
    ["CNI_ARGS", "K8S_POD_NAMESPACE=default;K8S_POD_NAME=../x", 104],
    ["CNI_ARGS", "IP=999.1.1.1", 104],
  ])("%s=%p is code %i and named", async (name, value, code) => {
    const { code: got, msg } = await refusal({ env: { [name]: value } });
    expect([got, [name, "K8S_POD_NAME", "IP", value ?? name].some((word) => msg.includes(word))]).toEqual([code, true]);
  });

  const ENDPOINT = { ETCD_ENDPOINTS: "https://127.0.0.1:1" };
  test.each<[env: Record<string, string>, keys: Json, msg: string]>([
    [{ ...ENDPOINT, NETPLUG_ETCD_DISCOVERY_SRV: "x.org" }, {}, "got ETCD_ENDPOINTS and NETPLUG_ETCD_DISCOVERY_SRV, want only one of them"],
    [{ ...ENDPOINT, ETCD_CERT_FILE: "/x" }, {}, "want ETCD_CERT_FILE and etcd_key_file together"],
    [{ ETCD_USERNAME: "u" }, {}, "want ETCD_USERNAME and etcd_password together"],
    [{ ETCD_ENDPOINTS: "http://a/b" }, {}, 'parse ETCD_ENDPOINTS "http://a/b": want'],
    [{ DATASTORE_TYPE: "sqlite" }, {}, 'got type "sqlite" of DATASTORE_TYPE, want'],
    [{ ...ENDPOINT, ETCD_CA_CERT_FILE: "/none" }, {}, 'read ETCD_CA_CERT_FILE "/none": no such file'],
    [
      { ETCD_CA_CERT_FILE: "/none" },
      { etcd_ca_cert_file: "/etcd_key_file", etcd_endpoints: "https://127.0.0.1:1" },
      'read etcd_ca_cert_file "/etcd_key_file"',
    ],
  ])("where %j makes a setting of etcd, a message names the variable (config: %j)", async (env, keys, msg) => {
    const config = { ...node.config({ name: "bad-input" }), datastore_type: "", etcd_endpoints: "", ...keys };
    expect(await refusal({ env, config })).toEqual({ code: msg.includes("read ") ? 5 : 7, msg: expect.stringContaining(msg) });
  });

  test("empty pieces and a trailing semicolon in CNI_ARGS are accepted", async () => {
    const containerID = node.newContainerID();
    await node.add(pod, { containerID, args: ";IgnoreUnknown=true;;FOO=bar;" });
    expect(pod.addresses("eth0")).toHaveLength(1);
    await node.del({ containerID, netns: pod.path });
    expect(pod.addresses("eth0")).toEqual([]);
  });
});

test("a process that may open only few files says so, takes no namespace for gone, and leaves nothing after its DEL", async () => {
  const plugin = join(node.folder, "with-few-files");
  const config = node.config({ name: "bad-input" });
  const refused = new Set<string>();
  for (const name of ["netplug", "netplug-ipam"]) {
    for (let limit = 5; limit <= 12; limit++) {
      writeFileSync(plugin, `#!/bin/sh\nulimit -n ${limit}\nexec ${pluginPath(name)}\n`, { mode: 0o755 });
      const call = { containerID: node.newContainerID(), netns: pod.path, config };
      const reply = await node.call("ADD", { ...call, plugin });
      if (reply.status !== 0) {
        expect(reply.json?.msg).toMatch(/too many open files/);
        refused.add(name);
      }
      expect((await node.call("DEL", { ...call, plugin: name })).status).toBe(0);
    }
  }
  expect([...refused]).toEqual(["netplug", "netplug-ipam"]);
});

onEtcd(() => {
  test("an interface whose name in the datastore is that of another container's is refused, and that one stays", async () => {
    using other = new TestNetns();
    const containerID = node.newContainerID();
    const [first, second] = [
      { containerID: `${containerID}-`, ifname: "x", netns: other.path },
      { containerID, ifname: "-x", netns: pod.path },
    ];
    const result = await node.add(other, first);
    const records = await node.endpoints();
    const { code, msg } = await refusal(second);
    expect([code, msg]).toEqual([
      4,
      expect.stringMatching(/^record endpoint "node--a-cni-.*": it is interface "x" of container ".*-"; choose another interface name$/),
    ]);
    expect((await node.call("DEL", second)).status).toBe(0);
    expect(await node.endpoints()).toEqual(records);
    expect((await node.call("CHECK", { ...first, config: node.config({ prevResult: result }) })).stdout).toBe("");
    expect(await node.addressesInUse()).toBe(inUseBefore + 1);
    await node.del(first);
  });
});

describe("the network config", () => {
  test.each([
    ["no JSON", "{", 6],
    ["nothing", "", 6],
    ["a list", "[]", 6],
    ["a text", '"x"', 6],
  ])("that is %s is code %i", async (_what, config, code) => {
    expect((await refusal({ config })).code).toBe(code);
  });

  test("that is a whole conflist is code 7, and says what is wanted", async () => {
    const { type, ipam, ...rest } = node.config({ name: "bad-input" });
    const { code, msg } = await refusal({ config: { ...rest, plugins: [{ type, ipam }] } });
    expect([code, msg]).toEqual([7, expect.stringContaining('got a conflist, want an entry of its "plugins"')]);
  });

  test.each([
    ['"runtimeConfig.ips"', { runtimeConfig: { ips: ["10.65.0.77/32", "10.65.0.78/32"] } }],
    ['"args.cni.ips"', { args: { cni: { ips: ["10.65.0.77", "10.65.0.78"] } } }],
  ])("that asks for two addresses of a family in %s is code 7", async (key, asked) => {
    const msg = `read ${key}: got 2 IPv4 addresses, want at most one`;
    expect(await refusal({ config: node.config(asked) })).toMatchObject({ code: 7, msg });
  });

  test.each([
    ["a key with a wrong type", { mtu: "1500" }],
    ["a wrong name", { name: "../x" }],
    ["an unknown CNI version", { cniVersion: "9.9.9" }],
    ["a wrong key of the log", { log_level: "LOUD" }],
  ])("that is refused for %s is logged, on stderr and in the file that it names", async (_what, keys) => {
    const containerID = node.newContainerID();
    const config = { ...node.config({ name: "bad-input" }), ...keys };
    const args = "K8S_POD_NAMESPACE=default;K8S_POD_NAME=web";
    const { json, stderr } = await node.call("ADD", { containerID, netns: pod.path, config, args });
    const { code, msg } = json ?? {};
    const lines = node.logLines().filter((line) => line["containerID"] === containerID);
    expect(lines).toMatchObject([{ level: "ERROR", msg, pod: "default/web", verb: "ADD", code }]);
    expect(stderr).toContain(`ERROR ${msg} containerID="${containerID}"`);
  });

  test.each([
    ["config that is no JSON", "{", {}],
    ["environment", undefined, { CNI_IFNAME: "a/b" }],
  ])("that cannot be read because of the %s is logged on stderr", async (_what, config, env) => {
    const { json, stderr } = await node.call("ADD", {
      containerID: node.newContainerID(),
      netns: pod.path,
      env,
      ...(config !== undefined && { config }),
    });
    expect(stderr).toContain(`ERROR ${json?.msg}`);
  });

  test("that is 10 MB long or nested a hundred thousand deep is refused, not crashed on", async () => {
    const deep = `{"a":${"[".repeat(100_000)}${"]".repeat(100_000)}}`;
    expect([6, 7]).toContain((await refusal({ config: deep })).code ?? 0);
    const long = JSON.stringify({ ...node.config({ name: "bad-input" }), mtu: "x", padding: "y".repeat(10_000_000) });
    expect([6, 7]).toContain((await refusal({ config: long })).code ?? 0);
  });

  test.each([
    ["name", { name: "" }],
    ["name", { name: "../x" }],
    ["mtu", { mtu: -1 }],
    ["mtu", { mtu: "1500" }],
    ["num_queues", { num_queues: -2 }],
    ["log_level", { log_level: "LOUD" }],
    ["log_file_path", { log_file_path: 7 }],
    ["datastore_type", { datastore_type: "sqlite" }],
    ["assign_ipv4", { ipam: { assign_ipv4: true } }],
    ["assign_ipv6", { ipam: { assign_ipv6: "yes" } }],
    ["ipv4_pools", { ipam: { ipv4_pools: "pool-0" } }],
    ["policy", { policy: { type: "other" } }],
    ["policy_setup_timeout_seconds", { policy_setup_timeout_seconds: -1 }],
    ["readiness_gates", { readiness_gates: ["ftp://x"] }],
    ["etcd_discovery_srv", { etcd_discovery_srv: "example.org" }],
    ["etcd_endpoints", { etcd_endpoints: "not a url" }],
    ["container_settings", { container_settings: { allow_ip_forwarding: "true" } }],
    ["routes", { ipam: { routes: [{ dst: "10.0.0.0" }] } }],
    ["ipam.type", { ipam: { type: undefined } }],
    ["ipam.type", { ipam: { type: "netplug" } }],
    ["assign_ipv6", { ipam: { assign_ipv4: "false" } }],
    ['"type"', { type: "bridge" }],
    ["mac", { runtimeConfig: { mac: "ee:ee:ee:ee:ee:ee" } }],
    ["etcd_cert_file", { etcd_cert_file: "/nowhere" }],
    ['"name"', { name: `bad-input${"x".repeat(250)}` }],
    ["ips", { runtimeConfig: { ips: ["10.65.0.300"] } }],
    ["mac", { runtimeConfig: { mac: "xx" } }],
  ])("%s: %j is code 7 and named", async (key, overrides) => {
    const { code, msg } = await refusal({ config: node.config({ name: "bad-input", ...overrides }) });
    expect([code, msg]).toEqual([7, expect.stringContaining(key)]);
  });

  test("a pool that does not exist, or is of the other family, is code 100", async () => {
    for (const ipam of [{ ipv4_pools: ["nowhere"] }, { ipv4_pools: ["10.66.0.0/24"] }, { assign_ipv6: "true", ipv6_pools: ["pool-0"] }]) {
      expect((await refusal({ config: node.config({ name: "bad-input", ipam }) })).code).toBe(100);
    }
  });

  test("no pool of a wanted family is code 101 and gives no address of the other", async () => {
    const config = node.config({ name: "bad-input", ipam: { assign_ipv6: "true" } });
    expect((await refusal({ config })).code).toBe(101);
  });

  test("a misspelling of a known key is warned about, and everything works without it", async () => {
    const containerID = node.newContainerID();
    const config = node.config({ Log_Level: "DEBUG", num_queue: 3 });
    const reply = await node.call("ADD", { containerID, netns: pod.path, config });
    expect(reply.status).toBe(0);
    expect(reply.stderr).toContain("Log_Level");
    expect(reply.stderr).toContain("num_queues");
    await node.del({ containerID, netns: pod.path, config });
  });

  test.each([
    ["the node's pod CIDR", { ipam: { type: "host-local", ranges: [[{ subnet: "usePodCidr" }]] } }],
    ["the pod", { policy: { type: "k8s" } }],
    ["all that is stored", { datastore_type: "kubernetes" }],
  ])("that needs the Kubernetes API for %s and does not say where it is is code 7", async (_what, overrides) => {
    const args = "K8S_POD_NAMESPACE=default;K8S_POD_NAME=web";
    const { code, msg } = await refusal({ config: node.config({ name: "bad-input", ...overrides }), args });
    expect([code, msg]).toEqual([7, expect.stringContaining("want a kubeconfig or the API server's address")]);
  });

  test("and an environment with a CA file that is not there is code 7, naming the variable", async () => {
    const config = node.config({ name: "bad-input", policy: { type: "k8s" } });
    const env = { K8S_API_ENDPOINT: "https://127.0.0.1:1", K8S_API_TOKEN: "t", NETPLUG_K8S_CA_FILE: "/none.pem" };
    const { code, msg } = await refusal({ config, env, args: "K8S_POD_NAMESPACE=default;K8S_POD_NAME=web" });
    expect([code, msg]).toEqual([7, 'read certificate authority "/none.pem" of NETPLUG_K8S_CA_FILE: no such file']);
  });
});

describe("what was written past the validation", () => {
  /** As somebody does who has etcdctl. */
  async function rewrite(key: string, change: (text: string) => string): Promise<void> {
    const text = await node.etcd.ctl(["get", `/netplug/v3/${key}`, "--print-value-only"]);
    await node.etcd.ctl(["put", `/netplug/v3/${key}`, change(text.trim())]);
  }
  const warnings = (containerID: string): readonly unknown[] =>
    node.logLines().flatMap((line) => (line["level"] === "WARNING" && line["containerID"] === containerID ? [line["msg"]] : []));
  const selector =
    'its nodeSelector "zone = a" is no selector: at character 6 got "=", want "==", "!=", "in", "not in", "contains", "starts with" or "ends with"';

  test("is told in the log where it counts for nothing, and in the error when nothing else is left", async () => {
    await applyPool(node.datastore.env, "zoned", { cidr: "10.66.0.0/24" });
    await rewrite("ippools/zoned", (text) => text.replace("all()", "zone = a"));
    const reservation = {
      apiVersion: "netplug.io/v3",
      kind: "IPReservation",
      metadata: { name: "held" },
      spec: { reservedCIDRs: ["10.65.0.3"] },
    };
    await mustNetplugctl(node.datastore.env, ["apply", "-f", "-"], JSON.stringify(reservation));
    await rewrite("ipreservations/held", (text) => text.replace("10.65.0.3", "10.65.0.300"));
    for (const plugin of ["netplug", "netplug-ipam"] as const) {
      const containerID = node.newContainerID();
      const call = { plugin, containerID, netns: pod.path };
      const reply = await node.call("ADD", call);
      expect([reply.status, warnings(containerID)]).toEqual([
        0,
        [
          'ipreservation "held": "10.65.0.300/32" in its reservedCIDRs is no CIDR and reserves nothing; correct it by "netplugctl patch ipreservation held"',
          `pool "zoned" is left out: ${selector}; correct it by "netplugctl patch ippool zoned"`,
        ],
      ]);
      await node.call("DEL", call);
    }
    await rewrite("ippools/pool-0", (text) => text.replace('"disabled":false', '"disabled":true'));
    const { code, msg } = await refusal({});
    expect([code, msg]).toEqual([
      101,
      expect.stringContaining(`pool "pool-0": it is disabled; pool "zoned": ${selector}; correct it by "netplugctl patch ippool zoned"`),
    ]);
    // The command does it.
    await mustNetplugctl(node.datastore.env, ["patch", "ippool", "zoned", "-p", '{"spec":{"nodeSelector":"all()"}}']);
    await mustNetplugctl(node.datastore.env, ["patch", "ipreservation", "held", "-p", '{"spec":{"reservedCIDRs":["10.65.0.3"]}}']);
    const containerID = node.newContainerID();
    await node.add(pod, { containerID });
    expect(warnings(containerID)).toEqual([]);
    await node.del({ containerID, netns: pod.path });
    await mustNetplugctl(node.datastore.env, ["patch", "ippool", "pool-0", "-p", '{"spec":{"disabled":false}}']);
    // What cannot be changed is not to be patched.
    await rewrite("ippools/zoned", (text) => text.replace('"blockSize":26', '"blockSize":16'));
    const another = node.newContainerID();
    await node.add(pod, { containerID: another });
    const [told] = warnings(another);
    expect(told).toEndWith(
      'its blockSize 16 does not fit 10.66.0.0/24: want 24..32; make another pool, and "netplugctl delete ippool zoned"',
    );
    await node.del({ containerID: another, netns: pod.path });
    await mustNetplugctl(node.datastore.env, ["delete", "ippool", "zoned"]);
    await mustNetplugctl(node.datastore.env, ["delete", "ipreservation", "held"]);
  });
});

test("what is no pool, in the place of one, stops nobody who does not name it; what is no reservation stops every ADD", async () => {
  using own = new TestNetns();
  await node.etcd.ctl(["put", "/netplug/v3/ippools/a-wrong", "no JSON"]);
  await node.etcd.ctl(["put", "/netplug/v3/ippools/a/more", "no JSON"]);
  expect((await node.call("STATUS")).status).toBe(0);
  const containerID = node.newContainerID();
  await node.add(own, { containerID });
  const reason = 'what is stored in its place is no pool; make another pool, and "netplugctl delete ippool a-wrong"';
  expect(node.logLines()).toContainEqual(expect.objectContaining({ containerID, msg: `pool "a-wrong" is left out: ${reason}` }));
  expect((await node.call("DEL", { containerID, netns: own.path })).status).toBe(0);
  const named = { containerID: node.newContainerID(), netns: own.path };
  const ipam = { type: "netplug-ipam", ipv4_pools: ["a-wrong"] };
  expect((await node.call("ADD", { ...named, config: node.config({ ipam }) })).json).toMatchObject({
    code: 100,
    msg: expect.stringContaining(`use pool "a-wrong": ${reason}`),
  });
  await node.etcd.ctl(["del", "/netplug/v3/ippools/a", "--prefix"]);

  const key = "/netplug/v3/ipreservations/wrong";
  await node.etcd.ctl(["put", key, "no JSON"]);
  const stopped = await node.call("ADD", { containerID: node.newContainerID(), netns: own.path });
  await node.etcd.ctl(["del", key]);
  expect(stopped.json).toMatchObject({ code: 5, msg: expect.stringContaining(`read "${key}" in etcd: `) });
});

test("hostile text reaches neither paths nor log lines", async () => {
  const hostile = "x\nlevel=ERROR msg=forged\u001b[31m";
  const { msg } = await refusal({ config: node.config({ name: "bad-input", nodename: hostile }) });
  expect(msg).not.toContain("\n");
  expect(msg).not.toContain("\u001b");
  // every line of the file is one JSON object of ours
  for (const line of node.logLines()) expect(Object.keys(line)).toContain("time");
});

test.each([
  ["etcd", { etcd_endpoints: "http://[::1]:1" }],
  ["the Kubernetes API", { datastore_type: "kubernetes", kubernetes: { k8s_api_root: "https://[::1]:1" } }],
])("where the node has no address to connect from, %s is unreachable, and no connection was lost", (_name, datastore) => {
  using host = new TestNetns();
  host.must(["sysctl", "-qw", "net.ipv6.conf.lo.disable_ipv6=1"]);
  host.must(["ip", "link", "set", "lo", "up"]);
  const { stdout } = host.run(
    ["env", "-i", "CNI_COMMAND=STATUS", "CNI_PATH=/", pluginPath("netplug")],
    JSON.stringify(node.config(datastore)),
  );
  expect((JSON.parse(stdout) as Json)["msg"]).toEndWith("://[::1]:1: cannot assign requested address");
});
