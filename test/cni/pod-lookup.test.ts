/** How the plugin reaches the Kubernetes API, beside etcd or as the datastore, and what it does when that says no, or nothing. */

import { describe, expect } from "bun:test";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { startApiServer } from "../support/servers/api-server.ts";
import { writeKubeconfig } from "../support/servers/kubeconfig.ts";
import { type CniReply, hostInterfaceName } from "../support/programs/cni.ts";
import type { CniCall, Json } from "../support/programs/cni-call.ts";
import { createNamespace, createPod, deletePod, grantReadOnly, podArgs, type TestPod } from "../support/servers/kubernetes.ts";
import { nodePlace, TestNetns } from "../support/node/netns.ts";
import { isOnEtcd, onEtcd } from "../support/node/node-datastore.ts";
import { startPodWorld } from "../support/node/pod-world.ts";
import { durationOf } from "../support/time/duration.ts";
import { onApiServer } from "../support/servers/on-api-server.ts";
import { untilAllowed } from "../support/servers/rights.ts";

const ANOTHER_UID = "00000000-0000-4000-8000-000000000000";

/** That the plugin is meant to have. */
const ROLE = isOnEtcd ? "netplug-cni-readonly" : "netplug-cni";

/** What STATUS asks the API server for, all at once: which refusal comes first is left to the server. */
const RIGHTS_OF_STATUS = [
  "get namespaces",
  "get pods",
  ...(isOnEtcd
    ? []
    : [
        "get nodes",
        "get clusterinformations.netplug.io",
        "get ipamconfigurations.netplug.io",
        "list ippools.netplug.io",
        "list ipreservations.netplug.io",
      ]),
];

const [test, world] = onApiServer(
  () => startPodWorld({ cidrs: ["10.65.0.0/24"], rights: ["pods", "namespaces"], server: { users: { tokened: {} } } }),
  () => grantRole("tokened"),
);
const { api, node } = world;

/** Gives a user the rights that the plugin has. */
async function grantRole(user: string): Promise<void> {
  if (isOnEtcd) await grantReadOnly(api, user, ["pods", "namespaces"]);
  else {
    await api.kubectl(["create", "clusterrolebinding", `role-of-${user}`, `--clusterrole=${ROLE}`, `--user=${user}`]);
    await untilAllowed(api, user, "get", "pods");
  }
}

const podConfig = (extra: Json = {}): Json => world.config(extra);

let count = 0;
const makePod = async (namespace = "default"): Promise<TestPod> => await createPod(api, { name: `db-${count++}`, namespace });

interface Refusal {
  readonly code: number;
  readonly msg: string;
}

/** An ADD that must fail, and leave nothing. */
async function refusal(args: string, config: Json = podConfig(), env: CniCall["env"] = {}): Promise<Refusal> {
  using netns = new TestNetns();
  const reply = await node.call("ADD", { containerID: node.newContainerID(), netns: netns.path, args, config, env });
  expect(reply.status).toBe(1);
  expect(netns.link("eth0")).toBeUndefined();
  expect(await node.addressesInUse()).toBe(0);
  expect(await node.endpoints()).toEqual([]);
  return { code: reply.json?.code ?? 0, msg: reply.json?.msg ?? "" };
}

/** An ADD that must succeed, and its DEL. */
async function addAndDelete(args: string, config: Json, env: CniCall["env"] = {}): Promise<void> {
  using netns = new TestNetns();
  const call = { containerID: node.newContainerID(), args, config, env };
  await node.add(netns, call);
  expect(netns.addresses("eth0")).toHaveLength(1);
  await node.del({ ...call, netns: netns.path });
  expect(netns.addresses("eth0")).toEqual([]);
}

describe("the pod", () => {
  test("that is not there, or whose namespace is not, is code 106 (needs cluster)", async () => {
    for (const [namespace, reason] of [
      ["default", "no such pod; it was deleted"],
      ["nowhere", "no such namespace; it was deleted, or a static pod waits for it to be created"],
    ] as const) {
      const { code, msg } = await refusal(podArgs({ namespace, name: "never-was" }));
      expect([code, msg]).toEqual([106, `find pod "${namespace}/never-was": the API server has ${reason}`]);
    }
  });

  test("of another UID than the runtime's is code 106; a runtime that names none means any (needs cluster)", async () => {
    const pod = await makePod();
    const { code, msg } = await refusal(podArgs({ ...pod, uid: ANOTHER_UID }));
    expect([code, msg]).toEqual([106, expect.stringContaining(`its UID is "${pod.uid}", and K8S_POD_UID is "${ANOTHER_UID}"`)]);
    await addAndDelete(podArgs({ namespace: pod.namespace, name: pod.name }), podConfig());
  });

  test("that uses the host's network is code 106, and the message says so (needs cluster)", async () => {
    const pod = await createPod(api, { name: "on-host", spec: { hostNetwork: true } });
    const msg = 'find pod "default/on-host": it uses the host\'s network (hostNetwork: true), so no interface is made for it';
    expect(await refusal(pod.args)).toEqual({ code: 106, msg });
    using netns = new TestNetns();
    const plain = {
      plugin: "netplug-ipam",
      containerID: node.newContainerID(),
      netns: netns.path,
      args: pod.args,
      config: podConfig(),
    } as const;
    expect((await node.call("ADD", plain)).json).toMatchObject({ code: 106, msg });
    expect(await node.addressesInUse()).toBe(0);
  });

  test("that was deleted and made anew is not taken for the old one, and gets its own attachment (needs cluster)", async () => {
    const old = await makePod();
    using oldNetns = new TestNetns();
    using newNetns = new TestNetns();
    const oldCall = { containerID: node.newContainerID(), args: old.args, config: podConfig() };
    await node.add(oldNetns, oldCall);
    await deletePod(api, old);
    const anew = await createPod(api, { name: old.name, labels: { age: "new" } });
    const late = await node.call("ADD", { ...oldCall, netns: oldNetns.path });
    expect([late.status, late.json?.code]).toEqual([1, 106]);

    const newCall = { containerID: node.newContainerID(), args: anew.args, config: podConfig() };
    await node.add(newNetns, newCall);
    await node.del({ ...oldCall, netns: oldNetns.path });
    expect(await node.endpoints()).toEqual([
      expect.objectContaining({ spec: expect.objectContaining({ containerID: newCall.containerID }) }),
    ]);
    expect(nodePlace.link(hostInterfaceName({ namespace: "default", pod: old.name }))?.ifalias).toContain(newCall.containerID);
    expect(await node.addressesInUse()).toBe(1);
    await node.del({ ...newCall, netns: newNetns.path });
    expect(await node.addressesInUse()).toBe(0);
  });
});

describe("rights", () => {
  onEtcd(() => {
    test.each([
      ["namespaces", "pods"],
      ["pods", "namespaces"],
    ])("on %s alone are not enough: code 108 with verb, resource and role (needs cluster)", async (granted, missing) => {
      await grantReadOnly(api, `only-${granted}`, [granted]);
      const config = podConfig({ kubernetes: { kubeconfig: api.issue(`only-${granted}`).kubeconfigFile } });
      const { code, msg } = await refusal((await makePod()).args, config);
      expect([code, msg]).toEqual([108, `get ${missing} is not permitted; role ${ROLE}`]);
    });
  });

  test("of nobody: a token that the API server does not know is code 108 and shown nowhere (needs cluster)", async () => {
    const token = "a-token-that-nobody-may-see";
    const path = writeKubeconfig(join(node.folder, "wrong-token.kubeconfig"), api, { token });
    const { code, msg } = await refusal((await makePod()).args, podConfig({ kubernetes: { kubeconfig: path } }));
    const told = `the API server does not accept the token of user "user" in kubeconfig "${path}"; renew it`;
    expect([code, msg]).toEqual([108, expect.stringContaining(told)]);
    expect(JSON.stringify(node.logLines())).not.toContain(token);
  });
});

describe("the API server", () => {
  test("is found by a kubeconfig, by k8s_api_root, or by the environment, in this order (needs cluster)", async () => {
    const { args } = await makePod();
    const ofEnvironment = { K8S_API_ENDPOINT: api.url, K8S_API_TOKEN: api.tokenOf("tokened"), K8S_CA_FILE: api.caFile };
    await addAndDelete(args, podConfig({ kubernetes: {} }), { KUBECONFIG: world.kubeconfig });
    await addAndDelete(args, podConfig({ kubernetes: {} }), ofEnvironment);
    await addAndDelete(args, podConfig({ kubernetes: { k8s_api_root: `${api.url}/api/v1` } }), {
      ...ofEnvironment,
      K8S_API_ENDPOINT: "https://192.0.2.1:6443",
    });
    const misleading = {
      KUBECONFIG: "/nowhere",
      K8S_API_ENDPOINT: "https://192.0.2.1:6443",
      K8S_API_TOKEN: "none",
      K8S_CA_FILE: "/nowhere",
    };
    await addAndDelete(args, podConfig(), misleading);
  });

  test("is found by several files in KUBECONFIG, with a token file or an exec plugin; one that fails is code 108 and named (needs cluster)", async () => {
    const { args } = await makePod();
    const file = (name: string): string => join(node.folder, name);
    const write = (name: string, document: Json): void => writeFileSync(file(name), JSON.stringify(document));
    const ca = readFileSync(api.caFile).toString("base64");
    write("context.kubeconfig", { "current-context": "here", contexts: [{ name: "here", context: { cluster: "k", user: "u" } }] });
    write("cluster.kubeconfig", { clusters: [{ name: "k", cluster: { server: api.url, "certificate-authority-data": ca } }] });
    const env = { KUBECONFIG: ["missing", "context.kubeconfig", "cluster.kubeconfig", "user.kubeconfig"].map(file).join(":") };
    const here = podConfig({ kubernetes: {} });

    write("user.kubeconfig", { "current-context": "there", users: [{ name: "u", user: { tokenFile: "tokened" } }] });
    writeFileSync(file("tokened"), api.tokenOf("tokened"));
    await addAndDelete(args, here, env);
    rmSync(file("tokened"));
    const unread = await refusal(args, here, env);
    expect([unread.code, unread.msg]).toEqual([108, expect.stringContaining(`read token file "${file("tokened")}" of user "u"`)]);

    const status = { token: api.tokenOf("tokened") };
    const credential = JSON.stringify({ apiVersion: "client.authentication.k8s.io/v1", kind: "ExecCredential", status });
    const exec = { apiVersion: "client.authentication.k8s.io/v1", command: "./login", interactiveMode: "Never" };
    write("user.kubeconfig", { users: [{ name: "u", user: { exec } }] });
    writeFileSync(file("login"), `#!/bin/sh\necho '${credential}'\n`, { mode: 0o755 });
    await addAndDelete(args, here, env);
    writeFileSync(file("login"), "#!/bin/sh\necho who are you >&2; exit 3\n");
    const failed = await refusal(args, here, env);
    expect([failed.code, failed.msg]).toEqual([
      108,
      expect.stringMatching(/^run exec plugin "\S+login" of user "u" .*: it ended with status 3$/),
    ]);
  });

  test("is nowhere: code 7 for a kubeconfig that is not there, is no YAML, or lacks what it names (needs cluster)", async () => {
    const { args } = await makePod();
    const path = join(node.folder, "broken.kubeconfig");
    const faults: readonly [text: string | undefined, message: string][] = [
      [undefined, "no such file"],
      ["{", path],
      ["current-context: one\ncontexts: []\n", 'no context "one"'],
    ];
    for (const [text, message] of faults) {
      if (text === undefined) rmSync(path, { force: true });
      else writeFileSync(path, text);
      const { code, msg } = await refusal(args, podConfig({ kubernetes: { kubeconfig: path } }));
      expect([code, msg]).toEqual([7, expect.stringContaining(message)]);
      expect(msg).toContain(path);
    }
  });

  test("with a certificate of another authority is code 108 (needs cluster)", async () => {
    await using other = await startApiServer();
    const path = writeKubeconfig(join(node.folder, "other-ca.kubeconfig"), { url: api.url, caFile: other.caFile }, { token: "x" });
    expect((await refusal((await makePod()).args, podConfig({ kubernetes: { kubeconfig: path } }))).code).toBe(108);
  });
});

describe("netplug-ipam under another main plugin", () => {
  const ptpConfig = (): Json => {
    const { nodename, log_file_path, lib_dir, ipam_lock_file, agent_socket } = node.config();
    const shared = {
      nodename,
      log_file_path,
      lib_dir,
      ipam_lock_file,
      agent_socket,
      policy: { type: "k8s" },
      kubernetes: { kubeconfig: world.kubeconfig },
      feature_control: { floating_ips: true, ip_addrs_no_ipam: true },
    };
    return { cniVersion: "1.0.0", name: "mixed", type: "ptp", ...shared, ...node.datastore.config, ipam: { type: "netplug-ipam" } };
  };

  async function addByPtp(annotations: Readonly<Record<string, string>>): Promise<CniReply> {
    const pod = await createPod(api, { name: `ptp-${count++}`, annotations });
    using netns = new TestNetns();
    const call = { plugin: "ptp", containerID: node.newContainerID(), netns: netns.path, args: pod.args, config: ptpConfig() };
    const reply = await node.call("ADD", call);
    expect((await node.call("DEL", call)).status).toBe(0);
    expect(await node.addressesInUse()).toBe(0);
    return reply;
  }

  test("honours what annotations say of addresses and pools (needs cluster)", async () => {
    expect((await addByPtp({ ipAddrs: '["10.65.0.44"]' })).json?.ips?.[0]?.address).toBe("10.65.0.44/26");
    const byPod = { ipAddrsByPod: JSON.stringify({ [`ptp-${count}`]: ["10.65.0.45"] }) };
    expect((await addByPtp(byPod)).json?.ips?.[0]?.address).toBe("10.65.0.45/26");
    expect((await addByPtp(byPod)).json).toMatchObject({ code: 104, msg: expect.stringContaining(`want an entry "ptp-${count - 1}"`) });
    expect((await addByPtp({ ipv4pools: '["no-such-pool"]' })).json?.code).toBe(100);
    expect((await addByPtp({ ipAddrs: "nonsense" })).json?.code).toBe(104);
    expect((await addByPtp({ hwAddr: "02:00:5e:10:00:01" })).status).toBe(0);
  });

  test.each([
    ["hwAddr", "02:00:5e:10:00:01"],
    ["allowedSourcePrefixes", '["192.0.2.0/24"]'],
    ["floatingIPs", '["192.0.2.9"]'],
    ["hwAdr", "02:00:5e:10:00:01"],
    ["ipAddrs", '["10.65.0.44"]'],
  ])("warns of each annotation that has no effect then: %s (needs cluster)", async (annotation, value) => {
    const before = node.logLines().length;
    expect((await addByPtp({ [annotation]: value })).status).toBe(0);
    const of = `annotation "cni.netplug.io/${annotation}" of pod "default/ptp-${count - 1}"`;
    const expected = {
      hwAdr: [`${of} is unknown and has no effect: was "cni.netplug.io/hwAddr" meant?`],
      ipAddrs: [],
    }[annotation] ?? [`${of} has no effect: the main plugin is "ptp"`];
    const logged = node.logLines().slice(before);
    expect(logged.filter(({ level }) => level === "WARNING").map(({ msg }) => msg)).toEqual(expected);
  });

  test("cannot give an address without IPAM: code 105 (needs cluster)", async () => {
    const { json } = await addByPtp({ ipAddrsNoIpam: '["192.0.2.1"]' });
    const used = `use annotation "cni.netplug.io/ipAddrsNoIpam" of pod "default/ptp-${count - 1}"`;
    expect(json).toMatchObject({ code: 105, msg: `${used}: the main plugin is "ptp", want "netplug"; remove the annotation` });
  });
});

describe("STATUS", () => {
  const status = async (config: Json = podConfig()): Promise<CniReply> => await node.call("STATUS", { config });

  test("is silent when pods can be looked up, and code 50 with the missing right when not (needs cluster)", async () => {
    const fine = await status();
    expect([fine.status, fine.stdout]).toEqual([0, ""]);
    const refused = await status(podConfig({ kubernetes: { kubeconfig: api.issue("nobody").kubeconfigFile } }));
    expect([refused.status, refused.json?.code]).toEqual([1, 50]);
    expect(refused.json?.msg).toBeOneOf(RIGHTS_OF_STATUS.map((right) => `${right} is not permitted; role ${ROLE}`));
  });

  test("is code 50 with the reason when the API server is nowhere (needs cluster)", async () => {
    const missing = join(node.folder, "nowhere");
    const nowhere = await status(podConfig({ kubernetes: { kubeconfig: missing } }));
    expect(nowhere.json).toMatchObject({ code: 50, msg: expect.stringContaining(`read kubeconfig "${missing}": no such file`) });
  });
});

// Last: they stop the API server.
describe("an API server that is away", () => {
  onEtcd(() => {
    test("makes ADD fail with code 11 and STATUS with 50, and keeps neither DEL, GC nor CHECK (needs cluster)", async () => {
      await createNamespace(api, "left-alone");
      const pod = await makePod("left-alone");
      using netns = new TestNetns();
      const call = { containerID: node.newContainerID(), netns: netns.path, args: pod.args, config: podConfig() };
      const result = await node.add(netns, call);
      await api.server.stop();
      try {
        const check = await node.call("CHECK", { ...call, config: podConfig({ prevResult: result }) });
        expect([check.status, check.stdout]).toEqual([0, ""]);
        const gc = await node.call("GC", {
          config: podConfig({ "cni.dev/valid-attachments": [{ containerID: call.containerID, ifname: "eth0" }] }),
        });
        expect([gc.status, gc.stdout]).toEqual([0, ""]);
        expect(await node.addressesInUse()).toBe(1);
        expect((await node.call("STATUS", { config: podConfig() })).json?.code).toBe(50);
        await node.del(call);
        const { code, msg } = await refusal(pod.args);
        expect([code, msg]).toEqual([11, expect.stringContaining("connection refused")]);
      } finally {
        await api.server.start();
      }
      await addAndDelete(pod.args, podConfig());
    });
  });

  test("or stands still: ADD ends with code 11 soon, and leaves nothing (needs cluster)", async () => {
    const pod = await makePod();
    await api.server.pause();
    using netns = new TestNetns();
    const add = async (): Promise<void> => {
      const reply = await node.call("ADD", { containerID: node.newContainerID(), netns: netns.path, args: pod.args, config: podConfig() });
      expect([reply.status, reply.json?.code]).toEqual([1, 11]);
    };
    try {
      expect(await durationOf(add)).toBeLessThan(8_000);
    } finally {
      api.server.resume();
    }
    expect([netns.link("eth0"), await node.addressesInUse(), await node.endpoints()]).toEqual([undefined, 0, []]);
    await addAndDelete(pod.args, podConfig());
  });
});
