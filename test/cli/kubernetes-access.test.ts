/** How netplugctl finds its way to an API server: every source, their order, and as a plugin of kubectl. */

import { describe, expect, test as always } from "bun:test";
import { chmodSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { clusterProgram } from "../../tools/prerequisites/cluster-programs.ts";
import { shareKubernetesCliWorld } from "../support/cli/kubernetes-cli-world.ts";
import { distFolder } from "../support/programs/cni.ts";
import { type CliOptions, type CliResult, runInProcess } from "../support/cli/in-process.ts";
import { startFakeApiServer } from "../kube/support/fake-api-server.ts";

const [test, world] = shareKubernetesCliWorld((world) => world.done(["init"]), { users: { alice: {} } });
/** Two servers, so that it shows which one was asked: the second one was never initialised. */
const [, other] = shareKubernetesCliWorld();

const NONE = { DATASTORE_TYPE: undefined, KUBECONFIG: undefined } as const;
const TYPE = { ...NONE, DATASTORE_TYPE: "kubernetes" } as const;

/** Runs one command with nothing but what the test says. */
const ask = (argv: readonly string[], options: CliOptions = {}): Promise<CliResult> =>
  world.ctl([...argv, "get", "tiers", "-o", "name"], { ...options, env: { ...NONE, ...options.env } });

const FOUND = { status: 0, stdout: "tier/kube-admin\ntier/default\ntier/kube-baseline\n", stderr: "" };

const configFile = (spec: object): string => JSON.stringify({ apiVersion: "netplug.io/v3", kind: "NetplugAPIConfig", spec });

/** A kubeconfig with both servers; the other one is current. */
const twoContexts = (): string => {
  const configs = [world, other].map(
    ({ api }) => Bun.YAML.parse(readFileSync(api.kubeconfigFile, "utf8")) as Record<string, Record<string, unknown>[]>,
  );
  const take = (list: string, key: string): object[] =>
    configs.map((config, i) => ({ name: ["first", "second"][i], [key]: config[list]?.[0]?.[key] }));
  const contexts = ["first", "second"].map((name) => ({ name, context: { cluster: name, user: name, namespace: `of-${name}` } }));
  const kubeconfig = { apiVersion: "v1", kind: "Config", clusters: take("clusters", "cluster"), users: take("users", "user"), contexts };
  return world.file("two.kubeconfig", JSON.stringify({ ...kubeconfig, "current-context": "second" }));
};

describe("access by", () => {
  test("KUBECONFIG, with and without our prefix (needs cluster)", async () => {
    expect(await ask([], { env: { ...TYPE, KUBECONFIG: world.api.kubeconfigFile } })).toEqual(FOUND);
    const both = { KUBECONFIG: "/nonexistent", NETPLUG_KUBECONFIG: world.api.kubeconfigFile };
    expect(await ask([], { env: { NETPLUG_DATASTORE_TYPE: "kubernetes", ...both } })).toEqual(FOUND);
  });

  test("--kubeconfig anywhere, which needs no type and beats the environment (needs cluster)", async () => {
    expect(await ask(["--kubeconfig", world.api.kubeconfigFile])).toEqual(FOUND);
    const env = { ...TYPE, KUBECONFIG: other.api.kubeconfigFile };
    expect(await world.ctl(["get", "tiers", `--kubeconfig=${world.api.kubeconfigFile}`, "-o", "name"], { env })).toEqual(FOUND);
  });

  test("--context of a kubeconfig, wherever it stands (needs cluster)", async () => {
    const env = { ...TYPE, KUBECONFIG: twoContexts() };
    expect(await ask(["--context", "first"], { env })).toEqual(FOUND);
    expect(await world.ctl(["get", "tiers", "-o", "name", "--context=first"], { env })).toEqual(FOUND);
    const files = ["/nonexistent/kubeconfig", other.api.kubeconfigFile, env.KUBECONFIG].join(":");
    expect(await ask(["--context", "first"], { env: { ...TYPE, KUBECONFIG: files } })).toEqual(FOUND);
    expect(await ask([], { env })).toMatchObject({ status: 1, stdout: "", stderr: expect.stringContaining("next: netplugctl init") });
    expect(await ask(["--context", "third"], { env })).toMatchObject({
      status: 1,
      stderr: expect.stringContaining('it has no context "third"'),
    });
  });

  test("the kubeconfig that kubectl reads by itself (needs cluster)", async () => {
    const home = join(world.api.folder, "home");
    Bun.spawnSync(["mkdir", "-p", join(home, ".kube")]);
    await Bun.write(join(home, ".kube/config"), readFileSync(world.api.kubeconfigFile));
    expect(await ask([], { env: { ...TYPE, HOME: home } })).toEqual(FOUND);
    expect(await ask([], { env: { ...TYPE, HOME: world.api.folder } })).toMatchObject({
      status: 1,
      stderr: expect.stringContaining("find the Kubernetes API: want a kubeconfig or the API server's address"),
    });
    const advice = `\n  name a kubeconfig: --kubeconfig FILE, or KUBECONFIG; there is no "${world.api.folder}/.kube/config"\n`;
    for (const argv of [["get", "tiers"], ["init"], ["version"]])
      expect((await world.ctl(argv, { env: { ...TYPE, HOME: world.api.folder } })).stderr).toContain(advice);
    expect((await ask(["--context", "first"], { env: { ...TYPE, HOME: world.api.folder } })).stderr).toContain(advice);
  });

  test("address, token and CA (needs cluster)", async () => {
    const { url, token, caFile } = world.api;
    expect(await ask([], { env: { ...TYPE, K8S_API_ENDPOINT: url, K8S_API_TOKEN: token, K8S_CA_FILE: caFile } })).toEqual(FOUND);
    const defaultConfig = configFile({ datastoreType: "kubernetes", k8sAPIEndpoint: url, k8sAPIToken: token, k8sCAFile: caFile });
    expect(await ask([], { defaultConfig })).toEqual(FOUND);
  });

  test("an address below which there is no API server: init says so, and not that init would help (needs cluster)", async () => {
    const { url, token, caFile } = world.api;
    const env = { ...TYPE, K8S_API_ENDPOINT: `${url}/elsewhere`, K8S_API_TOKEN: token, K8S_CA_FILE: caFile };
    const { status, stderr } = await world.ctl(["init"], { env });
    expect(status).toBe(1);
    expect(stderr).toContain("get /version: the API server answers 404");
    expect(stderr).toContain("is what answers there an API server?");
    expect(stderr).toContain(`\n  the API server at "${url}/elsewhere", as K8S_API_ENDPOINT says\nnext: curl `);
  });

  test("what every pod has, as far as it is there (needs cluster)", async () => {
    const env = { ...TYPE, KUBERNETES_SERVICE_HOST: "127.0.0.1", KUBERNETES_SERVICE_PORT: String(world.api.port) };
    const { token, caFile } = world.api;
    expect(await ask([], { env: { ...env, K8S_API_TOKEN: token, K8S_CA_FILE: caFile } })).toEqual(FOUND);
    // The token that a kubelet mounts lies where no test may write.
    const { stderr } = await ask([], { env });
    expect(stderr).toContain("/var/run/secrets/kubernetes.io/serviceaccount/token");
  });

  test("a configuration file, which the environment beats (needs cluster)", async () => {
    const file = world.file("ctl.cfg", configFile({ datastoreType: "kubernetes", kubeconfig: world.api.kubeconfigFile }));
    expect(await ask(["-c", file])).toEqual(FOUND);
    expect(await ask(["-c", file], { env: { KUBECONFIG: other.api.kubeconfigFile } })).toMatchObject({ status: 1 });
    expect(await ask(["-c", file], { env: { DATASTORE_TYPE: "etcdv3", ETCD_ENDPOINTS: "http://127.0.0.1:1" } })).toMatchObject({
      status: 1,
      stderr: expect.stringContaining("read from etcd"),
    });
  });

  test("a kubeconfig, whose server is not shown the token of a lesser source (needs cluster)", async () => {
    const defaultConfig = configFile({ datastoreType: "kubernetes", k8sAPIEndpoint: "https://127.0.0.1:1", k8sAPIToken: "of-the-file" });
    expect(await ask([], { defaultConfig, env: { KUBECONFIG: world.api.kubeconfigFile } })).toEqual(FOUND);
    const env = { ...TYPE, K8S_API_ENDPOINT: "https://127.0.0.1:1", K8S_API_TOKEN: "of-the-environment" };
    expect(await ask(["--kubeconfig", world.api.kubeconfigFile], { env })).toEqual(FOUND);
  });

  test("nothing means etcd, and etcd's endpoints beat the name of a plugin (needs cluster)", async () => {
    const env = { ETCD_ENDPOINTS: "http://127.0.0.1:1", KUBECONFIG: world.api.kubeconfigFile };
    for (const program of ["netplugctl", "kubectl netplug"]) {
      expect(await ask([], { env, program })).toMatchObject({ status: 1, stderr: expect.stringContaining("read from etcd") });
    }
    expect(await ask([], { env: { KUBECONFIG: world.api.kubeconfigFile }, program: "kubectl netplug" })).toEqual(FOUND);
  });
});

describe("what goes wrong", () => {
  test("wrong credentials are code 108 and name their source, without the secret (needs cluster)", async () => {
    const { url, caFile } = world.api;
    const { status, stderr } = await ask([], { env: { ...TYPE, K8S_API_ENDPOINT: url, K8S_API_TOKEN: "hush", K8S_CA_FILE: caFile } });
    expect([status, stderr]).toEqual([1, expect.stringContaining("does not accept the token of K8S_API_TOKEN (code 108)\n")]);
    expect(stderr).not.toContain("hush");
  });

  test("no credentials, or a user name alone, are told where nobody may do something (needs cluster)", async () => {
    const { url, caFile, kubeconfigFile } = world.api;
    const denial = (shown: string) =>
      expect.stringContaining(
        `list tiers.netplug.io is not permitted; role netplug-view; the API server counts the ${shown} as system:anonymous (code 108)\n`,
      );
    const env = { ...TYPE, K8S_API_ENDPOINT: url, K8S_CA_FILE: caFile };
    const none = "request without credentials (there are none in";
    expect(await ask([], { env })).toMatchObject({ status: 1, stderr: denial(`${none} the settings)`) });
    const config = Bun.YAML.parse(readFileSync(kubeconfigFile, "utf8")) as Record<string, Record<string, unknown>[]>;
    const [{ name } = {}] = config["users"] ?? [];
    for (const [user, shown] of [
      [{}, `${none} USER)`],
      [{ username: "me" }, "user name of USER (API servers take none since Kubernetes 1.19)"],
    ] as const) {
      const path = world.file("nobody.kubeconfig", JSON.stringify({ ...config, users: [{ name, user }] }));
      const stderr = denial(shown.replace("USER", `user "${String(name)}" in kubeconfig "${path}"`));
      expect(await ask(["--kubeconfig", path])).toMatchObject({ status: 1, stderr });
    }
  });

  test("a missing permission is code 108 and names verb, resource and role (needs cluster)", async () => {
    const env = { ...TYPE, KUBECONFIG: world.api.issue("alice").kubeconfigFile };
    expect(await ask([], { env })).toMatchObject({
      status: 1,
      stderr: expect.stringContaining("netplugctl: list tiers.netplug.io is not permitted; role netplug-view (code 108)\n"),
    });
  });

  test("an API server that is away is said to be (needs cluster)", async () => {
    const { status, stderr } = await ask([], { env: { ...TYPE, K8S_API_ENDPOINT: "https://127.0.0.1:1", K8S_API_TOKEN: "x" } });
    expect([status, stderr]).toEqual([
      1,
      [
        "netplugctl: list tiers.netplug.io: https://127.0.0.1:1: connection refused",
        '  the API server at "https://127.0.0.1:1", as K8S_API_ENDPOINT says',
        "next: curl -sS -m 5 https://127.0.0.1:1/readyz\n",
      ].join("\n"),
    ]);
  });

  test("the proposed command asks the API server that did not answer, by the same kubeconfig (needs cluster)", async () => {
    const kubeconfig = await world.api.kubectl(["config", "view", "--raw"]);
    const away = world.file("it's away.kubeconfig", kubeconfig.replace(/127\.0\.0\.1:\d+/, "127.0.0.1:1"));
    const { stderr } = await ask(["--kubeconfig", away]);
    expect(stderr).toContain(`\n  the API server in kubeconfig "${away}", as --kubeconfig says\n`);
    const next = /^next: (.*)\n$/m.exec(stderr)?.[1] ?? "";
    const run = () =>
      Bun.spawnSync(["sh", "-c", next], {
        env: { ...process.env, PATH: `${dirname(clusterProgram("kubectl"))}:${process.env["PATH"] ?? ""}` },
      });
    expect(run().stderr.toString()).toContain("127.0.0.1:1 was refused");
    world.file("it's away.kubeconfig", kubeconfig);
    expect(run().stdout.toString()).toBe("ok");
  });
});

always.each(["version", "init", "get pools", "ipam check"])(
  "%s asks what else answers where an API server is expected",
  async (command) => {
    await using server = startFakeApiServer(() => new Response("<html>welcome</html>"));
    const { status, stderr } = await runInProcess(command.split(" "), {
      env: { DATASTORE_TYPE: "kubernetes", K8S_API_ENDPOINT: server.url },
    });
    expect([status, stderr]).toEqual([1, expect.stringMatching(/^netplugctl: [^\n]*: the answer is no JSON; is there an API server\?\n/)]);
  },
);

/** For what only a shell gives: `<(command)`. */
function runInBash(line: string, environment = ""): readonly [status: number, stdout: string, stderr: string] {
  const { exitCode, stdout, stderr } = Bun.spawnSync(["bash", "-c", `${environment} ${distFolder}/netplugctl ${line}`], {
    env: { PATH: process.env["PATH"] },
  });
  return [exitCode, stdout.toString(), stderr.toString()];
}

describe("commands that look beyond the datastore", () => {
  const pool = (name: string, cidr: string): string =>
    JSON.stringify({ apiVersion: "netplug.io/v3", kind: "IPPool", metadata: { name }, spec: { cidr } });

  test("ask who logs a person in once (needs cluster)", async () => {
    const { folder, kubeconfigFile, token } = world.api;
    const calls = world.file("calls", "");
    const credential = { apiVersion: "client.authentication.k8s.io/v1", kind: "ExecCredential", status: { token } };
    const program = world.file("log-in", `#!/bin/sh\necho once >>${calls}\ncat ${world.file("credential", JSON.stringify(credential))}\n`);
    chmodSync(program, 0o755);
    const exec = { apiVersion: credential.apiVersion, command: program, interactiveMode: "IfAvailable" };
    const kubeconfig = Bun.YAML.parse(readFileSync(kubeconfigFile, "utf8")) as { users: { user: object }[] };
    for (const entry of kubeconfig.users) entry.user = { exec };
    const env = { ...TYPE, KUBECONFIG: world.file("exec.kubeconfig", JSON.stringify(kubeconfig)), PATH: process.env["PATH"], HOME: folder };
    for (const [argv, stdin] of [
      [["ipam", "check"], ""],
      [["create", "-f", "-"], pool("once", "10.71.0.0/16")],
    ] as const) {
      await Bun.write(calls, "");
      expect(await world.ctl(argv, { env, stdin })).toMatchObject({ status: 0, stderr: "" });
      expect(readFileSync(calls, "utf8")).toBe("once\n");
    }
  });

  test("read once what may be a pipe (needs cluster)", async () => {
    const { url, token, caFile, kubeconfigFile } = world.api;
    const file = world.file(
      "pipe.cfg",
      configFile({ datastoreType: "kubernetes", k8sAPIEndpoint: url, k8sAPIToken: token, k8sCAFile: caFile }),
    );
    for (const option of [`--kubeconfig <(cat ${kubeconfigFile})`, `--config <(cat ${file})`]) {
      const [status, stdout, stderr] = runInBash(`${option} ipam check`);
      expect([option, status, stderr]).toEqual([option, 0, ""]);
      expect(stdout).toContain("found 0 problems");
    }
  });

  test("wait for a kubeconfig that comes by a pipe, and know it when they ask again (needs cluster)", () => {
    const { kubeconfigFile } = world.api;
    const slow = `<(echo "# slow"; sleep 0.2; sed 's/^    user: .*/&\\n    namespace: shop/' ${kubeconfigFile})`;
    // Of what has a namespace the context is looked at first.
    for (const [command, status, stderr] of [
      ["get tiers", 0, ""],
      ["get wep", 0, 'no workloadendpoints found in namespace "shop"\n'],
      ["delete wep none", 1, 'netplugctl: find workloadendpoint "shop/none": there is none\n'],
    ] as const)
      expect(runInBash(`${command} --kubeconfig ${slow}`)).toEqual([status, expect.any(String), expect.stringContaining(stderr)]);
    // Who is refused looks once more for credentials.
    const refused = `<(sed 's/client-certificate: .*/token: none/; /client-key:/d' ${kubeconfigFile})`;
    expect(runInBash(`get tiers --kubeconfig ${refused}`)).toEqual([1, "", expect.stringContaining("does not accept")]);
  });

  test("wait for a certificate authority that comes by a pipe, and know it when they are refused (needs cluster)", () => {
    const { url, token, caFile } = world.api;
    const ask = (given: string) =>
      runInBash(
        "get tiers -o name",
        `DATASTORE_TYPE=kubernetes K8S_API_ENDPOINT=${url} K8S_API_TOKEN=${given} K8S_CA_FILE=<(sleep 0.2; cat ${caFile})`,
      );
    expect(ask(token)).toEqual([0, FOUND.stdout, ""]);
    expect(ask("none")).toEqual([1, "", expect.stringContaining("does not accept")]);
  });
});

test("kubectl finds it as its plugin, passes words and flags, and its exit status comes back (needs cluster)", () => {
  const kubectl = (...argv: string[]) =>
    Bun.spawnSync([clusterProgram("kubectl"), ...argv], {
      env: { PATH: `${distFolder}:${process.env["PATH"] ?? ""}`, HOME: world.api.folder, KUBECONFIG: twoContexts() },
      stdin: "ignore",
      stderr: "pipe",
    });
  const found = kubectl("netplug", "get", "tiers", "--context", "first", "-o", "name");
  expect([found.exitCode, found.stdout.toString(), found.stderr.toString()]).toEqual([0, FOUND.stdout, ""]);
  const missing = kubectl("netplug", "--context=first", "get", "tier", "nope");
  expect([missing.exitCode, missing.stderr.toString()]).toEqual([
    1,
    'kubectl netplug: find tier "nope": there is none\nnext: kubectl netplug --context first get tiers\n',
  ]);
  expect(kubectl("netplug", "get", "bogus").exitCode).toBe(2);
  const begun = kubectl("netplug", "version");
  expect([begun.exitCode, begun.stderr.toString()]).toEqual([0, "the datastore was never initialised\nnext: kubectl netplug init\n"]);
  const made = kubectl("netplug", "init");
  expect([made.exitCode, made.stderr.toString(), made.stdout.toString()]).toEqual([
    0,
    "",
    expect.stringContaining("datastore initialised: cluster "),
  ]);
  const listed = kubectl("plugin", "list").stdout.toString();
  expect(listed).toContain(join(distFolder, "kubectl-netplug"));
});
