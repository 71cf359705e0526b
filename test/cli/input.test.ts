import { describe, expect, test } from "bun:test";
import { mkdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { poolYaml } from "../support/cli/documents.ts";
import { shareEtcdCliWorld } from "../support/cli/etcd-cli-world.ts";

const world = shareEtcdCliWorld();

async function validate(stdin: string): Promise<readonly [status: number, stdout: string, stderr: string]> {
  const { status, stdout, stderr } = await world.ctl(["validate", "-f", "-"], { stdin });
  return [status, stdout, stderr];
}

/** Of its own by the first letter of the name. */
const cidrOf = (name: string): string => `10.${name.charCodeAt(0)}.0.0/16`;

const pool = (name: string, spec = `cidr: ${cidrOf(name)}`): string =>
  `apiVersion: netplug.io/v3\nkind: IPPool\nmetadata: {name: ${name}}\nspec: {${spec}}\n`;

describe("several documents", () => {
  test.each([
    ["YAML", `---\n${pool("a")}--- # next\n# nothing but a comment\n---\n${pool("b")}...\n---\n${pool("c")}`],
    ["YAML with the line ends of Windows", `${pool("a")}---\n${pool("b")}---\n${pool("c")}`.replaceAll("\n", "\r\n")],
    ["JSON one after the other", `${poolYaml("a", "10.1.0.0/16")}${poolYaml("b", "10.2.0.0/16")}\n\n${poolYaml("c", "10.3.0.0/16")}`],
    ["JSON between the marks of YAML", ["a", "b", "c"].map((name) => `${poolYaml(name, cidrOf(name))}\n`).join("---\n")],
    ["YAML in braces", ["a", "b", "c"].map((name) => `{${pool(name).trimEnd().replaceAll("\n", ", ")}}\n`).join("---\n")],
    ["a list", `kind: List\napiVersion: v1\nitems: [${["a", "b", "c"].map((name) => poolYaml(name, cidrOf(name))).join(", ")}]`],
  ])("as %s are all read", async (_, stdin) => {
    expect(await validate(stdin)).toEqual([0, "ippool/a valid\nippool/b valid\nippool/c valid\n", ""]);
  });

  test("a folder gives its YAML and JSON files by name, and nothing of what else is in it", async () => {
    mkdirSync(join(world.folder, "pools/deeper"), { recursive: true });
    mkdirSync(join(world.folder, "pools/folder.yaml"));
    world.file("pools/b.json", poolYaml("b", "10.2.0.0/16"));
    world.file("pools/a.yaml", pool("a"));
    world.file("pools/c.yml", pool("c"));
    world.file("pools/notes.txt", "no pool");
    world.file("pools/deeper/d.yaml", pool("d"));
    const folder = join(world.folder, "pools");
    expect(await world.done(["validate", "-f", folder])).toBe("ippool/a valid\nippool/b valid\nippool/c valid\n");
    expect(await world.done(["validate", "-f", folder, "-f", "-"], { stdin: pool("e") })).toEndWith("ippool/e valid\n");
  });

  test("a link that leads in a circle is named, as what is given and as a file of a folder", async () => {
    const folder = join(world.folder, "circle");
    const loop = join(folder, "a.yaml");
    mkdirSync(folder);
    symlinkSync(loop, loop);
    const stderr = `netplugctl: read "${loop}": its symbolic links lead in a circle, or are more than 40; want a file\n`;
    for (const [command, path] of [
      ["apply", loop],
      ["validate", loop],
      ["validate", folder],
    ] as const)
      expect(await world.ctl([command, "-f", path])).toEqual({ status: 1, stdout: "", stderr });
    expect((await world.ctl(["diff", "-f", loop])).status).toBe(2);
  });

  test("a path that is too long is named by what reads it", async () => {
    const path = join(world.folder, `${"a".repeat(300)}.yaml`);
    const stderr = expect.stringMatching(/^netplugctl: read "\/.*a…" \(\d+ characters\): ENAMETOOLONG \(file name too long\)\n$/);
    expect(await world.ctl(["validate", "-f", path])).toEqual({ status: 1, stdout: "", stderr });
  });

  test("a file of a folder is named in one way, however many slashes end the folder's name", async () => {
    mkdirSync(join(world.folder, "slashes"));
    world.file("slashes/a.yaml", "[]");
    const folder = join(world.folder, "slashes");
    for (const end of ["", "/", "//"])
      expect((await world.ctl(["validate", "-f", `${folder}${end}`])).stderr).toStartWith(`validate input (${folder}/a.yaml): `);
  });

  test("one that breaks the rules among good ones stops all of them, and is named", async () => {
    const stdin = `${pool("a")}---\n${pool("b", "cidr: 10.66.0.0/99, foo: 1")}---\n${pool("c", "cidr: 10.67.0.0/16")}`;
    const { status, stderr } = await world.ctl(["create", "-f", "-"], { stdin });
    expect([status, stderr]).toEqual([
      1,
      expect.stringMatching(/^netplugctl: validate IPPool "b" \(stdin, document 2\):\n {2}spec\.foo: .*\n {2}spec\.cidr: /),
    ]);
    expect(await world.stored("/netplug/v3/ippools/")).toEqual({});
  });

  test.each([
    ["Nope", 2, 'kind: got "Nope", want IPPool, IPReservation, '],
    ["ippool", 2, 'kind: got "ippool", want IPPool, IPReservation, '],
    ["IPAMBlock", 1, 'kind: got "IPAMBlock", which only the system writes'],
    ["", 1, "kind: got nothing, want IPPool, IPReservation, "],
  ])("one of the kind %p among good ones ends each command with status %p, and nothing is written", async (kind, status, message) => {
    const stdin = `${pool("a")}---\n${pool("b").replace("IPPool", kind)}---\n${pool("c", "cidr: nonsense")}`;
    await world.create(pool("old"));
    for (const command of ["apply", "create", "replace", "delete", "validate"]) {
      const result = await world.ctl([command, "-f", "-"], { stdin });
      expect([command, result.status, result.stderr]).toEqual([command, status, expect.stringContaining(message)]);
      expect(result.stderr).toContain('validate IPPool "c" (stdin, document 3)');
    }
    expect(Object.keys(await world.stored("/netplug/v3/ippools/"))).toEqual(["/netplug/v3/ippools/old"]);
    await world.done(["delete", "ipp", "old"]);
  });

  test.each([
    [`${pool("a")}---\nkind: IPPool\nmetadata: {name: b\nspec: {}\n---\n${pool("c")}`, "line 8, column 1: bad indentation, or a bracket"],
    [`${pool("a")}---\nmetadata:\n\tname: b\n`, "line 7, column 1: tab characters must not"],
    ["a: *nowhere\n", 'line 1, column 5: unidentified alias "nowhere"; want YAML or JSON'],
    ["\n# a\na: 1\nb: [1\n", "line 5, column 1: "],
    [`${pool("a")}# K\xf6ln\n`.replace("\xf6", "\ufffd"), "line 5, column 4: got bytes that are no UTF-8"],
  ])("one that is no YAML is told with its place: %j", async (stdin, place) => {
    expect(await validate(stdin)).toEqual([1, "", expect.stringContaining(`read stdin: ${place}`)]);
  });
});

test.each([
  ["none.yaml", 'read "none.yaml": there is no such file\n'],
  ["https://example.com/pools.yaml", "there is no such file; of a URL give what it serves: curl -fsS URL | … -f -\n"],
  ["/dev/null/", 'netplugctl: read "/dev/null/": there is no such file\n'],
  ["/dev/null/pools.yaml", 'netplugctl: read "/dev/null/pools.yaml": there is no such file\n'],
  ["/dev/null", "read /dev/null: got no object, want at least one in YAML or JSON\n"],
])("what -f %s cannot give is told", async (source, message) => {
  expect(await world.ctl(["create", "-f", source])).toMatchObject({ status: 1, stdout: "", stderr: expect.stringContaining(message) });
});

test("a folder in the place of a file is told, and what is wanted", async () => {
  mkdirSync(join(world.folder, "empty/deeper.yaml"), { recursive: true });
  const folder = join(world.folder, "empty");
  expect((await world.ctl(["validate", "-f", folder])).stderr).toBe(
    `netplugctl: read ${folder}: got no object, want at least one in YAML or JSON; of a folder the files .yaml, .yml and .json are read, and no folders in it\n`,
  );
  for (const [what, words, env] of [
    ["config file ", ["get", "ipp", "-c", folder], {}],
    ["", ["ipam", "release", "--from-report", folder], {}],
    ["kubeconfig ", ["get", "ipp"], { DATASTORE_TYPE: "kubernetes", KUBECONFIG: folder }],
  ] as const)
    expect(await world.ctl(words, { env: { ETCD_ENDPOINTS: undefined, ...env } })).toMatchObject({
      status: 1,
      stderr: expect.stringContaining(`netplugctl: read ${what}"${folder}": it is a folder, want a file\n`),
    });
});

test("so is one in the place of a certificate, key or token", async () => {
  const { folder } = world;
  const user = (name: string, fields: object): { readonly DATASTORE_TYPE: string; readonly KUBECONFIG: string } => {
    const context = { "current-context": "c", contexts: [{ name: "c", context: { cluster: "k", user: "u" } }] };
    const servers = { clusters: [{ name: "k", cluster: { server: "https://127.0.0.1:1" } }], users: [{ name: "u", user: fields }] };
    return { DATASTORE_TYPE: "kubernetes", KUBECONFIG: world.file(name, JSON.stringify({ ...context, ...servers })) };
  };
  const pem = world.file("cert.pem", "-----BEGIN CERTIFICATE-----\n");
  const etcd = { ETCD_ENDPOINTS: "https://127.0.0.1:1" };
  const kube = { DATASTORE_TYPE: "kubernetes", K8S_API_ENDPOINT: "https://127.0.0.1:1" };
  for (const [env, what, whose] of [
    [{ ...etcd, ETCD_CA_CERT_FILE: folder }, "ETCD_CA_CERT_FILE", ""],
    [{ ...etcd, ETCD_CERT_FILE: folder, ETCD_KEY_FILE: folder }, "ETCD_CERT_FILE", ""],
    [{ ...etcd, ETCD_CERT_FILE: pem, NETPLUG_ETCD_KEY_FILE: folder }, "NETPLUG_ETCD_KEY_FILE", ""],
    [{ ...kube, K8S_CA_FILE: folder }, "certificate authority", " of K8S_CA_FILE"],
    [user("kubeconfig-1", { "client-certificate": pem, "client-key": folder }), "client-key", ' of user "u" in kubeconfig'],
    [user("kubeconfig-2", { tokenFile: folder }), "token file", ' of user "u" in kubeconfig'],
  ] as const) {
    const { status, stderr } = await world.ctl(["get", "ipp"], { env: { ETCD_ENDPOINTS: undefined, ...env } });
    expect([status, stderr]).toEqual([1, expect.stringContaining(`netplugctl: read ${what} "${folder}"${whose}`)]);
    expect(stderr).toContain(": it is a folder, want a file");
  }
});

test("a config file that is too large is called so, however it comes", async () => {
  const large = world.file("large", "x".repeat(1024 * 1024 + 1));
  const pipe = join(world.folder, "large-pipe");
  expect(Bun.spawnSync(["mkfifo", pipe]).exitCode).toBe(0);
  await using _writer = Bun.spawn(["sh", "-c", 'cat "$0" >"$1"', large, pipe]);
  for (const path of [large, pipe])
    expect((await world.ctl(["get", "ipp", "-c", path])).stderr).toBe(
      `netplugctl: read config file "${path}": got more than 1048576 bytes, want fewer\n`,
    );
});

test("a config file that comes by a pipe is waited for, and read once by a command that wants it twice", async () => {
  await world.done(["init"]);
  const fifo = join(world.folder, "config");
  expect(Bun.spawnSync(["mkfifo", fifo]).exitCode).toBe(0);
  const text = `kind: NetplugAPIConfig\nspec: {etcdEndpoints: '${world.etcd.endpoint}'}\n`;
  for (const command of [
    ["get", "tiers"],
    ["get", "wep"],
    ["delete", "wep", "none", "--ignore-not-found"],
  ]) {
    await using writer = Bun.spawn(["sh", "-c", 'exec > "$0"; echo "# slow"; sleep 0.2; printf %s "$1"', fifo, text]);
    await world.done([...command, "-c", fifo], { env: { ETCD_ENDPOINTS: undefined } });
    expect(await writer.exited).toBe(0);
  }
});

test("a config file may come from stdin, and messages call it so", async () => {
  const env = { ETCD_ENDPOINTS: undefined };
  const ask = (spec: string) => world.ctl(["get", "wep", "-A", "-c-"], { env, stdin: `kind: NetplugAPIConfig\nspec: {${spec}}\n` });
  expect(await ask(`etcdEndpoints: '${world.etcd.endpoint}'`)).toMatchObject({ status: 0 });
  expect((await ask("etcdEndpoint: x")).stderr).toStartWith("netplugctl: read config file stdin: spec: unknown field");
  expect((await ask("etcdEndpoints: 'http://a:b'")).stderr).toStartWith('netplugctl: parse etcdEndpoints in stdin "http://a:b": want');
});

test("stdin that is named in two places is refused, and nothing is written", async () => {
  await world.done(["init"]);
  const stdin = JSON.stringify({
    apiVersion: "netplug.io/v3",
    kind: "IPPool",
    metadata: { name: "twice" },
    spec: { cidr: "10.31.0.0/16" },
  });
  for (const line of ["apply -c - -f -", "apply -f - -f -", "validate -f - -f -", "ipam release -c - --from-report -"]) {
    const input = line.includes("report") ? '{"problems":[]}' : stdin;
    const { status, stderr } = await world.ctl(line.split(" "), { stdin: input });
    expect([line, status, stderr]).toEqual([line, 2, expect.stringContaining("netplugctl: read stdin: got it twice, want it once\n")]);
  }
  expect((await world.ctl(["get", "ipp", "twice"])).status).toBe(1);
});

test("a command that is proposed names the files that were named", async () => {
  const file = world.file("two words.yaml", pool("twofold"));
  await world.done(["create", "-f", file]);
  const nextOf = async (line: string): Promise<string | undefined> =>
    (await world.ctl([...line.split(" "), "-f", file])).stderr.split("\n").find((text) => text.startsWith("next: "));
  expect(await nextOf("create -n shop")).toBe(`next: netplugctl apply -f '${file}' -n shop`);
  world.file("two words.yaml", pool("twofold", "cidr: 10.31.0.1/16"));
  for (const command of ["create", "apply", "replace", "diff", "delete", "get"])
    expect([command, await nextOf(`${command} -n shop`)]).toEqual([command, `next: netplugctl validate -f '${file}' -n shop`]);
  expect(await nextOf("apply")).toBe(`next: netplugctl validate -f '${file}'`);
});

test("of a kubeconfig that cannot be read the reason is told", async () => {
  const loop = join(world.folder, "loop");
  symlinkSync(loop, loop);
  const { stderr } = await world.ctl(["get", "ipp"], {
    env: { ETCD_ENDPOINTS: undefined, KUBECONFIG: loop, DATASTORE_TYPE: "kubernetes" },
  });
  const reason = `open "${loop}": ELOOP (too many levels of symbolic links)`;
  expect(stderr).toStartWith(`netplugctl: read kubeconfig "${loop}": it cannot be read\n  ${reason}\n  the kubeconfig is the one`);
});

test("of an address that is refused for a leading zero, the reason is told", async () => {
  const reason = "; without leading zeros, which some programs read as octal\n";
  const [, , stderr] = await validate(pool("x", "cidr: 010.240.0.0/20"));
  expect(stderr).toBe(`validate IPPool "x" (stdin): spec.cidr: parse prefix: got "010.240.0.0/20", want address/length${reason}`);
  for (const words of [
    ["ipam", "show", "--ip=10.0.0.010"],
    ["ipam", "release", "--ip=10.0.0.010"],
    ["ipam", "split", "2", "--cidr=010.0.0.0/16"],
  ])
    expect((await world.ctl(words)).stderr).toContain(reason);
});

test("of an address in another form that is not taken, too", async () => {
  const reasons = {
    "::ffff:10.0.0.1": "IPv4 alone, or IPv6 in hexadecimal digits only",
    "fe80::1%eth0": "without a zone, which means something on one host only",
  };
  for (const [text, reason] of Object.entries(reasons))
    expect((await world.ctl(["ipam", "show", `--ip=${text}`])).stderr).toStartWith(
      `netplugctl: read option "--ip": parse address: got "${text}", want IPv4 or IPv6; ${reason}\n`,
    );
});

test("whoever asks for a pool by its CIDR, or for a block by one that is not taken, is told why there is none", async () => {
  await world.done(["init"]);
  for (const [words, reason] of [
    ["ipp 010.30.0.0/16", "a pool is asked for by its name, and not by its CIDR"],
    ["ippool/10.30.0.0/16 ipamblock/none", "a pool is asked for by its name, and not by its CIDR"],
    ["ipreservation 10.30.0.0/24", "a reservation is asked for by its name, and not by its CIDR"],
    ["ipamblock 10.30.0.0/26 010.30.0.0/26", "without leading zeros, which some programs read as octal"],
    ["block ::ffff:10.0.0.0/122", "IPv4 alone, or IPv6 in hexadecimal digits only"],
  ] as const)
    expect((await world.ctl(["get", ...words.split(" ")])).stderr).toContain(`: there is none; ${reason}\n`);
  for (const words of ["delete ipp fd00::/64", "label ipp 10.30.0.0/16 a=b", "patch ipp 10.30.0.0/16 -p {}"])
    expect((await world.ctl(words.split(" "))).stderr).toContain(": there is none; a pool is asked for by its name, and not by its CIDR\n");
  expect((await world.ctl(["delete", "ipr", "fd00::/64"])).stderr).toContain(
    ": there is none; a reservation is asked for by its name, and not by its CIDR\n",
  );
  for (const words of ["ipp blue", "ipp fe/12", "ipamblock 10.30.0.0/26", "node 10.30.0.0/16"])
    expect((await world.ctl(["get", ...words.split(" ")])).stderr).toContain(": there is none\n");
});

test("whoever names a file in the place of a patch is told how to give it", async () => {
  const wanted = 'want JSON or YAML; of a file give what is in it: -p "$(cat FILE)"';
  for (const name of ["@p.json", "p.yaml", "./P.YML"])
    for (const type of ["strategic", "json"])
      expect((await world.ctl(["patch", "ipp", "blue", `-p${name}`, "--type", type])).stderr).toStartWith(
        `netplugctl: read option "--patch": got "${name}", ${wanted}\n`,
      );
  expect((await world.ctl(["patch", "ipp", "blue", "--patch-file", "p.json"])).stderr).toBe(
    'netplugctl: read option "--patch-file": there is none\nnext: netplugctl patch KIND NAME -p "$(cat FILE)"\n',
  );
});

describe("hostile input gets one clear line:", () => {
  /** Each name stands for ten of the one before. */
  const bomb = (levels: number): string =>
    `a0: &a0 [x]\n${Array.from({ length: levels }, (_, i) => `a${i + 1}: &a${i + 1} [${Array.from({ length: 10 }, () => `*a${i}`).join(", ")}]\n`).join("")}`;

  test.each<[string, string, string]>([
    ["aliases of aliases", `${bomb(12)}${pool("x")}`, "got more than 1000000 values, want fewer"],
    ["aliases just below that", `${bomb(4)}${pool("x")}`, "unknown field"],
    ["an object inside itself", "a: &a {b: *a}\n", "more than 64 levels"],
    ["deep lists", `a: ${"[".repeat(100_000)}`, "more than 100 levels inside each other"],
    ["deep JSON", `{"a": ${"[".repeat(100_000)}${"]".repeat(100_000)}}`, "more than 64 levels of nesting"],
    [
      "deep indentation",
      Array.from({ length: 5_000 }, (_, i) => `${" ".repeat(i)}a:`).join("\n"),
      "more than 100 levels inside each other",
    ],
    ["20 MB", `a: ${"x".repeat(20_000_000)}`, "got more than 16777216 characters, want fewer"],
    ["bytes that are no text", String.fromCharCode(...Array.from({ length: 256 }, (_, i) => i)), "want YAML or JSON"],
    [
      "a key that appears twice",
      `${pool("x")}spec: {cidr: 10.66.0.0/16}\n`,
      'read stdin: line 5, column 1: the key "spec" appears twice in one object',
    ],
    [
      "a key that appears twice in braces",
      pool("x", "cidr: 10.1.0.0/16, cidr: 10.2.0.0/16"),
      'line 4, column 27: the key "cidr" appears twice',
    ],
    [
      "a key that appears twice in JSON",
      '{\n"kind": "IPPool",\n"kind": "Tier"\n}',
      'read stdin: line 3, column 2: the key "kind" appears twice in one object',
    ],
    [
      "a key that appears twice in the second of several objects",
      `${poolYaml("x", "10.1.0.0/16")}${poolYaml("y", "10.2.0.0/16").replace("{", '{"kind": "Tier", ')}`,
      'read stdin, document 2: line 1, column 48: the key "kind" appears twice in one object',
    ],
    [
      "a selector that YAML takes for a tag",
      pool("x", "cidr: 10.1.0.0/16").replace("{cidr", "\n  nodeSelector: !has(gpu)\n  cidr").replace("16}", "16"),
      'line 5, column 17: a text that begins with "!" needs quotes in YAML',
    ],
    ["keys of JavaScript's own", pool("x", "cidr: 10.1.0.0/16, __proto__: {disabled: true}"), 'spec.__proto__: unknown field "__proto__"'],
  ])("%s", async (_, stdin, message) => {
    const [status, stdout, stderr] = await validate(stdin);
    expect([status, stdout]).toEqual([1, ""]);
    expect(stderr).toContain(message);
    expect(stderr.length).toBeLessThan(1_000);
  });

  test.each(["create", "apply"])("an object larger than the datastore takes, by %s", async (command) => {
    if (command === "apply") await world.create(poolYaml("x", "10.1.0.0/16"));
    const stdin = JSON.stringify({
      ...(JSON.parse(poolYaml("x", "10.1.0.0/16")) as object),
      metadata: { name: "x", annotations: { a: "y".repeat(2_000_000) } },
    });
    const { status, stderr } = await world.ctl([command, "-f", "-"], { stdin });
    expect([status, stderr]).toEqual([
      1,
      expect.stringMatching(/^netplugctl: write ippool "x": got 20\d{5} bytes, want at most 1048576\n/),
    ]);
  });
});
