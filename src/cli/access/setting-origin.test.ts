import { expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runInProcess } from "../../../test/support/cli/in-process.ts";

/** What is said about settings; nothing is asked of any datastore. */
async function said(env: Readonly<Record<string, string>>, argv: readonly string[] = []): Promise<string> {
  const { status, stdout, stderr } = await runInProcess(["get", "ippools", ...argv], { env });
  expect([status, stdout]).toEqual([1, ""]);
  return stderr;
}

const KUBE = { DATASTORE_TYPE: "kubernetes", K8S_API_ENDPOINT: "https://127.0.0.1:1" };
const ETCD = { ETCD_ENDPOINTS: "https://127.0.0.1:1" };

test.each<[Record<string, string>, string]>([
  [{ DATASTORE_TYPE: "foo" }, 'choose datastore: got type "foo" of DATASTORE_TYPE, want "etcdv3" or "kubernetes"'],
  [{ ...KUBE, K8S_CA_FILE: "/none.pem" }, 'read certificate authority "/none.pem" of K8S_CA_FILE: no such file'],
  [{ ...KUBE, NETPLUG_K8S_CA_FILE: "/dev/null" }, 'read certificate authority "/dev/null" of NETPLUG_K8S_CA_FILE: it is no PEM'],
  [{ ...KUBE, K8S_API_ENDPOINT: "foo:bar:baz" }, 'read K8S_API_ENDPOINT: got "foo:bar:baz", want https://host:port'],
  [{ ...KUBE, K8S_API_TOKEN: "a\nb" }, "use token of K8S_API_TOKEN: it holds a line break"],
  [
    { DATASTORE_TYPE: "kubernetes", KUBECONFIG: "/none" },
    'read kubeconfig "/none": no such file\n  the kubeconfig is the one that KUBECONFIG names',
  ],
  [
    { DATASTORE_TYPE: "kubernetes", KUBECONFIG: "-" },
    'read kubeconfig "-": no such file\n  the kubeconfig is the one that KUBECONFIG names; - is a file there, and stdin is /dev/stdin\n',
  ],
  [{ ETCD_ENDPOINTS: "http://a:b:c" }, 'parse ETCD_ENDPOINTS "http://a:b:c": want http://host:port'],
  [
    { NETPLUG_ETCD_ENDPOINTS: "http://u:p@a" },
    "parse NETPLUG_ETCD_ENDPOINTS: got one with user or password, want them in ETCD_USERNAME and ETCD_PASSWORD",
  ],
  [{ ...ETCD, ETCD_DISCOVERY_SRV: "x" }, "choose etcd endpoints: got ETCD_ENDPOINTS and ETCD_DISCOVERY_SRV, want only one"],
  [{ ...ETCD, NETPLUG_ETCD_KEY_FILE: "/k" }, "choose etcd client certificate: want ETCD_CERT_FILE and NETPLUG_ETCD_KEY_FILE together"],
  [{ ...ETCD, ETCD_USERNAME: "u" }, "choose etcd user: want ETCD_USERNAME and ETCD_PASSWORD together"],
  [{ ...ETCD, ETCD_CA_CERT_FILE: "/etcd_key_file" }, 'read ETCD_CA_CERT_FILE "/etcd_key_file": no such file'],
])("a variable that is wrong is named: %j", async (env, message) => {
  expect(await said(env)).toStartWith(`netplugctl: ${message}`);
});

test.each<[string, string]>([
  ["datastoreType: foo", 'choose datastore: got type "foo" of datastoreType in FILE, want'],
  [
    "datastoreType: kubernetes, k8sAPIEndpoint: 'https://127.0.0.1:1', k8sCAFile: /none.pem",
    'authority "/none.pem" of k8sCAFile in FILE: no such file',
  ],
  ["datastoreType: kubernetes, kubeconfig: /none", '"/none": no such file\n  the kubeconfig is the one that kubeconfig in FILE names\n'],
  ["etcdEndpoints: 'http://a:b:c'", 'parse etcdEndpoints in FILE "http://a:b:c": want'],
  ["etcdEndpoints: 'https://127.0.0.1:1', etcdCertFile: /c, etcdKeyFile: /k", 'read etcdCertFile in FILE "/c": no such file'],
])("a key of the configuration file that is wrong is named, with the file: %s", async (spec, message) => {
  const folder = mkdtempSync(join(tmpdir(), "netplug-origin-"));
  try {
    const file = join(folder, "ctl.cfg");
    writeFileSync(file, `kind: NetplugAPIConfig\nspec: {${spec}}\n`);
    expect(await said({}, ["-c", file])).toContain(message.replace("FILE", `"${file}"`));
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test("a message about the kubeconfig names the option that chose it, or says that it is the default", async () => {
  const kubeconfig = "the kubeconfig is the one that --kubeconfig names\n";
  expect(await said({ KUBECONFIG: "/other" }, ["--kubeconfig", "/none"])).toEndWith(`"/none": no such file\n  ${kubeconfig}`);
  const home = mkdtempSync(join(tmpdir(), "netplug-origin-"));
  try {
    await Bun.write(join(home, ".kube/config"), "a: [");
    expect(await said({ DATASTORE_TYPE: "kubernetes", HOME: home })).toEndWith("it is no YAML\n  the kubeconfig is the default one\n");
  } finally {
    rmSync(home, { recursive: true });
  }
});

const WANTED =
  "netplugctl: find the Kubernetes API: want a kubeconfig or the API server's address, or to run in a pod (KUBERNETES_SERVICE_HOST and _PORT)\n";

test.each<[Record<string, string>, string]>([
  [{}, `${WANTED}  name a kubeconfig: --kubeconfig FILE, or KUBECONFIG\n`],
  [{ HOME: "" }, `${WANTED}  name a kubeconfig: --kubeconfig FILE, or KUBECONFIG\n`],
  [{ HOME: "/none" }, `${WANTED}  name a kubeconfig: --kubeconfig FILE, or KUBECONFIG; there is no "/none/.kube/config"\n`],
  // Half of what a pod has: there the port is what is missing.
  [{ HOME: "/none", KUBERNETES_SERVICE_HOST: "127.0.0.1" }, WANTED],
  [{ HOME: "/none", K8S_API_ENDPOINT: "foo bar" }, 'netplugctl: read K8S_API_ENDPOINT: got "foo bar", want https://host:port\n'],
])("who named no kubeconfig is told how to, who named something else is not: %j", async (env, message) => {
  expect(await said({ DATASTORE_TYPE: "kubernetes", ...env })).toBe(message);
});
