import { expect, test } from "bun:test";
import { EtcdFailure } from "../../datastore/etcd/protocol/failure.ts";
import { KubeError } from "../../kube/kube-error.ts";
import { NetplugError } from "../../lib/errors.ts";
import { toCommandLine, toFileWord } from "./suggested-commands.ts";
import type { CliIo, Output } from "../io.ts";
import { runCli } from "../main.ts";

/** Runs a command whose datastore refuses everything in this way. @returns stderr */
async function refused(thrown: Error, argv: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<string> {
  let stderr = "";
  const silent: Output = { isTerminal: false, write: () => undefined, drained: async () => true };
  const read = (): Promise<never> => Promise.reject(thrown);
  // What else a command has is not asked for here.
  const io = {
    stdout: silent,
    stderr: { isTerminal: false, write: (text: string) => (stderr += text) },
    env,
    pipeAt: () => undefined,
    readInput: async (path: string) =>
      await Promise.resolve(path === "/my.cfg" ? "kind: NetplugAPIConfig\nspec: {etcdEndpoints: 'http://h3:1'}" : undefined),
    openDatastore: () => ({ read, close: () => undefined }),
  } as unknown as CliIo;
  expect(await runCli(argv, io)).toBe(1);
  return stderr;
}

test("the next command goes to the datastore that the options name", async () => {
  const missing = new NetplugError("notInitialised", "use datastore: it was never initialised");
  const argv = ["--kubeconfig", "/tmp/my files/admin", "ipam", "check", "--context=blue"];
  expect(await refused(missing, argv)).toEndWith("\nnext: netplugctl --kubeconfig '/tmp/my files/admin' --context blue init\n");
  expect(await refused(missing, ["ipam", "check"])).toEndWith("\nnext: netplugctl init\n");
});

test.each([
  ["/dev/stdin", "FILE"],
  ["/dev/fd/63", "FILE"],
  ["/dev/fd/63:/k:/proc/self/fd/11", "FILE:/k:FILE"],
  ["/tmp/-:/x/dev/fd/63:/dev/fd/63x:a-b", "/tmp/-:/x/dev/fd/63:/dev/fd/63x:a-b"],
])("a file that only this process finds, %j, is FILE in the next command", (paths, word) => {
  expect(toFileWord(paths)).toBe(word);
  const options = { config: paths, kubeconfig: paths, context: "-" };
  expect(toCommandLine({ program: "netplugctl", options }, "init")).toBe(
    `netplugctl --config ${word} --kubeconfig ${word} --context - init`,
  );
});

test("only of --config is - stdin: of a kubeconfig it is a file of that name", () => {
  const options = { config: "-", kubeconfig: "-" };
  expect(toCommandLine({ program: "netplugctl", options }, "init")).toBe("netplugctl --config FILE --kubeconfig - init");
});

test("who names a cluster and gets etcd is warned", async () => {
  const warning = (option: string, source: string): string =>
    `warning: --${option} is not used, for the datastore is etcd, as ${source} says; for Kubernetes set DATASTORE_TYPE=kubernetes\n`;
  const failure = new NetplugError("internal", "stop here");
  expect(await refused(failure, ["get", "tiers", "--context", "blue"], { ETCD_ENDPOINTS: "http://h" })).toStartWith(
    warning("context", "ETCD_ENDPOINTS"),
  );
  expect(await refused(failure, ["get", "tiers", "--kubeconfig", "/k"], { DATASTORE_TYPE: "etcdv3" })).toStartWith(
    warning("kubeconfig", "DATASTORE_TYPE"),
  );
  expect(await refused(failure, ["get", "tiers"], { ETCD_ENDPOINTS: "http://h" })).not.toContain("warning");
});

test("toCommandLine() quotes what a shell would take apart", () => {
  const line = (context: string): string => toCommandLine({ program: "netplugctl", options: { context } }, "version");
  const words = (context: string): readonly string[] =>
    Bun.spawnSync(["bash", "-c", `printf '%s\\n' ${line(context)}`])
      .stdout.toString()
      .trimEnd()
      .split("\n");
  for (const context of ["admin@cluster", "a b", "$(id)", "a;b", "*", "it's", 'x"y', "it's $HOME"])
    expect(words(context)).toEqual(["netplugctl", "--context", context, "version"]);
});

test("who named no datastore is told how to, who did is not", async () => {
  const cause = new EtcdFailure("unreachable", "connection refused");
  const away = new NetplugError("tryAgainLater", "read from etcd: http://127.0.0.1:2379: connection refused", { cause });
  const advice = "nobody said where the datastore is: set ETCD_ENDPOINTS, or for Kubernetes DATASTORE_TYPE=kubernetes";
  expect(await refused(away, ["get", "tiers"])).toContain(`connection refused\n  ${advice}`);
  expect(await refused(away, ["get", "tiers"], { ETCD_ENDPOINTS: "http://127.0.0.1:2379" })).not.toContain(advice);
  expect(await refused(away, ["ipam", "check", "--context", "blue"])).not.toContain(advice);
  const locked = new NetplugError("tryAgainLater", "use datastore: it is locked");
  expect(await refused(locked, ["get", "tiers"])).toEndWith("it is locked\nnext: netplugctl version\n");
});

const ETCD_AWAY = new NetplugError("tryAgainLater", "read from etcd: …", { cause: new EtcdFailure("unreachable", "connection refused") });
const KUBE_AWAY = new KubeError("unreachable", "list tiers.netplug.io: https://h:6443: connection refused");
const CERTIFICATES = { ETCD_CA_CERT_FILE: "/e/ca.pem", ETCD_CERT_FILE: "/e/c.pem", ETCD_KEY_FILE: "/e/my key.pem" };

test.each<[string[], Record<string, string>, Error, string, string]>([
  [
    [],
    { ETCD_ENDPOINTS: "http://h1:2379,http://h2" },
    ETCD_AWAY,
    "etcd at http://h1:2379, http://h2:2379, as ETCD_ENDPOINTS says",
    "http://h1:2379/health",
  ],
  [
    [],
    { NETPLUG_ETCD_ENDPOINTS: "https://h1:1", ETCD_ENDPOINTS: "h2", ...CERTIFICATES },
    ETCD_AWAY,
    "etcd at https://h1:1, as NETPLUG_ETCD_ENDPOINTS says",
    "--cacert /e/ca.pem --cert /e/c.pem --key '/e/my key.pem' https://h1:1/health",
  ],
  [["-c", "/my.cfg"], {}, ETCD_AWAY, 'etcd at http://h3:1, as etcdEndpoints in "/my.cfg" says', "http://h3:1/health"],
  [
    ["--kubeconfig=/k"],
    { KUBECONFIG: "/x" },
    KUBE_AWAY,
    'the API server in kubeconfig "/k", as --kubeconfig says',
    "KUBECONFIG=/k kubectl get",
  ],
  [
    ["--kubeconfig=/dev/fd/63"],
    {},
    KUBE_AWAY,
    'the API server in kubeconfig "/dev/fd/63", as --kubeconfig says',
    "KUBECONFIG=FILE kubectl get",
  ],
  [
    ["--context", "a b"],
    { KUBECONFIG: "/x:/y" },
    KUBE_AWAY,
    'the API server of context "a b" in kubeconfig "/x:/y", as KUBECONFIG says',
    "KUBECONFIG=/x:/y kubectl --context 'a b' get --raw /readyz",
  ],
  [
    [],
    { DATASTORE_TYPE: "kubernetes", K8S_API_ENDPOINT: "h/api/", K8S_CA_FILE: "/ca" },
    KUBE_AWAY,
    'the API server at "h/api/", as K8S_API_ENDPOINT says',
    "--cacert /ca https://h/readyz",
  ],
  [
    [],
    { DATASTORE_TYPE: "kubernetes", K8S_API_ENDPOINT: "h", K8S_CA_FILE: "/dev/fd/63" },
    KUBE_AWAY,
    'the API server at "h", as K8S_API_ENDPOINT says',
    "--cacert FILE https://h/readyz",
  ],
])("a datastore that is away is told with who named it, and how to test that: %j %j", async (options, env, failure, text, next) => {
  // Without a command that needs the namespace of a kubeconfig's context.
  const stderr = await refused(failure, ["ipam", "show", ...options], env);
  expect(stderr).toContain(`\n  ${text}\n`);
  expect(stderr).toMatch(/\nnext: (curl -sS -m 5|KUBECONFIG=)[^\n]*\n$/);
  expect(stderr).toContain(next);
});
