/** `ipam explain -f` as a person meets it; that it says what an ADD does is in `test/cni/explain-manifest.test.ts`. */

import { describe, expect, test as always } from "bun:test";
import { shareEtcdCliWorld } from "../support/cli/etcd-cli-world.ts";
import { shareKubernetesCliWorld } from "../support/cli/kubernetes-cli-world.ts";
import { ShownDocument } from "../support/documents/document.ts";
import { createNamespace, createNode } from "../support/servers/kubernetes.ts";

const POD_SPEC = "{ nodeName: n1, containers: [{ name: main, image: none }] }";

/** @param annotations of its pods @param more beside the template */
function workload(kind: string, name: string, annotations = "", more = "replicas: 1"): string {
  const apart = `selector: { matchLabels: { app: x } }\n  serviceName: ${kind === "StatefulSet" ? "x" : "~"}`;
  return `
apiVersion: apps/v1
kind: ${kind}
metadata: { name: ${name} }
spec:
  ${apart}
  ${more}
  template:
    metadata: { labels: { app: x }, annotations: { ${annotations} } }
    spec: ${POD_SPEC}
`;
}

const pod = (metadata: string, spec = POD_SPEC): string => `apiVersion: v1\nkind: Pod\nmetadata: ${metadata}\nspec: ${spec}\n`;

const SERVICE = "apiVersion: v1\nkind: Service\nmetadata: { name: web }\nspec: { ports: [{ port: 80 }] }\n";

const SECRET = "apiVersion: v1\nkind: Secret\nmetadata: { name: web }\n";

const join = (...documents: readonly string[]): string => documents.join("---\n");

describe("on Kubernetes", () => {
  const [test, world] = shareKubernetesCliWorld(async (world) => {
    await world.done(["init"]);
    await world.createPool("pods", "10.65.0.0/16");
    await createNode(world.api, "n1", []);
    await createNamespace(world.api, "shop");
  });

  const explain = async (stdin: string, ...words: readonly string[]) =>
    await world.ctl(["ipam", "explain", "-f", "-", ...words], { stdin });

  /** Who the answer is about. */
  const whoOf = async (stdin: string, ...words: readonly string[]): Promise<string> => {
    const { stdout, stderr } = await explain(stdin, ...words);
    return /^(.*) on node "n1" would get 10\.65\./.exec(stdout)?.[1] ?? stderr;
  };

  test("the pod is called as its controller will call it, or by what makes it (needs cluster)", async () => {
    expect(await whoOf(pod("{ name: web }"))).toBe('pod "default/web"');
    expect(await whoOf(pod("{ name: web, namespace: shop }"))).toBe('pod "shop/web"');
    expect(await whoOf(pod("{ name: web }"), "--namespace=shop")).toBe('pod "shop/web"');
    expect(await whoOf(pod("{ generateName: web- }"))).toBe('a pod of Pod "default/web-"');
    expect(await whoOf(workload("StatefulSet", "db"))).toBe('pod "default/db-0"');
    expect(await whoOf(workload("StatefulSet", "db", "", "ordinals: { start: 3 }"))).toBe('pod "default/db-3"');
    expect(await whoOf(workload("Deployment", "web"), "--pod=shop/web")).toBe('a pod of Deployment "shop/web"');
  });

  test("of several documents those count that make pods, and of several of these an option chooses (needs cluster)", async () => {
    const list = JSON.stringify({ apiVersion: "v1", kind: "List", items: [Bun.YAML.parse(workload("ReplicaSet", "api"))] });
    expect(await whoOf(join(SERVICE, workload("Deployment", "web"), SECRET))).toBe('a pod of Deployment "default/web"');
    expect(await whoOf(list)).toBe('a pod of ReplicaSet "default/api"');
    const all = join(SERVICE, workload("Deployment", "web"), workload("StatefulSet", "db"), pod("{ name: job, namespace: shop }"));
    expect(await whoOf(all, "--pod=web")).toBe('a pod of Deployment "default/web"');
    expect(await whoOf(all, "--pod=db")).toBe('pod "default/db-0"');
    expect(await whoOf(all, "--pod=db-0")).toBe('pod "default/db-0"');
    expect(await whoOf(join(pod("{ name: a, namespace: shop }"), pod("{ name: a, namespace: default }")), "-n", "shop")).toBe(
      'pod "shop/a"',
    );
    const file = world.file("web.yaml", workload("Deployment", "web"));
    expect((await world.ctl(["ipam", "explain", "--filename", file])).stdout).toStartWith('a pod of Deployment "default/web" on node');
    expect(await explain(all)).toMatchObject({
      status: 2,
      stderr: expect.stringContaining(
        'read stdin: got Deployment "web", StatefulSet "db", with "db-0" as its first pod, Pod "shop/job", want one: choose it by --pod=NAME',
      ),
    });
  });

  test("a list in a list is refused, as by kubectl, whatever is beside it (needs cluster)", async () => {
    const list = (...items: readonly unknown[]) => ({ apiVersion: "v1", kind: "List", items });
    const one = Bun.YAML.parse(pod("{ name: web }"));
    for (const [position, items] of [
      [1, [list(one), one]],
      [2, [one, list()]],
    ] as const) {
      const stdin = JSON.stringify(list(...items));
      const got = `read stdin, item ${position}: got "List (v1)" in a list, which kubectl refuses, want its items there\n`;
      expect(await explain(stdin)).toEqual({ status: 1, stdout: "", stderr: `netplugctl: ${got}` });
      expect(await world.api.kubectl(["create", "--dry-run=server", "-f", "-"], stdin).catch(String)).toContain("is not a list");
    }
  });

  const FIXED = `cni.netplug.io/ipAddrs: '["10.65.0.9"]'`;

  test("it tries the StatefulSet of docs/pod-annotations.md, as that says (needs cluster)", async () => {
    const document = new ShownDocument("docs/pod-annotations.md");
    await world.createPool("six", "fd65::/112");
    world.file("db.yaml", document.block("yaml", "ipAddrsByPod"));
    const words = document.one("netplugctl ipam explain -f").split(" ").slice(1);
    const inFolder = words.map((word) => (word === "db.yaml" ? `${world.folder}/${word}` : word));
    expect(await world.ctl(inFolder)).toEqual({
      status: 0,
      stdout: [
        'pod "default/db-1" on node "n1" would get 10.65.0.17 of pool "pods", from 10.65.0.0/26, a block that the node would claim\n',
        'pod "default/db-1" on node "n1" would get fd65::17 of pool "six", from fd65::/122, a block that the node would claim\n',
      ].join(""),
      stderr: "",
    });
    expect(await world.ctl(inFolder.map((word) => word.replace("db-1", "db-2")))).toMatchObject({
      status: 1,
      stderr: expect.stringContaining('want an entry "db-2"'),
    });
  });

  test("the report names the pod where it has a name (needs cluster)", async () => {
    const report = async (stdin: string): Promise<unknown> => JSON.parse((await explain(stdin, "-o", "json")).stdout);
    expect(await report(workload("StatefulSet", "db"))).toMatchObject({ node: "n1", namespace: "default", pod: "db-0" });
    expect(Object.keys((await report(workload("Deployment", "web"))) as object)).not.toContain("pod");
  });

  test("what of a manifest does not what it seems to do is a warning (needs cluster)", async () => {
    const warningsOf = async (stdin: string, ...words: readonly string[]): Promise<unknown> => {
      const { status, stderr } = await explain(stdin, ...words);
      return [status, ...stderr.split("\n").filter((line) => line !== "")];
    };
    const misplaced = workload("Deployment", "web").replace("{ name: web }", `{ name: web, annotations: { ${FIXED} } }`);
    const nightly = join(`
apiVersion: batch/v1
kind: CronJob
metadata: { name: nightly, annotations: { other: x } }
spec:
  schedule: "0 0 1 1 *"
  jobTemplate:
    metadata: { annotations: { ${FIXED} } }
    spec: { template: { spec: { nodeName: n1, restartPolicy: Never, containers: [{ name: main, image: none }] } } }
`);
    const of = 'warning: annotation "cni.netplug.io/ipAddrs" of';
    expect(await warningsOf(misplaced)).toEqual([
      0,
      `${of} Deployment "default/web" has no effect: its pods have those of spec.template.metadata.annotations`,
    ]);
    expect(await warningsOf(nightly)).toEqual([
      0,
      `${of} CronJob "default/nightly" has no effect: its pods have those of spec.jobTemplate.spec.template.metadata.annotations`,
    ]);
    expect(await warningsOf(workload("StatefulSet", "db", "", "replicas: 2"), "--pod=db-1")).toEqual([0]);
    expect(await warningsOf(workload("StatefulSet", "db", "", "replicas: 2"), "--pod=db-2")).toEqual([
      0,
      'warning: StatefulSet "default/db" has no pod "db-2" before its replicas are 3: they are 2',
    ]);
    expect(await warningsOf(workload("Deployment", "web", FIXED))).toEqual([0]);
    expect(await warningsOf(workload("Deployment", "web", FIXED, "replicas: 3"))).toEqual([
      0,
      'warning: annotation "cni.netplug.io/ipAddrs" asks for the same addresses for each of the 3 pods of Deployment "default/web"',
    ]);
    expect(await warningsOf(workload("DaemonSet", "web", FIXED))).toEqual([
      0,
      `${of.replace(/of$/, "asks")} for the same addresses for each pod of DaemonSet "default/web", which has one on each node`,
    ]);
    expect(await warningsOf(workload("Deployment", "web", "cni.netplug.io/ipaddrs: x"))).toEqual([
      0,
      'warning: annotation "cni.netplug.io/ipaddrs" of a pod of Deployment "default/web" is unknown and has no effect: was "cni.netplug.io/ipAddrs" meant?',
    ]);
  });

  test.each([
    ["Job", "parallelism: 2", 2],
    ["Job", "parallelism: 3, completions: 2", 2],
    ["Job", "parallelism: 3, completions: 1", 1],
    ["Job", "completions: 3", 1],
    ["CronJob", "parallelism: 2", 2],
  ])("of a %s with %s the pods count that it has at once (needs cluster)", async (kind, counts, atOnce) => {
    const spec = `${counts}, template: { metadata: { annotations: { ${FIXED} } }, spec: { nodeName: n1 } }`;
    const whole = kind === "Job" ? spec : `jobTemplate: { spec: { ${spec} } }`;
    const { stderr } = await explain(`apiVersion: batch/v1\nkind: ${kind}\nmetadata: { name: sum }\nspec: { ${whole} }\n`);
    expect(stderr).toBe(
      atOnce === 1
        ? ""
        : `warning: annotation "cni.netplug.io/ipAddrs" asks for the same addresses for each of the ${atOnce} pods of ${kind} "default/sum"\n`,
    );
  });

  test("of a StatefulSet it warns of another pod without an entry among addresses by name (needs cluster)", async () => {
    const warned = async (entries: string, more: string, ...words: readonly string[]): Promise<unknown> => {
      const { status, stderr } = await explain(
        workload("StatefulSet", "db", `cni.netplug.io/ipAddrsByPod: '{${entries}}'`, more),
        ...words,
      );
      return [status, /has no entry for (.*)/.exec(stderr)?.[1]];
    };
    const entries = '"db-0": ["10.65.0.9"], "db-1": ["10.65.0.10"]';
    expect(await warned(entries, "replicas: 2")).toEqual([0, undefined]);
    expect(await warned(entries, "replicas: 4")).toEqual([0, '"db-2", one of the 4 pods of StatefulSet "default/db"']);
    expect(await warned(entries, "replicas: 2147483647")).toEqual([0, expect.stringContaining('"db-2", one of')]);
    expect(await warned(entries, "replicas: 2\n  ordinals: { start: 1 }", "--pod=db-1")).toEqual([
      0,
      expect.stringContaining('"db-2", one of the 2 pods'),
    ]);
    expect(await warned(entries, "replicas: 4", "--pod=db-2")).toEqual([1, expect.stringContaining('"db-3", one of')]);
    expect(await warned(entries, "replicas: 3", "--pod=db-2")).toEqual([1, undefined]);
  });

  test("a pod whose name nobody knows has no entry among addresses by name (needs cluster)", async () => {
    const byPod = `cni.netplug.io/ipAddrsByPod: '{"web-0": ["10.65.0.9"]}'`;
    const { status, stderr } = await explain(workload("Deployment", "web", byPod));
    expect([status, stderr]).toEqual([
      1,
      `an ADD would fail with code 104: read annotation "cni.netplug.io/ipAddrsByPod" of a pod of Deployment "default/web": got '{"web-0": ["10.65.0.9"]}', want an entry of its name, which nobody knows before: of workloads only a StatefulSet has pods of known names\n`,
    ]);
  });

  /** The API server does not take it either. */
  test.each([
    [
      workload("Deployment", "web", 'cni.netplug.io/ipAddrs: ["10.65.0.9"]'),
      '["cni.netplug.io/ipAddrs"]: got a list, want a text, which in YAML is between quotes',
    ],
    [workload("Deployment", "web", "a: 5"), "stdin: spec.template.metadata.annotations.a: got 5, want a text"],
    [pod("{ name: web, annotations: { b: true } }"), "stdin: metadata.annotations.b: got true, want a text"],
    [pod("{ name: web, annotations: [] }"), "stdin: metadata.annotations: got an empty list, want an object"],
    [pod("{ annotations: {} }"), "stdin: metadata.name: got nothing, want a DNS name in lower case"],
    [pod("{ name: a/b }"), 'stdin: metadata.name: got "a/b", want a DNS name in lower case'],
    [pod("{ generateName: web_ }"), 'stdin: metadata.generateName: got "web_", want a DNS name in lower case, which may end in a dash'],
    [pod("{ generateName: '-' }"), 'stdin: metadata.generateName: got "-", want a DNS name'],
    [
      workload("DaemonSet", "web").replace("nodeName: n1", "nodeName: N 1"),
      'stdin: spec.template.spec.nodeName: got "N 1", want a DNS name',
    ],
    [pod("{ name: web, namespace: 7 }"), "stdin: metadata.namespace: got 7, want a DNS name"],
    [pod("{ name: web }", "{ hostNetwork: 'true', containers: [{ name: main, image: none }] }"), 'spec.hostNetwork: got "true", want true'],
    [pod("{ name: web }", "[]"), "stdin: spec: got an empty list, want an object"],
    [pod("{ name: web }").replace("kind: Pod\n", ""), "stdin: kind: got nothing, want a text"],
    [pod("{ name: web }").replace("apiVersion: v1\n", ""), "stdin: apiVersion: got nothing, want a text"],
    [workload("StatefulSet", "db", "", "replicas: two"), 'stdin: spec.replicas: got "two", want a whole number'],
    [workload("StatefulSet", "db", "", "ordinals: { start: -1 }"), "stdin: spec.ordinals.start: got -1, want a whole number"],
    [
      workload("StatefulSet", "db", "", "ordinals: { start: 2147483648 }"),
      "stdin: spec.ordinals.start: got 2147483648, want a whole number 0..2147483647",
    ],
    [
      workload("Deployment", "web", "", 'strategy: { rollingUpdate: { maxSurge: "25" } }'),
      'stdin: spec.strategy.rollingUpdate.maxSurge: got "25", want a whole number 0..2147483647, or a share such as "25%"',
    ],
    [workload("Deployment", "web", "", "replicas: 2147483648"), "stdin: spec.replicas: got 2147483648, want a whole number"],
    [
      join(pod("{ name: web, namespace: shop }"), "apiVersion: v1\nkind: Namespace\nmetadata: { name: shop, labels: { a: 5 } }\n"),
      "stdin, document 2: metadata.labels.a: got 5, want a text",
    ],
    [workload("Deployment", "web").replace(/ {2}template:[^]*/, ""), "stdin: spec.template: got nothing, want an object"],
  ])("what makes no sense is refused, and told with its place: %# (needs cluster)", async (manifest, message) => {
    expect(await explain(manifest, "--node=n1")).toMatchObject({ status: 1, stdout: "", stderr: expect.stringContaining(message) });
    const applying = world.api.kubectl(["create", "--dry-run=server", "--validate=ignore", "-f", "-"], manifest);
    expect(await applying.catch(() => "refused")).toBe("refused");
  });

  test.each([
    ["a Deployment", workload("Deployment", "web")],
    ["a StatefulSet", workload("StatefulSet", "web")],
    ["a name of which only the beginning is given", pod("{ generateName: web.a- }")],
    ["a beginning without a dash", pod("{ generateName: web }")],
    ["an annotation without a value", pod("{ name: web, annotations: { a: ~ } }")],
    ["no annotations", pod("{ name: web, annotations: ~ }")],
    ["an empty namespace", pod('{ name: web, namespace: "" }')],
  ])("what the API server takes is no obstacle: %s (needs cluster)", async (_, manifest) => {
    await world.api.kubectl(["create", "--dry-run=server", "--validate=ignore", "-f", "-"], manifest);
    expect(await whoOf(manifest)).toContain('"default/web');
  });

  const unbound = pod("{ name: web }", "{ containers: [{ name: main, image: none }] }");
  const oldDeployment = workload("Deployment", "web").replace("apps/v1", "extensions/v1beta1");
  test.each([
    [unbound, [], 2, 'read options: got no --node, want one, or "nodeName" in the manifest of pod "default/web"'],
    [workload("Deployment", "web"), ["--pod=web-x7k2p"], 2, 'got "web-x7k2p", want a name that stdin has: Deployment "web"'],
    [workload("StatefulSet", "db"), ["--pod=db-00"], 2, 'that stdin has: StatefulSet "db", with "db-0" as its first pod'],
    [workload("StatefulSet", "db", "", "ordinals: { start: 3 }"), ["--pod=db-2"], 2, 'StatefulSet "db", with "db-3" as its first pod'],
    [
      pod("{ name: web, namespace: shop }"),
      ["-n", "default"],
      2,
      'got Pod "shop/web", want one of namespace "default", as the options say',
    ],
    [pod("{ name: web, namespace: shop }"), ["--pod=default/web"], 2, 'got Pod "shop/web", want one of namespace "default"'],
    [pod("{ name: web }"), ["--pod=shop/web", "-n", "default"], 2, "want one namespace"],
    [pod("{ name: web, namespace: none }"), [], 1, 'find namespace "none": there is none\n'],
    [
      pod("{ name: web }", "{ hostNetwork: true }"),
      [],
      1,
      'pod "default/web": it uses the host\'s network (hostNetwork: true), so it gets none',
    ],
    [join(SERVICE, SECRET), [], 1, 'read stdin: got "Service (v1)", "Secret (v1)", want Pod (v1), '],
    [oldDeployment, [], 1, 'read stdin: got "Deployment (extensions/v1beta1)", want Pod (v1), '],
    ['kind: "P\\nnext: x"\napiVersion: v1\n', [], 1, String.raw`got "P\nnext: x (v1)", want Pod (v1), `],
    ["kind: Pod\nkind: Pod\n", [], 1, 'read stdin: line 2, column 1: the key "kind" appears twice'],
    ["", [], 1, "read stdin: got no object"],
    ["- 1\n", [], 1, "read stdin: got a list, want an object"],
  ])("%j with %j ends with %d (needs cluster)", async (manifest, words, status, message) => {
    expect(await explain(manifest, ...words)).toMatchObject({ status, stdout: "", stderr: expect.stringContaining(message) });
  });

  test("of what the manifest has several times the last counts, as of kubectl apply (needs cluster)", async () => {
    const at = (address: string, metadata: string) =>
      pod(metadata.replace("}", `, annotations: { cni.netplug.io/ipAddrs: '["${address}"]' } }`));
    const twice = join(at("10.65.0.21", "{ name: twice }"), at("10.65.0.22", "{ name: twice, namespace: default }"));
    expect(await explain(twice)).toEqual({
      status: 0,
      stdout: expect.stringContaining(" would get 10.65.0.22 "),
      stderr: 'warning: Pod "default/twice" is 2 times in the manifest: the last counts, as for kubectl apply\n',
    });
    await world.api.kubectl(["apply", "-f", "-"], twice);
    expect((await world.read<{ readonly metadata: object }>("pod", "twice")).metadata).toMatchObject({
      annotations: { "cni.netplug.io/ipAddrs": '["10.65.0.22"]' },
    });
    const file = world.file("twice.yaml", workload("Deployment", "web"));
    expect((await world.ctl(["ipam", "explain", "-f", file, "-f", file])).stderr).toContain('Deployment "default/web" is 2 times');
    const apart = join(pod("{ name: a, namespace: shop }"), pod("{ name: a, namespace: shop }"), pod("{ name: a }"));
    expect((await explain(apart, "--pod=default/a")).stderr).toBe("");
    const madeUp = pod("{ generateName: a- }");
    expect(await explain(join(madeUp, madeUp))).toMatchObject({
      status: 2,
      stderr: expect.stringContaining('got Pod "a-", Pod "a-", want one: '),
    });
  });

  test("what cannot be chosen by an option is to be given alone, and of many some are shown (needs cluster)", async () => {
    const ofOneName = join(workload("Deployment", "web"), workload("ReplicaSet", "web"));
    const wanted = async (stdin: string, ...words: readonly string[]): Promise<string> => {
      const { status, stderr } = await explain(stdin, ...words);
      return `${status} ${stderr.split("\n")[0]?.replace(/^netplugctl: read stdin: /, "")}`;
    };
    const got = '2 got Deployment "web", ReplicaSet "web", want one:';
    expect(await wanted(ofOneName)).toBe(`${got} choose it by --pod=NAME or --namespace, or give it alone`);
    expect(await wanted(ofOneName, "--pod=web")).toBe(`${got} choose it by --namespace, or give it alone`);
    expect(await wanted(ofOneName, "--pod=default/web")).toBe(`${got} give it alone`);
    const many = join(...Array.from({ length: 1_000 }, (_, index) => pod(`{ name: p${index} }`)));
    const some = Array.from({ length: 10 }, (_, index) => `Pod "p${index}"`).join(", ");
    expect(await wanted(many)).toBe(`2 got ${some}, and 990 more, want one: choose it by --pod=NAME or --namespace, or give it alone`);
  });

  test("that the manifest binds the pod to another node than is asked for is a warning (needs cluster)", async () => {
    await createNode(world.api, "n2", []);
    const { stdout, stderr } = await explain(pod("{ name: bound }"), "--node=n2");
    expect([stdout.split("\n")[0], stderr]).toEqual([
      expect.stringContaining('pod "default/bound" on node "n2" would get '),
      'warning: the manifest binds pod "default/bound" to node "n1": the answer is for one like it\n',
    ]);
  });

  test("a file that is not there is told (needs cluster)", async () => {
    expect(await world.ctl(["ipam", "explain", "-f", "none.yaml"])).toMatchObject({
      status: 1,
      stderr: 'netplugctl: read "none.yaml": there is no such file\n',
    });
  });
});

describe("on etcd", () => {
  const world = shareEtcdCliWorld(async (world) => {
    await world.done(["init"]);
    await world.createPool("pods", "10.65.0.0/16");
  });

  always("a manifest has a pod, though etcd knows of none, on a node without an object, and in any namespace", async () => {
    const annotations = `cni.netplug.io/ipAddrs: '["10.65.0.9"]'`;
    const stdin = workload("StatefulSet", "db", annotations, "replicas: 2");
    const { status, stdout, stderr } = await world.ctl(["ipam", "explain", "-f", "-", "--pod=shop/db-1"], { stdin });
    expect([status, stdout]).toEqual([0, expect.stringMatching(/^pod "shop\/db-1" on node "n1" would get 10\.65\.0\.9 of pool "pods", /)]);
    expect(stderr.split("\n")).toEqual([
      'warning: annotation "cni.netplug.io/ipAddrs" asks for the same addresses for each of the 2 pods of StatefulSet "shop/db"',
      'warning: annotations of pod "shop/db-1" count only with "policy.type": "k8s" in the network config, as the datastore is etcd',
      "",
    ]);
  });

  always("a name that no namespace has is refused, as the API server would refuse it", async () => {
    const told = await world.ctl(["ipam", "explain", "-f", "-", "--pod=A$&/web"], { stdin: workload("Deployment", "web") });
    const message = 'read the namespace in option "--pod": got "A$&", want a DNS name in lower case';
    expect(told).toMatchObject({ status: 2, stdout: "", stderr: expect.stringContaining(message) });
  });

  always("that a namespace may choose is said where the pod does not choose all itself", async () => {
    const named = `cni.netplug.io/ipv4pools: '["pods"]'`;
    const warned = async (annotations: string): Promise<boolean> => {
      const stdin = workload("Deployment", "web", annotations);
      return (await world.ctl(["ipam", "explain", "-f", "-"], { stdin })).stderr.includes(
        'namespace "default" may choose pools and families',
      );
    };
    expect(await warned("")).toBe(true);
    expect(await warned(named)).toBe(true);
    expect(await warned(`${named}, cni.netplug.io/ipFamilies: '["IPv4"]'`)).toBe(false);
    expect(await warned(`cni.netplug.io/ipAddrs: '["10.65.0.9"]'`)).toBe(false);
    expect(await warned("cni.netplug.io/ipAddrs: 10.65.0.9")).toBe(false);
  });
});
