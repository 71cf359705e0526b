import { beforeEach, describe, expect, test } from "bun:test";
import { endpointYaml, poolYaml, resourceYaml } from "../support/cli/documents.ts";
import { shareEtcdCliWorld } from "../support/cli/etcd-cli-world.ts";

const world = shareEtcdCliWorld();

beforeEach(() => world.reset());

const PROFILE = resourceYaml("Profile", "p", { ingress: [{ action: "Allow" }, { action: "Deny" }] });

describe("patch and label", () => {
  test.each([
    ["strategic", '{"spec":{"disabled":true}}'],
    ["merge", '{"spec":{"disabled":true}}'],
    ["json", '[{"op":"replace","path":"/spec/disabled","value":true}]'],
    ["strategic", "spec:\n  disabled: true\n"],
    ["merge", "{spec: {disabled: true}}"],
    ["json", "- {op: replace, path: /spec/disabled, value: true}"],
  ])("a patch of type %p changes what is stored", async (type, patch) => {
    await world.createPool("blue", "10.65.0.0/16");
    expect(await world.done(["patch", "ippool", "blue", "-p", patch, "--type", type])).toBe("ippool/blue patched\n");
    expect(await world.stored("/netplug/v3/ippools/blue")).toMatchObject({
      "/netplug/v3/ippools/blue": { spec: { disabled: true, blockSize: 26 } },
    });
    expect(await world.done(["patch", "ippool/blue", "-p", patch, "--type", type])).toBe("ippool/blue unchanged\n");
  });

  test.each([
    ['{"spec":{"cidr":"10.66.0.0/16"}}', 1, 'spec.cidr: got "10.66.0.0/16", want "10.65.0.0/16": it cannot be changed'],
    ['{"spec":{"blockSize":27}}', 1, "spec.blockSize: got 27, want 26: it cannot be changed"],
    ['{"spec":{"nope":1}}', 1, 'unknown field "nope"'],
    ['{"disabled":true}', 1, 'disabled: unknown field "disabled": it belongs in spec\n'],
    ['{"spec":{"disable":null}}', 1, 'spec.disable: unknown field "disable": the nearest known one is "disabled"'],
    ["{spec:{disabled:true}}", 1, 'unknown field "disabled:true": the nearest known one is "disabled"'],
    ['{"metadata":{"name":"red"}}', 1, 'metadata.name: got "red", want "blue"'],
    ['{"metadata":{"uid":"red"}}', 1, 'metadata.uid: got "red", want "'],
    ['{"metadata":{"creationTimestamp":null}}', 1, 'metadata.creationTimestamp: got null, want "'],
    ['{"kind":"Tier"}', 1, 'kind: got "Tier", want "IPPool"'],
    ["[]", 2, "a list of operations wants --type json"],
    ["{", 2, "line 1, column 2: unexpected end of the stream"],
    ["spec: &a {b: *a}", 2, 'read option "--patch": got more than 64 levels, want fewer'],
    ["metadata: {labels: {a: &a [*a]}}", 2, 'read option "--patch": got more than 64 levels, want fewer'],
    [aliasesOfAliases(8), 2, 'read option "--patch": got more than 1000000 values, want fewer'],
    ['{"spec":{"disabled":true},"spec":{}}', 2, 'read option "--patch": line 1, column 28: the key "spec" appears twice in one object'],
    ["spec: {}\n---\nspec: {}", 2, "got 2 documents, want one"],
    ["# nothing", 2, "got nothing, want JSON or YAML"],
  ])("patch %p is status %p: %p", async (patch, status, message) => {
    await world.createPool("blue", "10.65.0.0/16");
    const result = await world.ctl(["patch", "ipp", "blue", "-p", patch]);
    expect([result.status, result.stderr]).toEqual([status, expect.stringContaining(message)]);
  });

  test("a patch removes a field that the object has and none should have", async () => {
    await world.createPool("blue", "10.65.0.0/16");
    const key = "/netplug/v3/ippools/blue";
    const stored = (await world.stored(key))[key] as { readonly spec: object };
    await world.etcd.ctl(["put", key, JSON.stringify({ ...stored, spec: { ...stored.spec, later: 1 } })]);
    expect(await world.done(["patch", "ipp", "blue", "-p", '{"spec":{"later":null}}'])).toBe("ippool/blue patched\n");
    expect(await world.stored(key)).toMatchObject({ [key]: { spec: stored.spec } });
  });

  test.each([[["label", "node", "n9", "rack=r1"]], [["patch", "node", "n9", "-p", "spec: {}"]]])(
    "%j: of a node without an object it says who makes it",
    async (argv) => {
      await world.done(["init"]);
      const { status, stderr } = await world.ctl(argv);
      expect([status, stderr]).toEqual([
        1,
        'netplugctl: find node "n9": there is none; on etcd somebody has to create it\nnext: netplugctl create -f FILE\n',
      ]);
    },
  );

  test.each([[["label", "ipp,tier", "a", "x=y"]], [["patch", "ipp,tier", "a", "-p", "{}"]], [["patch", "ipp/a,tier/a", "-p", "{}"]]])(
    "%j of several kinds is wrong usage",
    async (argv) => {
      const { status, stderr } = await world.ctl(argv);
      expect([status, stderr]).toEqual([2, expect.stringContaining(`read argument "${argv[1]}": want one kind\n`)]);
    },
  );

  test("a patch of several objects at once is wrong usage, and changes none", async () => {
    await world.createPool("blue", "10.65.0.0/16");
    await world.createPool("red", "10.66.0.0/16");
    const before = await world.stored("/netplug/v3/ippools/");
    const { status, stderr } = await world.ctl(["patch", "ipp", "blue", "red", "-p", "spec: {disabled: true}"]);
    expect([status, stderr]).toEqual([2, expect.stringContaining('read arguments: got "red", want one object')]);
    expect(await world.stored("/netplug/v3/ippools/")).toEqual(before);
  });

  test("a merge patch takes away what it gives as null, a list that is not there loses nothing", async () => {
    await world.createPool("blue", "10.65.0.0/16");
    await world.done(["label", "ippool", "blue", "a=1", "b=2"]);
    const patch = async (...options: readonly string[]): Promise<string> => await world.done(["patch", "ippool", "blue", ...options]);
    expect(await patch("--type", "merge", "-p", '{"metadata":{"labels":{"a":null}}}')).toBe("ippool/blue patched\n");
    expect(await patch("-p", '{"metadata":{"$deleteFromPrimitiveList/finalizers":["x"]}}')).toBe("ippool/blue unchanged\n");
    expect(JSON.parse(await world.done(["get", "ippool", "blue", "-o", "json"])).metadata.labels).toEqual({ b: "2" });
  });

  test.each<[patch: object, labels: object | undefined, allowedUses: readonly string[]]>([
    [{ metadata: { labels: { a: null, c: "3" } } }, { b: "2", c: "3" }, ["Workload", "Tunnel"]],
    [{ metadata: { labels: { $patch: "merge", c: "3" } } }, { a: "1", b: "2", c: "3" }, ["Workload", "Tunnel"]],
    [{ metadata: { labels: { $patch: "replace", c: "3" } } }, { c: "3" }, ["Workload", "Tunnel"]],
    [{ metadata: { labels: { $patch: "delete" } } }, undefined, ["Workload", "Tunnel"]],
    [{ metadata: { labels: { $retainKeys: ["a", "c"], c: "3" } } }, { a: "1", c: "3" }, ["Workload", "Tunnel"]],
    [{ spec: { "$deleteFromPrimitiveList/allowedUses": ["Tunnel"] } }, { a: "1", b: "2" }, ["Workload"]],
    [{ spec: { "$setElementOrder/allowedUses": ["Workload"], allowedUses: ["Workload"] } }, { a: "1", b: "2" }, ["Workload"]],
  ])("the directives of Kubernetes are followed: %j", async (patch, labels, allowedUses) => {
    await world.createPool("blue", "10.65.0.0/16", { allowedUses: ["Workload", "Tunnel"] });
    await world.done(["label", "ippool", "blue", "a=1", "b=2"]);
    expect(await world.done(["patch", "ippool", "blue", "-p", JSON.stringify(patch)])).toBe("ippool/blue patched\n");
    const { metadata, spec } = JSON.parse(await world.done(["get", "ippool", "blue", "-o", "json"]));
    expect([metadata.labels, spec.allowedUses]).toEqual([labels, allowedUses]);
  });

  test.each([
    [{ metadata: { labels: { $patch: "remove" } } }, 'got "$patch": "remove", want "merge", "replace" or "delete"'],
    [{ metadata: { labels: { $retainKeys: "a" } } }, 'want a list of keys as "$retainKeys"'],
    [{ spec: { "$deleteFromPrimitiveList/allowedUses": "Tunnel" } }, 'want a list of values as "$deleteFromPrimitiveList/allowedUses"'],
    [{ spec: { $delete: ["allowedUses"] } }, 'got directive "$delete", want $patch, $retainKeys or $deleteFromPrimitiveList'],
  ])("a directive that makes no sense changes nothing: %j", async (patch, message) => {
    await world.createPool("blue", "10.65.0.0/16", { allowedUses: ["Workload", "Tunnel"] });
    const before = await world.stored("/netplug/v3/ippools/blue");
    const result = await world.ctl(["patch", "ippool", "blue", "-p", JSON.stringify(patch)]);
    expect([result.status, result.stderr]).toEqual([1, expect.stringContaining(message)]);
    expect(await world.stored("/netplug/v3/ippools/blue")).toEqual(before);
  });

  test.each(['["Workload","Tunnel"]', "[]"])("a pool for load balancers gets no other use: %s", async (uses) => {
    await world.createPool("lb", "10.65.0.0/24", { allowedUses: ["LoadBalancer"], assignmentMode: "Manual" });
    const { status, stderr } = await world.ctl(["patch", "ipp", "lb", "-p", `{"spec":{"allowedUses":${uses}}}`]);
    const message = 'spec.allowedUses: got "Workload", "Tunnel", want "LoadBalancer": such a pool cannot get another use';
    expect([status, stderr]).toEqual([1, expect.stringContaining(`${message}\n`)]);
    expect(await world.done(["get", "ipp", "lb", "-o", "custom-columns=USES", "--no-headers"])).toBe("LoadBalancer\n");
  });

  test("a pool whose CIDR somebody wrote in another form is changed, and its CIDR is the same", async () => {
    await world.createPool("six", "fd00::/64");
    const key = "/netplug/v3/ippools/six";
    const { [key]: pool } = (await world.stored(key)) as Record<string, { readonly spec: object }>;
    await world.etcd.ctl(["put", key, JSON.stringify({ ...pool, spec: { ...pool?.spec, cidr: "FD00:0::/64" } })]);
    expect(await world.done(["apply", "-f", "-"], { stdin: poolYaml("six", "fd00::/64", { disabled: true }) })).toBe(
      "ippool/six configured\n",
    );
  });

  test("a pool that would become smaller than its blocks is refused for the change first", async () => {
    await world.createPool("blue", "10.65.0.0/16");
    const wanted = 'spec.cidr: got "10.65.0.0/28", want "10.65.0.0/16": it cannot be changed; make another pool';
    const stdin = poolYaml("blue", "10.65.0.0/28");
    for (const argv of [
      ["patch", "ippool", "blue", "-p", '{"spec":{"cidr":"10.65.0.0/28"}}'],
      ["apply", "-f", "-"],
      ["replace", "-f", "-"],
    ]) {
      const { status, stderr } = await world.ctl(argv, { stdin });
      expect([status, stderr]).toEqual([1, expect.stringContaining(wanted)]);
      expect(stderr).not.toContain("blockSize");
    }
    const both = ["patch", "ipp", "blue", "-p", '{"spec":{"blockSize":14,"ipipMode":"Always","vxlanMode":"Always"}}'];
    expect((await world.ctl(both)).stderr).toMatch(/: 2 problems\n {2}spec\.blockSize: .*cannot be changed.*\n {2}spec\.vxlanMode: /);
    // Also where the new value would not do for any pool.
    for (const cidr of ['"10.66.0.1/16"', '"nonsense"', "7"])
      expect((await world.ctl(["patch", "ipp", "blue", "-p", `{"spec":{"cidr":${cidr}}}`])).stderr).toStartWith(
        `netplugctl: validate IPPool "blue": spec.cidr: got ${cidr}, want "10.65.0.0/16": it cannot be changed`,
      );
    const guid = await world.ctl(["patch", "clusterinfo", "default", "-p", '{"spec":{"clusterGUID":"x"}}']);
    expect(guid.stderr).toMatch(/spec\.clusterGUID: got "x", want "[0-9a-f]{32}": it cannot be changed\n$/);
    const away = await world.ctl(["apply", "-f", "-"], { stdin, env: { ETCD_ENDPOINTS: "http://127.0.0.1:1" } });
    expect(away).toMatchObject({
      status: 1,
      stderr: expect.stringContaining("got 26 (the default) with cidr 10.65.0.0/28, want a blockSize"),
    });
  });

  // RFC 6902.
  test.each<[operations: readonly object[], actions: readonly string[], labels: object | undefined]>([
    [[{ op: "add", path: "/spec/ingress/1", value: { action: "Log" } }], ["Allow", "Log", "Deny"], { a: "1" }],
    [[{ op: "add", path: "/spec/ingress/-", value: { action: "Log" } }], ["Allow", "Deny", "Log"], { a: "1" }],
    [[{ op: "add", path: "/metadata/labels/x.y~1z", value: "2" }], ["Allow", "Deny"], { a: "1", "x.y/z": "2" }],
    [[{ op: "replace", path: "/spec/ingress/1/action", value: "Pass" }], ["Allow", "Pass"], { a: "1" }],
    [[{ op: "replace", path: "/spec/ingress/0", value: { action: "Log" } }], ["Log", "Deny"], { a: "1" }],
    [[{ op: "remove", path: "/spec/ingress/0" }], ["Deny"], { a: "1" }],
    [[{ op: "remove", path: "/metadata/labels" }], ["Allow", "Deny"], undefined],
    [[{ op: "move", from: "/spec/ingress/0", path: "/spec/ingress/1" }], ["Deny", "Allow"], { a: "1" }],
    [[{ op: "move", from: "/metadata/labels/a", path: "/metadata/labels/b" }], ["Allow", "Deny"], { b: "1" }],
    [[{ op: "copy", from: "/spec/ingress/0/action", path: "/spec/ingress/1/action" }], ["Allow", "Allow"], { a: "1" }],
    [
      [
        { op: "test", path: "/spec/ingress/1/action", value: "Deny" },
        { op: "remove", path: "/spec/ingress/1" },
      ],
      ["Allow"],
      { a: "1" },
    ],
  ])("a JSON patch does its operations in order: %j", async (operations, actions, labels) => {
    await world.create(PROFILE);
    await world.done(["label", "profile", "p", "a=1"]);
    await world.done(["patch", "profile", "p", "--type", "json", "-p", JSON.stringify(operations)]);
    const stored = JSON.parse(await world.done(["get", "profile", "p", "-o", "json"]));
    const rules: readonly { readonly action: string }[] = stored.spec.ingress;
    expect([rules.map(({ action }) => action), stored.metadata.labels]).toEqual([actions, labels]);
  });

  test.each([
    '[{"op":"replace","path":"/spec/ingress/2","value":{"action":"Log"}}]',
    '[{"op":"remove","path":"/spec/ingress/2"}]',
    '[{"op":"add","path":"/spec/ingress/3","value":{"action":"Log"}}]',
    '[{"op":"add","path":"/spec/ingress/01","value":{"action":"Log"}}]',
    '[{"op":"remove","path":"/spec/ingress/0"},{"op":"test","path":"/spec/ingress/0/action","value":"Allow"}]',
    '[{"op":"move","from":"/spec","path":"/spec/ingress"}]',
  ])("a JSON patch of which an operation cannot be done changes nothing: %s", async (patch) => {
    await world.create(PROFILE);
    const before = await world.stored("/netplug/v3/profiles/p");
    const { status, stderr } = await world.ctl(["patch", "profile", "p", "--type", "json", "-p", patch]);
    expect([status, stderr]).toEqual([1, expect.stringMatching(/apply patch: .*operation [12]: /)]);
    expect(await world.stored("/netplug/v3/profiles/p")).toEqual(before);
  });

  test.each([
    ['[{"op":"add","path":"/metadata/labels/a","value":"b"}]', 'operation 1: there is no place "/metadata/labels/a"'],
    ['[{"op":"test","path":"/spec/disabled","value":true}]', "operation 1: test of"],
    ['[{"op":"replace","path":"/spec/nope","value":1}]', 'there is nothing at "/spec/nope"'],
    ['[{"op":"remove","path":"spec"}]', 'path: got "spec", want a text such as "/spec/disabled"'],
    ['{"op":"remove"}', "want a list of operations for --type json"],
  ])("a JSON patch that cannot be done names operation and place: %p", async (patch, message) => {
    await world.createPool("blue", "10.65.0.0/16");
    const { status, stderr } = await world.ctl(["patch", "ipp", "blue", "--type", "json", "-p", patch]);
    expect([status, stderr]).toEqual([1, expect.stringContaining(message)]);
  });

  test("a list of operations that holds itself is wrong usage", async () => {
    await world.createPool("blue", "10.65.0.0/16");
    const patch = "- {op: add, path: /metadata/labels, value: &a {b: *a}}";
    const { status, stderr } = await world.ctl(["patch", "ipp", "blue", "--type", "json", "-p", patch]);
    expect([status, stderr]).toEqual([2, expect.stringContaining('read option "--patch": got more than 64 levels, want fewer')]);
  });

  test("patches at the same time all count", async () => {
    await world.createPool("blue", "10.65.0.0/16");
    const keys = ["a", "b", "c", "d"];
    await Promise.all(
      keys.map((key) => world.done(["patch", "ipp", "blue", "-p", JSON.stringify({ metadata: { labels: { [key]: "1" } } })])),
    );
    expect(await world.stored("/netplug/v3/ippools/blue")).toMatchObject({
      "/netplug/v3/ippools/blue": { metadata: { labels: Object.fromEntries(keys.map((key) => [key, "1"])) } },
    });
  });

  test("an endpoint is labelled and patched in its namespace", async () => {
    for (const namespace of ["default", "prod"]) await world.create(endpointYaml({ containerID: "c1", node: "n1", namespace }));
    await world.done(["label", "wep/n1-cni-c1-eth0", "a=1"]);
    await world.done(["label", "wep", "n1-cni-c1-eth0", "-n", "prod", "a=2"]);
    const { stderr } = await world.ctl(["label", "wep", "n1-cni-c1-eth0", "-n", "prod", "a="]);
    expect(stderr).toEndWith("next: netplugctl label wep n1-cni-c1-eth0 a= -n prod --overwrite\n");
    await world.done(["patch", "wep", "n1-cni-c1-eth0", "-p", "spec: {mac: 'ee:ee:ee:ee:ee:01'}"]);
    expect(await world.ctl(["patch", "wep", "n1-cni-c1-eth0", "-p", "metadata: {namespace: prod}"])).toMatchObject({
      status: 1,
      stderr: 'netplugctl: apply patch: metadata.namespace: got "prod", want "default": it cannot be changed\n',
    });
    const endpoints = await world.stored("/netplug/v3/workloadendpoints/");
    expect(Object.values(endpoints)).toMatchObject([
      { metadata: { namespace: "default", labels: { a: "1" } }, spec: { mac: "ee:ee:ee:ee:ee:01" } },
      { metadata: { namespace: "prod", labels: { a: "2" } } },
    ]);
  });

  test("labels are set, replaced and removed", async () => {
    await world.create(resourceYaml("Node", "n1"));
    expect(await world.done(["label", "node", "n1", "zone=a", "rack=r1"])).toBe("node/n1 labelled\n");
    const change = ["label", "no", "n1", "zone=b", "rack-", "none-"];
    expect(await world.ctl(change)).toEqual({
      status: 1,
      stdout: "",
      stderr:
        'netplugctl: label node "n1": "zone" is "a" already; give --overwrite to make it "b"\nnext: netplugctl label no n1 zone=b rack- none- --overwrite\n',
    });
    const { stderr } = await world.ctl(["label", "no", "n1", "zone=a b"]);
    expect(stderr).toContain('metadata.labels.zone: got "a b"');
    expect(stderr).not.toContain("--overwrite");
    expect(await world.done(["label", "no", "n1", "zone=a"])).toBe("node/n1 unchanged\n");
    expect(await world.done([...change, "--overwrite"])).toBe("node/n1 labelled\n");
    expect(await world.stored("/netplug/v3/nodes/")).toMatchObject({ "/netplug/v3/nodes/n1": { metadata: { labels: { zone: "b" } } } });
    await world.done(["label", "node/n1", "zone-"]);
    expect((await world.stored("/netplug/v3/nodes/"))["/netplug/v3/nodes/n1"]).not.toHaveProperty("metadata.labels");
    expect((await world.ctl(["label", "node", "n1", "zone=a b"])).stderr).toContain("metadata.labels.zone");
    expect((await world.ctl(["label", "node", "n1"])).status).toBe(2);
    for (const word of ["zone", "-", "=", "=a", "=a-", ""])
      expect(await world.ctl(["label", "node", "n1", "--", word])).toEqual({
        status: 2,
        stdout: "",
        stderr: `netplugctl: read label "${word}": want KEY=VALUE to set or KEY- to remove\nnext: netplugctl label --help\n`,
      });
    expect((await world.ctl(["label", "node", "n2", "a=b"])).status).toBe(1);
  });

  test.each([
    ["patch", /-p JSON .* KIND NAME$/],
    ["label", / KIND NAME \(KEY=VALUE\|KEY-\)\.\.\.$/],
  ])("help of the program shows %s as its own help does: of one object", async (command, form) => {
    const [, usage = ""] = (await world.done([command, "--help"])).split("\n");
    expect(usage).toMatch(form);
    expect(await world.done(["--help"])).toContain(`${usage}\n`);
  });

  test("a name that ends as the removal of a label does is a name where a label follows", async () => {
    await world.create(resourceYaml("Node", "n1-"));
    expect(await world.done(["label", "node", "n1-", "rack=r2"])).toBe("node/n1- labelled\n");
    expect(await world.done(["label", "node/n1-", "rack-"])).toBe("node/n1- labelled\n");
  });

  test.each([
    { words: "node rack=r2", message: 'got the label "rack=r2" and no name, want KIND NAME or KIND/NAME before it' },
    { words: "node rack-", message: 'got the label "rack-" and no name, want KIND NAME or KIND/NAME before it' },
    { words: "node rack=r2 zone-", message: 'got the label "rack=r2" and no name, want KIND NAME or KIND/NAME before it' },
    { words: "node/rack-", message: "got no label, want KEY=VALUE or KEY-" },
    { words: "node n1 a=1 b=1 a=2", message: 'got label "a" twice, want it once' },
    { words: "node/n1 a=1 a- --overwrite", message: 'got label "a" twice, want it once' },
  ])("label $words is wrong usage", async ({ words, message }) => {
    expect(await world.ctl(["label", ...words.split(" ")])).toEqual({
      status: 2,
      stdout: "",
      stderr: `netplugctl: read arguments: ${message}\nnext: netplugctl label --help\n`,
    });
  });
});

test.each([
  { command: "patch", rest: ["-p", "{}"] },
  { command: "label", rest: ["a=b"] },
])("$command refuses a namespace of what has none, and what is no namespace", async ({ command, rest }) => {
  const refusalOf = async (kind: string, namespace: string): Promise<readonly [status: number, headline: string | undefined]> => {
    const { status, stderr } = await world.ctl([command, kind, "x", "-n", namespace, ...rest]);
    return [status, stderr.split("\n")[0]];
  };
  expect(await refusalOf("tier", "prod")).toEqual([2, 'netplugctl: use namespace "prod": tiers have no namespace']);
  expect(await refusalOf("wep", "a/b")).toEqual([
    2,
    'netplugctl: read option "--namespace": got "a/b", want a DNS name in lower case: letters, digits, `-` and `.`, at most 253',
  ]);
});

/** Each name stands for ten of the one before. */
function aliasesOfAliases(levels: number): string {
  const list = (i: number): string => `a${i + 1}: &a${i + 1} [${Array(10).fill(`*a${i}`).join(", ")}]\n`;
  return `a0: &a0 [x]\n${Array.from({ length: levels }, (_, i) => list(i)).join("")}`;
}
