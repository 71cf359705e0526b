/** `netplugctl diff` on etcd: it shows what `apply` would do, and etcd is as it was. On Kubernetes: `kubernetes-resources.test.ts`. */

import { beforeEach, describe, expect, test } from "bun:test";
import { poolYaml, resourceYaml } from "../support/cli/documents.ts";
import { shareEtcdCliWorld } from "../support/cli/etcd-cli-world.ts";

const world = shareEtcdCliWorld();

beforeEach(async () => {
  await world.reset();
  await world.done(["init"]);
});

/** What is stored, by key. */
const everything = (): Promise<Readonly<Record<string, unknown>>> => world.stored("/netplug/");

const POOL = "/netplug/v3/ippools/blue";

/** A pool with labels or annotations. */
const withMetadata = (metadata: object): string =>
  JSON.stringify({ ...JSON.parse(poolYaml("blue", "10.65.0.0/16")), metadata: { name: "blue", ...metadata } });

test("shows what would be changed or created, in the order of the documents, and changes nothing", async () => {
  await world.done(["apply", "-f", "-"], { stdin: poolYaml("blue", "10.65.0.0/16", { natOutgoing: true }) });
  const before = await everything();
  const stdin = [
    poolYaml("blue", "10.65.0.0/16", { disabled: true }),
    resourceYaml("IPReservation", "gateways", { reservedCIDRs: ["10.65.0.0/30"] }),
  ];
  expect(await world.ctl(["diff", "-f", "-"], { stdin: stdin.join("\n---\n") })).toEqual({
    status: 1,
    stdout: `--- ippool/blue as it is
+++ ippool/blue of stdin, document 1
@@ -10,9 +10,9 @@
   blockSize: 26
   cidr: 10.65.0.0/16
   disableBGPExport: false
-  disabled: false
+  disabled: true
   ipipMode: Never
   namespaceSelector: ""
-  natOutgoing: true
+  natOutgoing: false
   nodeSelector: all()
   vxlanMode: Never
--- /dev/null
+++ ipreservation/gateways of stdin, document 2
@@ -0,0 +1,7 @@
+apiVersion: netplug.io/v3
+kind: IPReservation
+metadata:
+  name: gateways
+spec:
+  reservedCIDRs:
+    - 10.65.0.0/30
`,
    stderr: "",
  });
  expect(await everything()).toEqual(before);
});

test("shows labels and annotations that apply would remove, since the document leaves them out", async () => {
  await world.done(["apply", "-f", "-"], {
    stdin: withMetadata({ labels: { rack: "r1" }, annotations: { "argocd.argoproj.io/tracking-id": "x" } }),
  });
  const { status, stdout } = await world.ctl(["diff", "-f", "-"], { stdin: withMetadata({ labels: { rack: "r2" } }) });
  expect(status).toBe(1);
  expect(stdout.split("\n").filter((line) => /^[-+] /.test(line))).toEqual([
    "-  annotations:",
    "-    argocd.argoproj.io/tracking-id: x",
    "-    rack: r1",
    "+    rack: r2",
  ]);
});

test("after apply there is nothing to show, in whatever order the keys are stored", async () => {
  const document = { stdin: poolYaml("blue", "10.65.0.0/16", { natOutgoing: true }) };
  await world.done(["apply", "-f", "-"], document);
  expect(await world.ctl(["diff", "-f", "-"], document)).toEqual({ status: 0, stdout: "", stderr: "" });
  const { [POOL]: stored } = await world.stored(POOL);
  const backwards = (value: unknown): unknown =>
    value !== null && typeof value === "object" && !Array.isArray(value)
      ? Object.fromEntries(
          Object.entries(value)
            .toReversed()
            .map(([key, part]) => [key, backwards(part)]),
        )
      : value;
  await world.etcd.ctl(["put", POOL, JSON.stringify(backwards(stored))]);
  expect(await world.ctl(["diff", "-f", "-"], document)).toEqual({ status: 0, stdout: "", stderr: "" });
  const { stdout } = await world.ctl(["diff", "-f", "-"], { stdin: poolYaml("blue", "10.65.0.0/16") });
  expect(stdout.split("\n").filter((line) => /^[-+] /.test(line))).toEqual(["-  natOutgoing: true", "+  natOutgoing: false"]);
});

test("shows once what several documents say, as apply would change it once", async () => {
  const document = resourceYaml("IPReservation", "gateways", { reservedCIDRs: ["10.65.0.0/30"] });
  const once = await world.ctl(["diff", "-f", "-"], { stdin: document });
  expect(once.status).toBe(1);
  const twice = { stdin: [document, document].join("\n---\n") };
  expect(await world.ctl(["diff", "-f", "-"], twice)).toEqual({
    ...once,
    stdout: once.stdout.replace("of stdin\n", "of stdin, document 1\n"),
  });
  expect(await world.done(["apply", "-f", "-"], twice)).toBe("ipreservation/gateways created\nipreservation/gateways unchanged\n");
});

test("apply does not refuse the second of two documents that `get -o yaml` wrote for the version that the first has made", async () => {
  await world.done(["apply", "-f", "-"], { stdin: poolYaml("blue", "10.65.0.0/16") });
  const dump = (await world.done(["get", "ippool", "blue", "-o", "yaml"])).replace("disabled: false", "disabled: true");
  const twice = { stdin: [dump, dump].join("\n---\n") };
  expect((await world.ctl(["diff", "-f", "-"], twice)).stdout.match(/^--- .*$/gm)).toEqual(["--- ippool/blue as it is"]);
  expect(await world.done(["apply", "-f", "-"], twice)).toBe("ippool/blue configured\nippool/blue unchanged\n");
  await world.done(["delete", "ippool", "blue"]);
  expect(await world.ctl(["create", "-f", "-"], twice)).toMatchObject({ status: 1, stdout: "ippool/blue created\n" });
  await world.done(["delete", "ippool", "blue"]);
  expect(await world.done(["apply", "-f", "-"], twice)).toBe("ippool/blue created\nippool/blue unchanged\n");
  // of the version before that
  expect(await world.ctl(["replace", "-f", "-"], twice)).toMatchObject({
    status: 1,
    stderr: expect.stringContaining("2 of 2 objects failed"),
  });
});

test.each(["labels", "annotations"])("empty %s are none, to apply as well", async (key) => {
  await world.createPool("blue", "10.65.0.0/16");
  const stdin = withMetadata({ [key]: {} });
  expect(await world.ctl(["diff", "-f", "-"], { stdin })).toEqual({ status: 0, stdout: "", stderr: "" });
  expect(await world.done(["apply", "-f", "-"], { stdin })).toBe("ippool/blue unchanged\n");
});

test("warns once of a new pool that several documents have, as apply would", async () => {
  await world.create(resourceYaml("Node", "n1", { addresses: [{ address: "10.65.0.9", type: "InternalIP" }] }));
  const document = poolYaml("blue", "10.65.0.0/16");
  const { stderr } = await world.ctl(["diff", "-f", "-"], { stdin: document });
  expect(stderr).toContain("10.65.0.9");
  const stdin = [document, document].join("\n---\n");
  expect((await world.ctl(["diff", "-f", "-"], { stdin })).stderr).toBe(stderr);
  expect((await world.ctl(["apply", "-f", "-"], { stdin })).stderr).toBe(stderr);
});

test("what apply would refuse is refused, with another status than differences; the rest is shown", async () => {
  await world.done(["apply", "-f", "-"], { stdin: poolYaml("blue", "10.65.0.0/16") });
  const before = await everything();
  const refused = { stdin: poolYaml("blue", "10.66.0.0/16") };
  const applied = await world.ctl(["apply", "-f", "-"], refused);
  expect(applied.stderr).toContain("spec.cidr");
  expect(await world.ctl(["diff", "-f", "-"], refused)).toEqual({ ...applied, status: 2 });

  const overlapping = { stdin: poolYaml("part", "10.65.8.0/24") };
  expect(await world.ctl(["diff", "-f", "-"], overlapping)).toEqual({ ...(await world.ctl(["apply", "-f", "-"], overlapping)), status: 2 });

  const some = await world.ctl(["diff", "-f", "-"], { stdin: [refused.stdin, poolYaml("green", "10.67.0.0/16")].join("\n---\n") });
  expect(some).toMatchObject({
    status: 2,
    stdout: expect.stringMatching(/^--- \/dev\/null\n\+\+\+ ippool\/green of stdin, document 2\n/),
    stderr: expect.stringMatching(/^stdin, document 1: .*spec\.cidr.*\nnetplugctl: 1 of 2 objects failed\n$/),
  });
  expect(await everything()).toEqual(before);
});

test("a datastore that is not there and wrong usage are no differences", async () => {
  const document = { stdin: poolYaml("blue", "10.65.0.0/16") };
  expect(await world.ctl(["diff", "-f", "-"], { ...document, env: { ETCD_ENDPOINTS: "http://127.0.0.1:1" } })).toMatchObject({
    status: 2,
    stdout: "",
  });
  expect(await world.ctl(["diff"])).toMatchObject({ status: 2, stdout: "" });
});

describe("of a datastore that was never initialised", () => {
  beforeEach(() => world.reset());

  test("everything is new, as apply would initialise it; that is said, since it may be another one than was meant", async () => {
    const { status, stdout, stderr } = await world.ctl(["diff", "-f", "-"], { stdin: poolYaml("blue", "10.65.0.0/16") });
    expect([status, stderr]).toEqual([1, "the datastore was never initialised: apply would do that first\n"]);
    expect(stdout).toMatch(/^--- \/dev\/null\n\+\+\+ ippool\/blue of stdin\n/);
    expect(stdout).toContain("+  cidr: 10.65.0.0/16\n");
    expect(await everything()).toEqual({});
  });

  test("what comes with its initialisation is not new", async () => {
    const tier = (metadata: object): string =>
      JSON.stringify({
        apiVersion: "netplug.io/v3",
        kind: "Tier",
        metadata: { name: "default", ...metadata },
        spec: { order: 1_000_000, defaultAction: "Deny" },
      });
    expect(await world.ctl(["diff", "-f", "-"], { stdin: tier({}) })).toMatchObject({ status: 0, stdout: "" });
    const { stdout } = await world.ctl(["diff", "-f", "-"], { stdin: tier({ labels: { team: "a" } }) });
    expect(stdout.split("\n").filter((line) => /^[-+]/.test(line))).toEqual([
      "--- tier/default as it is",
      "+++ tier/default of stdin",
      "+  labels:",
      "+    team: a",
    ]);
    expect(await world.done(["apply", "-f", "-"], { stdin: tier({ labels: { team: "a" } }) })).toBe("tier/default configured\n");
  });

  test("what apply makes up for it is not shown as a value that there is: nobody can give it", async () => {
    for (const spec of [{ datastoreReady: false }, { clusterGUID: "0123456789abcdef0123456789abcdef" }]) {
      const stdin = resourceYaml("ClusterInformation", "default", spec);
      const { status, stdout, stderr } = await world.ctl(["diff", "-f", "-"], { stdin });
      expect([status, stdout]).toEqual([2, ""]);
      expect(stderr).toContain(`, want "one that apply makes up": it cannot be changed`);
      expect(stderr).not.toMatch(/want "[0-9a-f]{32}"/);
    }
    expect(await everything()).toEqual({});
  });

  test("one that lacks a tier only was initialised", async () => {
    await world.done(["init"]);
    await world.etcd.ctl(["del", "/netplug/v3/tiers/default"]);
    expect(await world.ctl(["diff", "-f", "-"], { stdin: poolYaml("blue", "10.65.0.0/16") })).toMatchObject({ status: 1, stderr: "" });
    expect(Object.keys(await everything())).not.toContain("/netplug/v3/tiers/default");
  });

  test("replace would not initialise it", async () => {
    const { status, stderr } = await world.ctl(["replace", "-f", "-"], { stdin: poolYaml("blue", "10.65.0.0/16") });
    expect([status, stderr]).toEqual([1, expect.stringContaining("blue")]);
    expect(await everything()).toEqual({});
  });
});
