import { beforeEach, describe, expect, test } from "bun:test";
import { endpointYaml, poolYaml, resourceYaml } from "../support/cli/documents.ts";
import { shareEtcdCliWorld } from "../support/cli/etcd-cli-world.ts";

const world = shareEtcdCliWorld();

beforeEach(() => world.reset());

const NAMESPACE = "want a DNS name in lower case: letters, digits, `-` and `.`, at most 253";
const ENDPOINT = endpointYaml({ containerID: "c1", node: "n1", namespace: "prod", ipNetworks: ["10.65.0.7"] });

describe("create, apply, replace", () => {
  test("create writes the complete object, and initialises the datastore first", async () => {
    expect(await world.done(["create", "-f", "-"], { stdin: poolYaml("blue", "10.65.0.0/16") })).toBe("ippool/blue created\n");
    const stored = await world.stored("/netplug/v3/");
    expect(stored["/netplug/v3/ippools/blue"]).toMatchObject({
      apiVersion: "netplug.io/v3",
      kind: "IPPool",
      metadata: {
        name: "blue",
        uid: expect.stringMatching(/^[0-9a-f-]{36}$/),
        creationTimestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/),
      },
      spec: { cidr: "10.65.0.0/16", blockSize: 26, nodeSelector: "all()", allowedUses: ["Workload", "Tunnel"] },
    });
    expect(stored["/netplug/v3/clusterinformations/default"]).toMatchObject({
      spec: { clusterGUID: expect.stringMatching(/^[0-9a-f]{32}$/), datastoreReady: true },
    });
    expect(Object.keys(stored).filter((key) => key.includes("/tiers/"))).toHaveLength(3);
  });

  test("several documents of one file, YAML and lists, are written in their order", async () => {
    const yaml = `---\n${poolYaml("a", "10.1.0.0/16")}\n---\n# nothing\n---\nkind: IPPoolList\nitems:\n  - ${poolYaml("b", "10.2.0.0/16")}\n  - ${poolYaml("c", "fd00:2::/64")}\n`;
    expect(await world.done(["create", "-f", world.file("pools.yaml", yaml)])).toBe(
      "ippool/a created\nippool/b created\nippool/c created\n",
    );
  });

  test("a folder gives its files by name, several -f give all", async () => {
    world.file("2.json", `${poolYaml("b", "10.2.0.0/16")}\n${poolYaml("c", "10.3.0.0/16")}`);
    world.file("1.yml", poolYaml("a", "10.1.0.0/16"));
    world.file("readme.txt", "not for us");
    expect(await world.done(["create", "-f", world.folder, "-f", "-"], { stdin: poolYaml("d", "10.4.0.0/16") })).toBe(
      "ippool/a created\nippool/b created\nippool/c created\nippool/d created\n",
    );
  });

  test("two documents that say different things of one object are refused, and nothing is written; the same twice is not", async () => {
    const stdin = ["10.65.0.0/16", "10.66.0.0/16"].map((cidr) => poolYaml("blue", cidr)).join("\n---\n");
    for (const command of ["create", "apply", "validate"]) {
      const { status, stderr } = await world.ctl([command, "-f", "-"], { stdin });
      expect([status, stderr]).toEqual([
        1,
        expect.stringContaining(
          'validate IPPool "blue" (stdin, document 2): metadata.name: stdin, document 1 says something else of the same IPPool; want each once\n',
        ),
      ]);
    }
    expect(await world.stored("/netplug/v3/ippools/")).toEqual({});
    const twice = [1, 2].map(() => poolYaml("blue", "10.65.0.0/16")).join("\n---\n");
    expect((await world.ctl(["apply", "-f", "-"], { stdin: twice })).stdout).toBe("ippool/blue created\nippool/blue unchanged\n");
  });

  test.each(["create", "apply", "validate"])("%s refuses pools of one file that overlap, and nothing is written", async (command) => {
    const stdin = [poolYaml("a", "10.1.0.0/16"), poolYaml("b", "10.2.0.0/16"), poolYaml("c", "10.1.8.0/24")].join("\n---\n");
    expect(await world.ctl([command, "-f", "-"], { stdin })).toMatchObject({
      status: 1,
      stderr: expect.stringContaining(
        'validate IPPool "c" (stdin, document 3): spec.cidr: 10.1.8.0/24 overlaps ippool "a" (10.1.0.0/16) of stdin, document 1; choose another CIDR, or leave one of them out\n',
      ),
    });
    expect(await world.stored("/netplug/")).toEqual({});
  });

  test("nothing is written when one of several documents is invalid, and every problem is told", async () => {
    const yaml = `${poolYaml("a", "10.1.0.0/16")}\n---\n${poolYaml("b", "10.2.3.4/16", { natOutgoin: true })}\n`;
    const file = world.file("pools.yaml", yaml);
    const { status, stderr } = await world.ctl(["apply", "-f", file]);
    expect([status, stderr]).toEqual([1, expect.stringContaining("pools.yaml, document 2")]);
    expect(stderr).toContain('host bits are set, want "10.2.0.0/16"');
    expect(stderr).toContain('spec.natOutgoin: unknown field "natOutgoin": the nearest known one is "natOutgoing"');
    expect(stderr).toEndWith(`next: netplugctl validate -f ${file}\n`);
    expect(await world.stored("/netplug/")).toEqual({});
  });

  test("create refuses what exists, with --skip-exists it does not", async () => {
    await world.createPool("blue", "10.65.0.0/16");
    const stdin = poolYaml("blue", "10.65.0.0/16");
    expect(await world.ctl(["create", "-f", "-"], { stdin })).toEqual({
      status: 1,
      stdout: "",
      stderr: 'netplugctl: create ippool "blue": it exists\nnext: netplugctl apply -f FILE\n',
    });
    expect(await world.done(["create", "-f", "-", "--skip-exists"], { stdin })).toBe("ippool/blue exists\n");
  });

  test.each(["create", "apply"])("%s goes on after an object that is refused, and fails", async (command) => {
    await world.createPool("blue", "10.65.0.0/16");
    const stdin = [poolYaml("red", "10.65.0.0/24"), poolYaml("green", "10.66.0.0/16")].join("\n");
    expect(await world.ctl([command, "-f", "-"], { stdin })).toEqual({
      status: 1,
      stdout: "ippool/green created\n",
      stderr: expect.stringMatching(/^stdin, document 1: create ippool "red": .*\nnetplugctl: 1 of 2 objects failed\n$/),
    });
  });

  test("apply creates, changes, and leaves alone what is equal; identity stays", async () => {
    const apply = (more: object): Promise<string> =>
      world.done(["apply", "-f", "-"], { stdin: poolYaml("blue", "10.65.0.0/16", { ...more }) });
    expect(await apply({})).toBe("ippool/blue created\n");
    const before = (await world.stored("/netplug/v3/ippools/"))["/netplug/v3/ippools/blue"] as { metadata: object };
    expect(await apply({})).toBe("ippool/blue unchanged\n");
    expect(await apply({ disabled: true })).toBe("ippool/blue configured\n");
    expect((await world.stored("/netplug/v3/ippools/"))["/netplug/v3/ippools/blue"]).toMatchObject({
      metadata: before.metadata,
      spec: { disabled: true },
    });
  });

  test("replace wants an object that exists, in the version that was read", async () => {
    const stdin = poolYaml("blue", "10.65.0.0/16");
    await world.done(["init"]);
    expect((await world.ctl(["replace", "-f", "-"], { stdin })).stderr).toContain('find ippool "blue": there is none');
    await world.createPool("blue", "10.65.0.0/16");
    const read = await world.done(["get", "ippool", "blue", "-o", "yaml"]);
    expect(await world.done(["replace", "-f", "-"], { stdin: read.replace("natOutgoing: false", "natOutgoing: true") })).toBe(
      "ippool/blue replaced\n",
    );
    const { status, stderr } = await world.ctl(["replace", "-f", "-"], { stdin: read });
    expect(status).toBe(1);
    expect(stderr).toMatch(/got resourceVersion "\d+", and it is "\d+" now/);
  });

  test("what get prints can be applied again", async () => {
    await world.createPool("blue", "10.65.0.0/16");
    await world.createPool("six", "fd00::/64");
    expect(await world.done(["apply", "-f", "-"], { stdin: await world.done(["get", "ipp", "-o", "json"]) })).toBe(
      "ippool/blue unchanged\nippool/six unchanged\n",
    );
    expect(await world.done(["apply", "-f", "-"], { stdin: await world.done(["get", "tiers", "-o", "yaml"]) })).toContain(
      "tier/default unchanged\n",
    );
  });

  test("a namespace of the command line holds for what names none, and must not contradict", async () => {
    const stdin = endpointYaml({ containerID: "c1", node: "n1" });
    await world.done(["create", "-f", "-", "-n", "test"], { stdin });
    expect(Object.keys(await world.stored("/netplug/v3/workloadendpoints/"))).toEqual([
      "/netplug/v3/workloadendpoints/test/n1-cni-c1-eth0",
    ]);
    const { status, stderr } = await world.ctl(["create", "-f", "-", "-n", "test"], { stdin: ENDPOINT });
    expect([status, stderr]).toEqual([1, expect.stringContaining('metadata.namespace: got "prod", want "test"')]);
  });

  test.each([
    ["create", "a/b"],
    ["apply", ".."],
    ["diff", ""],
    ["replace", "Prod"],
    ["validate", "a_b"],
    ["get", "a/b"],
    ["delete", "a/b"],
  ])("%s refuses a namespace of the command line that none can be called: %p", async (verb, namespace) => {
    const stdin = endpointYaml({ containerID: "c1", node: "n1" });
    expect(await world.ctl([verb, "-f", "-", "-n", namespace], { stdin })).toEqual({
      status: 2,
      stdout: "",
      stderr: `netplugctl: read option "--namespace": got "${namespace}", ${NAMESPACE}\nnext: netplugctl ${verb} --help\n`,
    });
    expect(await world.stored("/netplug/v3/workloadendpoints/")).toEqual({});
  });

  test.each([
    ["no-such-file.yaml", "there is no such file"],
    ["{", "want YAML or JSON"],
    ["a: [", "want YAML or JSON"],
    ["", "got no object"],
    ["--- \n---\n", "got no object"],
    ["just words", 'got "just words", want an object with kind'],
    ['{"kind": "IPPool", "kind', "want"],
  ])("input %j: %p", async (input, message) => {
    const isFile = input.endsWith(".yaml");
    const { status, stderr } = await world.ctl(["create", "-f", isFile ? input : "-"], { stdin: input });
    expect([status, stderr]).toEqual([1, expect.stringContaining(message)]);
  });

  test("validate needs no datastore", async () => {
    const env = { ETCD_ENDPOINTS: "http://127.0.0.1:1" };
    expect(await world.done(["validate", "-f", "-"], { env, stdin: poolYaml("a", "10.1.0.0/16") })).toBe("ippool/a valid\n");
    const { status, stdout, stderr } = await world.ctl(["validate", "-f", "-"], {
      env,
      stdin: `${poolYaml("a", "10.1.0.0/16")}\n${poolYaml("b", "x")}`,
    });
    expect([status, stdout, stderr]).toEqual([
      1,
      "ippool/a valid\n",
      expect.stringContaining('validate IPPool "b" (stdin, document 2): spec.cidr: parse prefix'),
    ]);
  });
});

describe("get", () => {
  test("prints one named object bare and several as a list, from what is stored", async () => {
    await world.createPool("blue", "10.65.0.0/16");
    const one = JSON.parse(await world.done(["get", "ippool", "blue", "-o", "json"])) as object;
    const stored = (await world.stored("/netplug/v3/ippools/"))["/netplug/v3/ippools/blue"] as { metadata: object };
    expect(one).toEqual({ ...stored, metadata: { ...stored.metadata, resourceVersion: expect.any(String) } });
    const all = JSON.parse(await world.done(["get", "ippools", "-o", "json"])) as object;
    expect(all).toEqual({ apiVersion: "netplug.io/v3", kind: "IPPoolList", items: [one] });
    expect(Bun.YAML.parse(await world.done(["get", "ipp", "blue", "-o", "yaml"]))).toEqual(one);
  });

  test("a missing object is status 1 and does not hide the others", async () => {
    await world.createPool("blue", "10.65.0.0/16");
    const { status, stdout, stderr } = await world.ctl(["get", "ipp", "red", "blue", "-o", "name"]);
    expect([status, stdout, stderr]).toEqual([
      1,
      "ippool/blue\n",
      'netplugctl: find ippool "red": there is none\nnext: netplugctl get ippools\n',
    ]);
  });

  test("tiers are shown in the order in which they are asked", async () => {
    await world.done(["init"]);
    await world.create(resourceYaml("Tier", "b"), resourceYaml("Tier", "a"), resourceYaml("Tier", "z", { order: 1 }));
    expect(await world.done(["get", "tiers", "-o", "name"])).toBe(
      "tier/z\ntier/kube-admin\ntier/default\ntier/kube-baseline\ntier/a\ntier/b\n",
    );
  });

  test("an endpoint that is missing is named with its namespace, and with what lists the others", async () => {
    for (const [argv, name] of [
      [["get", "wep", "x"], "default/x"],
      [["delete", "wep/x", "-n", "prod"], "prod/x"],
    ] as const) {
      expect(await world.ctl(argv)).toEqual({
        status: 1,
        stdout: "",
        stderr: `netplugctl: find workloadendpoint "${name}": there is none\nnext: netplugctl get workloadendpoints -A -o wide\n`,
      });
    }
  });

  test("what to do next is about the kind that is missing", async () => {
    await world.createPool("blue", "10.65.0.0/16");
    const { status, stdout, stderr } = await world.ctl(["get", "ippool/blue", "node/n1", "-o", "name"]);
    expect([status, stdout]).toEqual([1, "ippool/blue\n"]);
    expect(stderr).toBe('netplugctl: find node "n1": there is none\nnext: netplugctl get nodes\n');
  });

  test("tables line up, and stand out on a terminal only", async () => {
    await world.createPool("blue", "10.65.0.0/16");
    await world.createPool("a-longer-name", "10.66.0.0/16", { nodeSelector: "has(x)" });
    const table = "NAME            CIDR           SELECTOR\na-longer-name   10.66.0.0/16   has(x)\nblue            10.65.0.0/16   all()\n";
    expect(await world.done(["get", "pools"])).toBe(table);
    expect(await world.done(["get", "pools"], { isTerminal: true })).toBe(
      table.replace("NAME            CIDR           SELECTOR", "\x1b[1m$&\x1b[22m"),
    );
  });

  test("custom columns follow paths, or take a column that the kind has", async () => {
    await world.createPool("blue", "10.65.0.0/16");
    await world.done(["label", "ipp", "blue", "netplug.io/zone=z1"]);
    const spec = String.raw`custom-columns=N:.metadata.name,ZONE:.metadata.labels.netplug\.io/zone,USE:{.spec.allowedUses[0]},ALL:.spec.allowedUses[*],X:.spec.x,BLOCKSIZE`;
    const [header, row] = (await world.done(["get", "ipp", "-o", spec])).split("\n");
    expect(header).toMatch(/^N +ZONE +USE +ALL +X +BLOCKSIZE$/);
    expect(row).toMatch(/^blue +z1 +Workload +Workload,Tunnel +<none> +26$/);
    expect((await world.ctl(["get", "ipp", "-o", "custom-columns=NOPE"])).status).toBe(2);
  });

  test("namespaced objects that stand in a file are looked for each in its own namespace", async () => {
    const others = ["prod", "test", "test"].map((namespace, index) =>
      endpointYaml({ containerID: `c${index + 2}`, node: "n1", namespace, ipNetworks: [] }),
    );
    const stdin = [ENDPOINT, ...others].join("\n");
    await world.create(stdin);
    const names = ["c1", "c2", "c3", "c4"].map((containerID) => `workloadendpoint/n1-cni-${containerID}-eth0\n`);
    expect(await world.done(["get", "-f", "-", "-o", "name"], { stdin })).toBe(names.join(""));
  });

  test("namespaced objects are shown of one namespace, or of all with it", async () => {
    await world.create(ENDPOINT);
    expect((await world.ctl(["get", "wep"])).stderr).toBe('no workloadendpoints found in namespace "default"\n');
    expect((await world.ctl(["get", "wep", "-A", "-l", "a=b"])).stderr).toBe('no workloadendpoints found with --selector "a=b"\n');
    expect(await world.done(["get", "wep", "-n", "prod"])).toMatch(/^WORKLOAD +NODE +NETWORKS +INTERFACE\nc1 +n1 +10\.65\.0\.7\/32\n$/);
    expect(await world.done(["get", "wep", "-A"])).toMatch(/^NAMESPACE +WORKLOAD.*\nprod +c1 /);
    expect((await world.ctl(["get", "wep", "-A", "-n", "prod"])).status).toBe(2);
    expect((await world.ctl(["get", "ipp", "-n", "prod"])).status).toBe(2);
  });

  test.each([
    { argv: ["get", "ipp", ".."], message: 'read arguments: got the name "..", which no object can have' },
    { argv: ["get", "ipp", ""], message: 'read arguments: got the name "", which no object can have' },
    { argv: ["get", "ipp/."], message: 'read arguments: got the name ".", which no object can have' },
    { argv: ["delete", "ipp", "a", ".."], message: 'read arguments: got the name "..", which no object can have' },
    { argv: ["label", "ipp", "..", "a=b"], message: 'read arguments: got the name "..", which no object can have' },
    { argv: ["patch", "ipp", "..", "-p", "{}"], message: 'read arguments: got the name "..", which no object can have' },
    { argv: ["delete", "-f", "-", "ipp", "a"], message: "read arguments: want either -f or KIND NAME…" },
    { argv: ["get", "-f", "-", "ipp", "a"], message: "read arguments: want either -f or KIND [NAME…]" },
    { argv: ["patch", "ipp", "-p", "{}"], message: "read arguments: want KIND NAME or KIND/NAME" },
    { argv: ["label", "ipp"], message: "read arguments: want KIND NAME or KIND/NAME" },
    { argv: ["label", ""], message: "read arguments: want KIND NAME or KIND/NAME" },
    { argv: ["get", "wep", "-n", ".."], message: `read option "--namespace": got "..", ${NAMESPACE}` },
    { argv: ["get", "wep", "-n", ""], message: `read option "--namespace": got "", ${NAMESPACE}` },
    { argv: ["get", "wep", "a", "-n", "a/b"], message: `read option "--namespace": got "a/b", ${NAMESPACE}` },
    { argv: ["get", "wep", "a", "-n", "Prod"], message: `read option "--namespace": got "Prod", ${NAMESPACE}` },
    {
      argv: ["get", "wep", "-n", "a".repeat(254)],
      message: `read option "--namespace": got "${"a".repeat(200)}…" (254 characters), ${NAMESPACE}`,
    },
    { argv: ["delete", "wep", "a", "-n", "../x"], message: `read option "--namespace": got "../x", ${NAMESPACE}` },
  ])("$argv is wrong usage, whatever the datastore", async ({ argv, message }) => {
    const expected = { status: 2, stdout: "", stderr: `netplugctl: ${message}\nnext: netplugctl ${argv[0]} --help\n` };
    expect(await world.ctl(argv)).toEqual(expected);
    const kubernetes = { ETCD_ENDPOINTS: undefined, DATASTORE_TYPE: "kubernetes", K8S_API_ENDPOINT: "http://127.0.0.1:1" };
    expect(await world.ctl(argv, { env: kubernetes })).toEqual(expected);
  });

  test("control characters that somebody stored do not reach the terminal", async () => {
    await world.etcd.ctl(["put", "/netplug/v3/nodes/%1B%5B2Jevil", JSON.stringify({ kind: "Node", metadata: { name: "evil" }, spec: {} })]);
    expect(await world.done(["get", "nodes"])).toContain("\\u{1b}[2Jevil");
    expect(await world.done(["get", "nodes", "-o", "name"])).toBe("node/\\u{1b}[2Jevil\n");
    expect(await world.done(["__complete", "get", "node", ""])).toBe("");
  });
});

describe("pools", () => {
  test.each([
    ["10.65.0.0/16", "10.65.128.0/17"],
    ["10.65.128.0/17", "10.65.0.0/16"],
    ["fd00::/48", "fd00::/64"],
  ])("a pool %p forbids %p, whichever is disabled", async (first, second) => {
    await world.createPool("first", first, { disabled: true });
    const { status, stderr } = await world.ctl(["create", "-f", "-"], { stdin: poolYaml("second", second) });
    expect([status, stderr]).toEqual([1, expect.stringContaining(`${second} overlaps ippool "first" (${first})`)]);
    expect((await world.ctl(["apply", "-f", "-"], { stdin: poolYaml("second", second) })).status).toBe(1);
    expect(Object.keys(await world.stored("/netplug/v3/ippools/"))).toEqual(["/netplug/v3/ippools/first"]);
  });

  test("host bits are refused with the CIDR that was meant", async () => {
    const { status, stderr } = await world.ctl(["create", "-f", "-"], { stdin: poolYaml("a", "10.65.3.9/16") });
    expect([status, stderr]).toEqual([1, expect.stringContaining('host bits are set, want "10.65.0.0/16"')]);
  });
});

test("a pool that somebody wrote without a CIDR can be repaired and deleted", async () => {
  await world.done(["init"]);
  const broken = { apiVersion: "netplug.io/v3", kind: "IPPool", metadata: { name: "broken" }, spec: {} };
  await world.etcd.ctl(["put", "/netplug/v3/ippools/broken", JSON.stringify(broken)]);
  expect(await world.done(["get", "pools"])).toContain("broken");
  await world.createPool("sound", "10.45.0.0/24");
  expect(await world.ctl(["label", "pool", "broken", "a=b"])).toMatchObject({
    status: 1,
    stderr: expect.stringContaining("spec.cidr: is missing"),
  });
  expect(await world.done(["patch", "pool", "broken", "-p", '{"spec":{"cidr":"10.44.0.0/24"}}'])).toBe("ippool/broken patched\n");
  await world.etcd.ctl(["put", "/netplug/v3/ippools/broken", JSON.stringify(broken)]);
  expect(await world.done(["delete", "pool", "broken"])).toBe("ippool/broken deleted\n");
});

test("a pool that is being deleted is disabled first, and nothing else of it changes", async () => {
  await world.createPool("blue", "10.65.0.0/16", { natOutgoing: true, blockSize: 28 });
  const key = "/netplug/v3/ippools/blue";
  const { [key]: before } = (await world.stored(key)) as Record<string, { readonly spec: object }>;
  await world.done(["delete", "ipp", "blue"]);
  // etcd keeps what was there before its last write.
  const { header } = JSON.parse(await world.etcd.ctl(["get", key, "-w", "json"])) as { readonly header: { readonly revision: number } };
  const last = await world.etcd.ctl(["get", key, `--rev=${header.revision - 1}`, "--print-value-only"]);
  expect(JSON.parse(last)).toEqual({ ...before, spec: { ...before?.spec, disabled: true } });
});

test("what has the name of a built-in tier, and is none, can be deleted", async () => {
  for (const kind of ["Profile", "IPReservation"]) {
    await world.create(resourceYaml(kind, "default", kind === "Profile" ? {} : { reservedCIDRs: [] }));
    expect(await world.done(["delete", kind, "default"])).toBe(`${kind.toLowerCase()}/default deleted\n`);
  }
});

test("delete takes objects by name and by file, and tells what it did not find", async () => {
  await world.createPool("a", "10.1.0.0/16");
  await world.createPool("b", "10.2.0.0/16");
  await world.createPool("c", "10.3.0.0/16");
  expect(await world.ctl(["delete", "ipp", "a", "nope", "c"])).toEqual({
    status: 1,
    stdout: "ippool/a deleted\nippool/c deleted\n",
    stderr: 'find ippool "nope": there is none\nnetplugctl: 1 of 3 objects were not deleted\n',
  });
  expect(
    await world.done(["delete", "-f", "-", "--ignore-not-found"], {
      stdin: `${poolYaml("a", "10.1.0.0/16")}\n${poolYaml("b", "10.2.0.0/16")}`,
    }),
  ).toBe("ippool/b deleted\n");
  expect(await world.stored("/netplug/v3/ippools/")).toEqual({});
  expect((await world.ctl(["delete", "ipp"])).status).toBe(2);
  for (const names of [["default"], ["nope", "default"]])
    expect(await world.ctl(["delete", "tier", ...names, "--ignore-not-found"])).toMatchObject({
      status: 1,
      stderr: expect.stringContaining('delete tier "default": it is built in'),
    });
});
