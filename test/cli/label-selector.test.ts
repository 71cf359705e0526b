/** `get -l` on both datastores: the same objects, and those that kubectl finds. */

import { describe, expect, test as always } from "bun:test";
import { shareEtcdCliWorld } from "../support/cli/etcd-cli-world.ts";
import { shareKubernetesCliWorld } from "../support/cli/kubernetes-cli-world.ts";
import { createNode, createPod } from "../support/servers/kubernetes.ts";

const LABELS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  bare: {},
  db: { rack: "r1", tier: "db" },
  gpu: { rack: "", "netplug.test/gpu": "x" },
  high: { size: "9223372036854775807" },
  in: { rack: "r2", in: "notin" },
  low: { size: "007" },
  over: { size: "9223372036854775808" },
  word: { size: "5_6" },
  web: { rack: "r2", tier: "web" },
};

const POOLS = Object.entries(LABELS).map(([name, labels], index) =>
  JSON.stringify({ apiVersion: "netplug.io/v3", kind: "IPPool", metadata: { name, labels }, spec: { cidr: `10.${index}.0.0/16` } }),
);

const etcd = shareEtcdCliWorld((etcd) => etcd.create(...POOLS));
const [test, kube] = shareKubernetesCliWorld(async (kube) => {
  await kube.done(["init"]);
  await kube.create(...POOLS);
});

const GOOD: readonly (readonly [selector: string, pools: readonly string[]])[] = [
  ["rack=r2", ["in", "web"]],
  [" rack == r2 , tier = web ", ["web"]],
  ["rack!=r2", ["bare", "db", "gpu", "high", "low", "over", "word"]],
  ["rack=", ["gpu"]],
  ["rack in (r1, r2)", ["db", "in", "web"]],
  ["rack in(,r1),tier", ["db"]],
  ["rack in ()", ["gpu"]],
  ["rack notin (r2)", ["bare", "db", "gpu", "high", "low", "over", "word"]],
  ["tier notin (db),rack", ["gpu", "in", "web"]],
  ["netplug.test/gpu", ["gpu"]],
  ["!netplug.test/gpu,!tier", ["bare", "high", "in", "low", "over", "word"]],
  ["! rack", ["bare", "high", "low", "over", "word"]],
  ["in in (in,notin)", ["in"]],
  ["constructor", []],
  ["size>6", ["high", "low"]],
  ["size > 7", ["high"]],
  ["size<8", ["low"]],
  [" size<9223372036854775807,size > 06 ", ["low"]],
  ["size>9223372036854775806", ["high"]],
  ["rack>0", []],
  ["", ["bare", "db", "gpu", "high", "in", "low", "over", "web", "word"]],
];

/** Names without the kind. */
const namesOf = (text: string): readonly string[] => text.split("\n").flatMap((line) => line.split("/")[1] ?? []);

describe("get -l", () => {
  always.each(GOOD)("%p finds %j on etcd", async (selector, pools) => {
    expect(namesOf(await etcd.done(["get", "ippools", "-o", "name", "-l", selector]))).toEqual(pools);
  });

  test.each(GOOD)("%p finds %j on Kubernetes, as kubectl does (needs cluster)", async (selector, pools) => {
    expect(namesOf(await kube.done(["get", "ippools", "-o", "name", "-l", selector]))).toEqual(pools);
    expect(namesOf(await kube.api.kubectl(["get", "ippools", "-o", "name", "-l", selector]))).toEqual(pools);
  });

  const BAD = [
    "a==b==c",
    "rack=a b",
    "rack==r1,",
    ",",
    "rack in r1",
    "rack in (r1",
    "has(rack)",
    'rack == "r1"',
    "a/b/c=1",
    "rack=-",
    "!a=b",
    "=r1",
    "size>",
    "size>x",
    "size>-1",
    "size>+1",
    "size>1.5",
    "size>=5",
    "size<>5",
    "size>9223372036854775808",
    "size>1 2",
    "!size>1",
    ">1",
  ];

  always.each(BAD)("refuses %p with one that is right, without a datastore", async (selector) => {
    const { status, stdout, stderr } = await etcd.ctl(["get", "ippools", "-l", selector], {
      env: { ETCD_ENDPOINTS: "http://127.0.0.1:1" },
    });
    expect([status, stdout]).toEqual([2, ""]);
    expect(stderr).toMatch(/^netplugctl: read option "--selector": got .*"rack=r2.*\nnext: netplugctl get --help\n$/);
  });

  test.each(BAD)("refuses %p, as kubectl does (needs cluster)", async (selector) => {
    await expect(kube.api.kubectl(["get", "ippools", "-l", selector])).rejects.toThrow();
  });

  always("may stand attached, and stands alone", async () => {
    for (const argv of [["-ltier=db"], ["-l=tier=db"], ["--selector=tier=db"]])
      expect(await etcd.done(["get", "pools", "-o", "name", ...argv])).toBe("ippool/db\n");
    for (const argv of [["ippools", "db"], ["ippool/db"], ["ipamblocks"], ["-f", etcd.file("pools.json", POOLS.join("\n"))]])
      expect(await etcd.ctl(["get", ...argv, "-l", "a=b"])).toMatchObject({
        status: 2,
        stderr: expect.stringContaining("use --selector "),
      });
  });

  always("says so when nothing fits", async () => {
    const nothing = { status: 0, stdout: "", stderr: 'no ippools found with --selector "a=b"\n' };
    expect(await etcd.ctl(["get", "ippools", "-l", "a=b"])).toEqual(nothing);
    expect(JSON.parse(await etcd.done(["get", "ippools", "-l", "a=b", "-o", "json"]))).toMatchObject({ kind: "IPPoolList", items: [] });
  });

  test("lets the API server choose, where the object is its own (needs cluster)", async () => {
    const [stored] = await kube.datastore.read([{ type: "list", kind: "IPPool", labelSelector: "tier=db" }]);
    expect(stored.map(({ value }) => value.metadata.name)).toEqual(["db"]);
  });

  test("knows the labels of nodes, and of endpoints those that their pods do not have (needs cluster)", async () => {
    await createNode(kube.api, "n1", []);
    await createNode(kube.api, "n2", []);
    await kube.done(["label", "node", "n2", "rack=r2"]);
    expect(await kube.done(["get", "nodes", "-l", "rack=r2", "-o", "name"])).toBe("node/n2\n");
    await createPod(kube.api, { name: "web", spec: { nodeName: "n1" } });
    const endpoint = "workloadendpoint/n1-k8s-web-eth0\n";
    expect(await kube.done(["get", "wep", "-l", "netplug.io/orchestrator=k8s", "-o", "name"])).toBe(endpoint);
    expect(await kube.done(["get", "wep", "-l", "!netplug.io/orchestrator", "-o", "name"])).toBe("");
  });
});

always("labels have a column, and a table may go without its header", async () => {
  expect(await etcd.done(["get", "ippools", "-l", "tier", "--show-labels"])).toBe(
    [
      "NAME   CIDR          SELECTOR   LABELS",
      "db     10.1.0.0/16   all()      rack=r1,tier=db",
      "web    10.8.0.0/16   all()      rack=r2,tier=web",
      "",
    ].join("\n"),
  );
  expect(await etcd.done(["get", "ippools", "-l", "tier=db", "--no-headers"])).toBe("db   10.1.0.0/16   all()\n");
  const { stdout } = await etcd.ctl(["get", "ippools", "-l", "tier=db", "--no-headers"], { isTerminal: true });
  expect(stdout).toBe("db   10.1.0.0/16   all()\n");
});
