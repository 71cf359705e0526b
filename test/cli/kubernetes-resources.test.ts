/** Objects on a real API server: what kubectl writes and what we write mean the same, and nobody loses what the other keeps. */

import { describe, expect } from "bun:test";
import { validateResource } from "../../src/api/validate.ts";
import { checkSelector } from "../../src/policy/selector/check.ts";
import { poolYaml, resourceYaml } from "../support/cli/documents.ts";
import { shareKubernetesCliWorld } from "../support/cli/kubernetes-cli-world.ts";
import { createNode, createPod } from "../support/servers/kubernetes.ts";

const [test, world] = shareKubernetesCliWorld((world) => world.done(["init"]));

interface Stored {
  readonly metadata: {
    readonly name: string;
    readonly resourceVersion: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  readonly spec: Readonly<Record<string, unknown>>;
}

/** A kind, with specs that leave out much and little. */
const SAMPLES: readonly (readonly [kind: string, name: string, spec: object])[] = [
  ["IPPool", "short", { cidr: "10.65.0.0/16" }],
  ["IPPool", "six", { cidr: "fd00:65::/48" }],
  [
    "IPPool",
    "long",
    {
      cidr: "10.66.0.0/16",
      blockSize: 28,
      natOutgoing: true,
      nodeSelector: "has(rack)",
      disabled: true,
      allowedUses: ["Tunnel"],
      vxlanMode: "CrossSubnet",
    },
  ],
  ["IPReservation", "short", { reservedCIDRs: ["10.65.0.0/30", "fd00:65::1"] }],
  ["IPAMConfiguration", "default", {}],
  ["IPAMConfiguration", "default", { strictAffinity: true, maxBlocksPerHost: 4, ipCooldownSeconds: 10 }],
  ["Tier", "short", {}],
  ["Tier", "long", { order: 5, defaultAction: "Pass" }],
  ["Profile", "short", {}],
  [
    "Profile",
    "long",
    {
      labelsToApply: { a: "b" },
      ingress: [{ action: "Allow", protocol: "TCP", destination: { ports: [80, "1024:2048"] } }],
      egress: [{ action: "Deny" }],
    },
  ],
];

/** What an object means: defaults that depend on other fields are the reader's, and addresses may be written in several ways. */
const meaningOf = (kind: string, name: string, spec: object): unknown =>
  validateResource(JSON.parse(resourceYaml(kind, name, spec)), { checkSelector }).spec;

test.each(SAMPLES)("%s %p means the same, whoever writes it (needs cluster)", async (kind, name, spec) => {
  const word = kind.toLowerCase();
  const crd = `${word}.netplug.io`;
  const text = resourceYaml(kind, name, spec);
  const meaning = meaningOf(kind, name, spec);
  /** What kubectl shows and we show: the same object, of this meaning. */
  const stored = async (): Promise<Stored> => {
    const theirs = await world.read<Stored>(crd, name);
    const ours = JSON.parse(await world.done(["get", word, name, "-o", "json"])) as Stored;
    expect([ours.spec, ours.metadata.resourceVersion]).toEqual([theirs.spec, theirs.metadata.resourceVersion]);
    expect(meaningOf(kind, name, theirs.spec)).toEqual(meaning);
    return theirs;
  };

  await world.api.kubectl(["create", "-f", "-"], text);
  await stored();
  await world.done(["delete", word, name]);
  await expect(world.read(crd, name)).rejects.toThrow("NotFound");

  expect(await world.done(["create", "-f", "-"], { stdin: text })).toBe(`${word}/${name} created\n`);
  const { spec: canonical } = await stored();
  expect(canonical).toEqual(meaning as typeof canonical);
  expect(await world.done(["apply", "-f", "-"], { stdin: text })).toBe(`${word}/${name} unchanged\n`);
  // Each over the other: no field goes away or changes its meaning.
  await world.api.kubectl(["apply", "-f", "-"], text);
  await stored();
  await world.done(["apply", "-f", "-"], { stdin: text });
  expect((await stored()).spec).toEqual(canonical);
  await world.api.kubectl(["delete", crd, name]);
  expect(await world.ctl(["get", word, name])).toMatchObject({ status: 1, stdout: "" });
});

describe("what one prints, the other takes:", () => {
  test("kubectl's YAML by us (needs cluster)", async () => {
    await world.api.kubectl(["apply", "-f", "-"], poolYaml("round", "10.70.0.0/16", { blockSize: 26, allowedUses: ["Workload"] }));
    const yaml = await world.api.kubectl(["get", "ippool", "round", "-o", "yaml", "--show-managed-fields"]);
    expect(await world.done(["apply", "-f", "-"], { stdin: yaml })).toBe("ippool/round unchanged\n");
    const list = await world.api.kubectl(["get", "ippools", "-o", "json"]);
    expect(await world.done(["replace", "-f", "-"], { stdin: list })).toBe("ippool/round unchanged\n");
    // which an API server does not keep
    const pool = poolYaml("round", "10.70.0.0/16", { blockSize: 26, allowedUses: ["Workload"] });
    const stdin = pool.replace('"metadata":{', '"metadata":{"labels":{},"annotations":{},');
    await world.api.kubectl(["annotate", "ippool", "round", "kubectl.kubernetes.io/last-applied-configuration-"]);
    expect(await world.done(["apply", "-f", "-"], { stdin })).toBe("ippool/round unchanged\n");
  });

  test("our YAML by kubectl (needs cluster)", async () => {
    for (const format of ["yaml", "json"]) {
      const text = await world.done(["get", "ippools", "-o", format]);
      expect(await world.api.kubectl(["replace", "-f", "-"], text)).toBe("ippool.netplug.io/round replaced\n");
    }
    await world.done(["delete", "ippool", "round"]);
  });
});

test("diff shows of an object what kubectl's shows, and changes nothing (needs cluster)", async () => {
  await world.done(["apply", "-f", "-"], { stdin: poolYaml("compared", "10.119.0.0/16", { natOutgoing: true }) });
  const before = await world.read("ippool", "compared");
  const stdin = poolYaml("compared", "10.119.0.0/16", { natOutgoing: false, disabled: true, nodeSelector: "has(rack)" });
  const changesOf = (text: string): readonly string[] => text.split("\n").filter((line) => /^[-+] (?! *generation:)/.test(line));
  const ours = await world.ctl(["diff", "-f", "-"], { stdin });
  // Its status says that there are differences.
  const theirs = await world.api.kubectl(["diff", "-f", "-"], stdin).catch((error: Error) => error.message);
  expect(changesOf(ours.stdout)).toHaveLength(6);
  expect([ours.status, changesOf(ours.stdout)]).toEqual([1, changesOf(theirs)]);
  expect(await world.read("ippool", "compared")).toEqual(before);
  await world.done(["apply", "-f", "-"], { stdin });
  expect(await world.ctl(["diff", "-f", "-"], { stdin })).toEqual({ status: 0, stdout: "", stderr: "" });
  await world.done(["delete", "ippool", "compared"]);
});

describe("a change by us", () => {
  test("keeps what others have in the object (needs cluster)", async () => {
    const owner = await world.read<{ metadata: { uid: string } }>("tier", "default");
    const ownerReferences = [{ apiVersion: "netplug.io/v3", kind: "Tier", name: "default", uid: owner.metadata.uid }];
    const metadata = {
      name: "kept",
      labels: { team: "a" },
      annotations: { "other.io/x": "y" },
      finalizers: ["test.io/held"],
      ownerReferences,
    };
    const pool = { apiVersion: "netplug.io/v3", kind: "IPPool", metadata, spec: { cidr: "10.71.0.0/16" } };
    await world.api.kubectl(["create", "-f", "-"], JSON.stringify(pool));
    expect(await world.done(["patch", "ippool", "kept", "-p", '{"spec":{"disabled":true}}'])).toBe("ippool/kept patched\n");
    expect(await world.done(["label", "ippool", "kept", "rack=r2", "team-"])).toBe("ippool/kept labelled\n");
    const stored = await world.read<Stored>("ippool", "kept");
    expect(stored).toMatchObject({ metadata: { ...metadata, labels: { rack: "r2" } }, spec: { disabled: true } });
    expect(stored.metadata.labels).toEqual({ rack: "r2" });
    await world.api.kubectl(["patch", "ippool", "kept", "--type=merge", "-p", '{"metadata":{"finalizers":null}}']);
    await world.done(["delete", "ippool", "kept"]);
  });

  test("of an old version is refused, and names the new one (needs cluster)", async () => {
    await world.createPool("raced", "10.72.0.0/16");
    const old = await world.done(["get", "ippool", "raced", "-o", "yaml"]);
    await world.api.kubectl(["label", "ippool", "raced", "a=b"]);
    const { metadata } = await world.read<Stored>("ippool", "raced");
    const { status, stderr } = await world.ctl(["replace", "-f", "-"], { stdin: old.replace("disabled: false", "disabled: true") });
    expect([status, stderr]).toEqual([1, expect.stringContaining(`and it is "${metadata.resourceVersion}" now; somebody changed it`)]);
  });

  test("and changes by kubectl at the same time all count (needs cluster)", async () => {
    const ours = Array.from({ length: 4 }, (_, i) => world.done(["label", "ippool", "raced", `ours-${i}=x`]));
    const theirs = Array.from({ length: 4 }, (_, i) => world.api.kubectl(["label", "ippool", "raced", `theirs-${i}=x`]));
    await Promise.all([...ours, ...theirs]);
    const { metadata } = await world.read<Stored>("ippool", "raced");
    const wanted = ["a", ...[0, 1, 2, 3].flatMap((i) => [`ours-${i}`, `theirs-${i}`])];
    expect(Object.keys(metadata.labels ?? {}).sort()).toEqual(wanted.sort());
    await world.done(["delete", "ippool", "raced"]);
  });

  test("obeys the rules between objects that kubectl wrote (needs cluster)", async () => {
    await world.api.kubectl(["create", "-f", "-"], poolYaml("theirs", "10.73.0.0/16"));
    expect(await world.ctl(["create", "-f", "-"], { stdin: poolYaml("ours", "10.73.128.0/17") })).toMatchObject({
      status: 1,
      stderr: expect.stringContaining('10.73.128.0/17 overlaps ippool "theirs" (10.73.0.0/16)'),
    });
    const shrink = ["patch", "ippool", "theirs", "-p", '{"spec":{"cidr":"10.73.0.0/28"}}'];
    expect(await world.ctl(shrink)).toMatchObject({
      status: 1,
      stderr: expect.stringMatching(
        /"theirs": spec\.cidr: got "10\.73\.0\.0\/28", want "10\.73\.0\.0\/16": it cannot be changed; make another pool/,
      ),
    });
    await expect(world.api.kubectl([...shrink, "--type=merge"])).rejects.toThrow(
      /spec\.cidr: Invalid value: cidr cannot be changed: make another pool.*\n.*spec\.blockSize: Invalid value: want a blockSize .* cidr/,
    );
    await world.done(["delete", "ippool", "theirs"]);
  });
});

describe("nodes and endpoints are Kubernetes' own:", () => {
  test("a node is shown, labelled, and neither created nor deleted (needs cluster)", async () => {
    await createNode(world.api, "n1", ["10.80.0.0/24"]);
    const shown = JSON.parse(await world.done(["get", "node", "n1", "-o", "json"])) as Stored;
    expect(shown.spec).toEqual({ orchRefs: [{ nodeName: "n1", orchestrator: "k8s" }], podCIDRs: ["10.80.0.0/24"] });
    expect(await world.done(["label", "node", "n1", "rack=r1"])).toBe("node/n1 labelled\n");
    expect((await world.read<Stored>("node", "n1")).metadata.labels).toMatchObject({ rack: "r1" });
    expect(await world.ctl(["create", "-f", "-"], { stdin: resourceYaml("Node", "n2", {}) })).toMatchObject({
      status: 1,
      stderr: expect.stringContaining('create node "n2": on the Kubernetes datastore nodes are Kubernetes\' own'),
    });
    expect(await world.ctl(["delete", "node", "n1"])).toMatchObject({ status: 1, stderr: expect.stringContaining("delete node") });
    expect((await world.read<Stored>("node", "n1")).metadata.name).toBe("n1");
  });

  test("of a node that is there, create proposes what shows it, as apply would refuse a file of netplug's fields only (needs cluster)", async () => {
    await createNode(world.api, "n5", ["10.86.0.0/24"]);
    const stdin = resourceYaml("Node", "n5", {});
    const next = "get nodes n5 -o yaml";
    expect((await world.ctl(["create", "-f", "-"], { stdin })).stderr).toBe(
      'netplugctl: create node "n5": it exists; on the Kubernetes datastore Kubernetes\' node brings it along; leave it out, or change the rest of it, with patch or label\n' +
        `next: netplugctl ${next}\n`,
    );
    expect(await world.ctl(["apply", "-f", "-"], { stdin })).toMatchObject({ status: 1, stderr: expect.stringContaining("spec.podCIDRs") });
    const shown = await world.done(next.split(" "));
    expect(await world.done(["apply", "-f", "-"], { stdin: shown })).toBe("node/n5 unchanged\n");
    await world.done(["label", "node", "n5", "rack=r5"]);
    const labels = "jsonpath={.metadata.labels.rack}";
    expect(await world.api.kubectl(["get", "node", "n5", "-o", labels])).toBe("r5");
  });

  test("a name that leads to a part of one is nobody's (needs cluster)", async () => {
    await createNode(world.api, "n3", ["10.83.0.0/24"]);
    const before = await world.read<Stored>("node", "n3");
    for (const words of [["get"], ["label", "a=b"], ["patch", "-p", '{"metadata":{"labels":{"a":"b"}}}']])
      expect(await world.ctl([words[0] ?? "", "node", "n3/status", ...words.slice(1)])).toMatchObject({
        status: 1,
        stderr: expect.stringContaining('find node "n3/status": there is none'),
      });
    expect((await world.read<Stored>("node", "n3")).metadata).toEqual(before.metadata);
  });

  test("an endpoint comes with its pod, and is not made without one (needs cluster)", async () => {
    const spec = { orchestrator: "k8s", node: "n1", pod: "none", endpoint: "eth0", containerID: "c1" };
    for (const more of [{}, { ipNetworks: ["10.65.0.9/32"] }])
      for (const verb of ["create", "apply"])
        expect(
          await world.ctl([verb, "-f", "-"], { stdin: resourceYaml("WorkloadEndpoint", "n1-k8s-none-eth0", { ...spec, ...more }) }),
        ).toEqual({
          status: 1,
          stdout: "",
          stderr:
            'netplugctl: create workloadendpoint "default/n1-k8s-none-eth0": on the Kubernetes datastore endpoints are views of pods, and no pod has this one\n' +
            "next: netplugctl get workloadendpoints -A -o wide\n",
        });
  });

  test("one that is there cannot be created, and what shows it is proposed, as apply would refuse most of it (needs cluster)", async () => {
    await world.api.kubectl(["create", "namespace", "shop"]);
    await createPod(world.api, { name: "there", namespace: "shop", spec: { nodeName: "n1" } });
    const name = "n1-k8s-there-eth0";
    const document = resourceYaml("WorkloadEndpoint", name, { orchestrator: "k8s", node: "n1", pod: "there", endpoint: "eth0" });
    const { stderr } = await world.ctl(["create", "-n", "shop", "-f", "-"], { stdin: document });
    const next = `get workloadendpoints ${name} -n shop -o yaml`;
    expect(stderr).toBe(
      `netplugctl: create workloadendpoint "shop/${name}": it exists; on the Kubernetes datastore its pod brings it along; leave it out, or change its pod, with kubectl\nnext: netplugctl ${next}\n`,
    );
    expect(await world.done(next.split(" "))).toContain(`name: ${name}\n`);
    await world.api.kubectl(["delete", "pod", "there", "-n", "shop", "--grace-period=0", "--force"]);
  });

  test("what comes from them cannot be changed, and nobody is told that it was (needs cluster)", async () => {
    await createNode(world.api, "n4", ["10.84.0.0/24"]);
    await createPod(world.api, { name: "fixed", spec: { nodeName: "n4" } });
    const endpoint = "n4-k8s-fixed-eth0";
    for (const [argv, fault] of [
      [["patch", "node", "n4", "-p", '{"spec":{"podCIDRs":["10.85.0.0/24"]}}'], 'node "n4": spec.podCIDRs: comes from Kubernetes\' node;'],
      [["patch", "node", "n4", "-p", '{"spec":{"orchRefs":[]}}'], "spec.orchRefs: comes from"],
      [["patch", "wep", endpoint, "-p", '{"metadata":{"annotations":{"a":"b"}}}'], "metadata.annotations: comes from the pod;"],
      [["patch", "node", "n4", "-p", '{"spec":{"addresses":[{"type":"InternalIP","address":"1.2.3.4"}]}}'], "spec.addresses: comes from"],
      [
        ["label", "wep", endpoint, "a=b"],
        'workloadendpoint "default/n4-k8s-fixed-eth0": metadata.labels: comes from the pod; change it there, with kubectl',
      ],
      [["patch", "wep", endpoint, "-p", '{"spec":{"node":"n5","mac":"ee:ee:ee:ee:ee:ee"}}'], "spec.node, spec.mac: comes from the pod"],
    ] as const)
      expect(await world.ctl(argv)).toMatchObject({ status: 1, stdout: "", stderr: expect.stringContaining(fault) });
    expect(await world.done(["patch", "wep", endpoint, "-p", '{"spec":{"ipNetworks":["10.65.0.9/32"]}}'])).toEndWith(" patched\n");
    expect(await world.done(["get", "wep", endpoint, "--no-headers"])).toContain("10.65.0.9/32");
    expect(await world.done(["patch", "node", "n4", "-p", '{"spec":{"wireguard":{"interfaceIPv4Address":"10.65.0.2"}}}'])).toBe(
      "node/n4 patched\n",
    );
    expect(await world.done(["get", "node", "n4", "-o", "yaml"])).toContain("interfaceIPv4Address: 10.65.0.2");
    await world.api.kubectl(["delete", "pod", "fixed", "--grace-period=0", "--force"]);
  });

  test("an endpoint that is deleted shows no addresses any more, and what becomes of it is told (needs cluster)", async () => {
    await createPod(world.api, {
      name: "over",
      spec: { nodeName: "n4" },
      annotations: { containerID: "c1", podIP: "10.65.0.8/32", podIPs: "10.65.0.8/32,fd00:65::8/128" },
    });
    const endpoint = "n4-k8s-over-eth0";
    const stays = "the endpoint is a view of the pod and ends with it";
    const remove = () => world.ctl(["delete", "wep", endpoint]);
    const cleared = `workloadendpoint/${endpoint} cleared: 10.65.0.8/32, fd00:65::8/128 taken out of pod "default/over", and not released: do that only when its container is gone; ${stays}\n`;
    expect(await remove()).toEqual({ status: 0, stdout: cleared, stderr: "" });
    const { metadata } = await world.read<Stored>("pod", "over");
    expect(metadata.annotations).toMatchObject({ "cni.netplug.io/podIPs": "", "cni.netplug.io/containerID": "c1" });
    expect(await world.done(["get", "wep", endpoint, "--no-headers"])).not.toContain("10.65");
    const unchanged = `workloadendpoint/${endpoint} unchanged: pod "default/over" shows no address; ${stays}\n`;
    expect(await remove()).toEqual({ status: 0, stdout: unchanged, stderr: "" });
    await world.api.kubectl(["delete", "pod", "over", "--grace-period=0", "--force"]);
    expect(await remove()).toMatchObject({ status: 1, stderr: expect.stringContaining(`"default/${endpoint}": there is none\n`) });
  });

  test("an endpoint whose addresses only the kubelet knows is not deleted, and that is told (needs cluster)", async () => {
    await createPod(world.api, { name: "foreign", spec: { nodeName: "n4" } });
    const status = { phase: "Running", podIP: "192.0.2.7", podIPs: [{ ip: "192.0.2.7" }] };
    await world.api.kubectl(["patch", "pod", "foreign", "--subresource=status", "-p", JSON.stringify({ status })]);
    expect(await world.ctl(["delete", "wep", "n4-k8s-foreign-eth0"])).toMatchObject({
      status: 1,
      stdout: "",
      stderr: expect.stringContaining('192.0.2.7/32 is what the kubelet reports of pod "default/foreign", not what netplug recorded;'),
    });
    await world.api.kubectl(["delete", "pod", "foreign", "--grace-period=0", "--force"]);
  });

  test("pods are endpoints, in the namespace of the context unless another is named (needs cluster)", async () => {
    await world.api.kubectl(["create", "namespace", "prod"]);
    await createPod(world.api, {
      name: "web-0",
      namespace: "prod",
      spec: { nodeName: "n1" },
      annotations: { podIP: "10.65.0.7/32", podIPs: "10.65.0.7/32" },
    });
    await createPod(world.api, { name: "host", namespace: "prod", spec: { nodeName: "n1", hostNetwork: true } });
    await createPod(world.api, { name: "waiting", namespace: "prod" });
    const name = "n1-k8s-web--0-eth0";
    expect(await world.done(["get", "wep", "-n", "prod", "-o", "name"])).toBe(`workloadendpoint/${name}\n`);
    expect(await world.done(["get", "wep", "-A"])).toMatch(/^NAMESPACE +WORKLOAD.*\nprod +web-0 +n1 +10\.65\.0\.7\/32 +npg[0-9a-f]{11}\n$/);
    const nothing = { status: 0, stdout: "", stderr: 'no workloadendpoints found in namespace "default"\n' };
    expect(await world.ctl(["get", "wep"])).toEqual(nothing);
    const kubeconfig = world.file("prod.kubeconfig", await world.api.kubectl(["config", "view", "--raw"]));
    await world.api.kubectl(["config", "set-context", "--current", "--namespace=prod", "--kubeconfig", kubeconfig]);
    const env = { KUBECONFIG: kubeconfig };
    expect(await world.done(["get", "wep", "-o", "name"], { env })).toBe(`workloadendpoint/${name}\n`);
    expect(await world.ctl(["get", "wep", name, "-n", "default"], { env })).toMatchObject({ status: 1 });
    expect(await world.done(["__complete", "get", "wep", "n1-"], { env })).toStartWith(`${name}\t`);
  });
});

test("with definitions of an older release, what they lack is refused and init is named; after it all is well (needs cluster)", async () => {
  const older = await world.read<{
    spec: { versions: { schema: { openAPIV3Schema: { properties: { spec: { properties: Record<string, unknown> } } } } }[] };
  }>("crd", "ippools.netplug.io");
  const fields = older.spec.versions[0]?.schema.openAPIV3Schema.properties.spec.properties ?? {};
  delete fields["assignmentMode"];
  await world.api.kubectl(["replace", "-f", "-"], JSON.stringify(older));
  const create = () => world.ctl(["create", "-f", "-"], { stdin: poolYaml("newer", "10.75.0.0/16") });
  const end = performance.now() + 60_000;
  // The API server takes a moment to obey.
  let answer = await create();
  while (answer.status === 0 && performance.now() < end) {
    await world.done(["delete", "ippool", "newer"]);
    answer = await create();
  }
  expect(answer).toMatchObject({
    status: 1,
    stderr: expect.stringMatching(
      /unknown field "spec\.assignmentMode".*CRD is of another version: run "netplugctl init"\nnext: netplugctl init\n$/s,
    ),
  });
  expect(await world.done(["init"])).toContain("customresourcedefinition/ippools.netplug.io configured\n");
  const begun = performance.now();
  for (answer = await create(); answer.status !== 0 && performance.now() < begun + 60_000;) answer = await create();
  expect(answer).toMatchObject({ status: 0, stdout: "ippool/newer created\n" });
});
