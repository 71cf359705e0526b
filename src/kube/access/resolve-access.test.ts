import { describe, expect, test } from "bun:test";
import { failureOf } from "../../../test/support/failure-of.ts";
import { memoryFiles } from "../../../test/support/memory-files.ts";
import type { KubeAccess, KubeSettings } from "./access.ts";
import type { AccessSources } from "./in-cluster.ts";
import { resolveAccess } from "./resolve-access.ts";

const FOLDER = "/var/run/secrets/kubernetes.io/serviceaccount";
const POD_FILES = { [`${FOLDER}/ca.crt`]: "ca", [`${FOLDER}/token`]: "pod-token", [`${FOLDER}/namespace`]: "kube-system\n" };
const POD_ENV = { KUBERNETES_SERVICE_HOST: "10.96.0.1", KUBERNETES_SERVICE_PORT: "443" };
const KUBECONFIG = JSON.stringify({
  "current-context": "c",
  contexts: [{ name: "c", context: { cluster: "k", user: "u" } }],
  clusters: [{ name: "k", cluster: { server: "https://file.example", "certificate-authority": "/ca" } }],
  users: [{ name: "u", user: { token: "file-token" } }],
});

async function resolve(settings: KubeSettings, files: Record<string, string>, env: AccessSources["env"] = {}): Promise<KubeAccess> {
  return await resolveAccess(settings, { files: memoryFiles(files), env });
}

describe("without any setting", () => {
  test("a pod's own service account is used", async () => {
    expect(await resolve({}, POD_FILES, POD_ENV)).toMatchObject({
      server: "https://10.96.0.1:443",
      ca: { file: `${FOLDER}/ca.crt` },
      user: { tokenFile: `${FOLDER}/token` },
      namespace: "kube-system",
      origin: "service account of this pod",
    });
  });

  test("an IPv6 address of the API gets brackets", async () => {
    expect((await resolve({}, POD_FILES, { ...POD_ENV, KUBERNETES_SERVICE_HOST: "fd00::1" })).server).toBe("https://[fd00::1]:443");
  });

  test.each([{ KUBERNETES_SERVICE_HOST: "" }, { KUBERNETES_SERVICE_PORT: "" }, { KUBERNETES_SERVICE_PORT: undefined }])(
    "half of a pod's variables (%j) is no pod",
    async (change) => {
      expect(await failureOf(resolve({}, POD_FILES, { ...POD_ENV, ...change }))).toMatchObject({ kind: "invalidConfig" });
    },
  );

  test.each([
    ["a b", "443", "https://a b:443"],
    ["a@10.96.0.1", "443", "https://a@10.96.0.1:443"],
    ["a@api", "443", "https://a@api:443"],
    ["10.96.0.1", "tcp://10.96.0.1:443", "https://10.96.0.1:tcp://10.96.0.1:443"],
  ])("variables that make no address (%s, %s) are named", async (host, port, got) => {
    const env = { KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: port };
    const message = `read KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT: got "${got}", want https://host:port`;
    expect(await failureOf(resolve({}, POD_FILES, env))).toMatchObject({ code: 7, message });
  });

  test("a namespace file that is empty names none", async () => {
    expect((await resolve({}, { ...POD_FILES, [`${FOLDER}/namespace`]: "\n" }, POD_ENV)).namespace).toBeUndefined();
  });

  test("outside of a pod the error says what could be set", async () => {
    const error = await failureOf(resolve({}, POD_FILES));
    expect(error).toMatchObject({ kind: "invalidConfig", code: 7 });
    expect(error.message).toContain("want a kubeconfig or the API server's address");
  });

  test("the default kubeconfig beats the pod, as long as it is there", async () => {
    const settings = { defaultKubeconfig: "/users/me/.kube/config" };
    expect((await resolve(settings, { ...POD_FILES, "/users/me/.kube/config": KUBECONFIG }, POD_ENV)).server).toBe("https://file.example");
    expect((await resolve(settings, POD_FILES, POD_ENV)).server).toBe("https://10.96.0.1:443");
  });
});

describe("k8s_api_root", () => {
  test("replaces the kubeconfig's server and leaves its credentials", async () => {
    const settings = { kubeconfig: "/k", apiRoot: "https://other.example:8443/prefix/api/v1/pods" };
    expect(await resolve(settings, { "/k": KUBECONFIG })).toMatchObject({
      server: "https://other.example:8443/prefix",
      ca: { file: "/ca" },
      user: { token: "file-token" },
    });
  });

  test.each(["https://x.example/prefix", "https://x.example/prefix/api", "https://x.example/prefix/api/"])(
    "%s is the server below which the API is",
    async (apiRoot) => {
      expect((await resolve({ apiRoot }, {})).server).toBe("https://x.example/prefix");
    },
  );

  test("alone is asked without credentials, in a pod with the pod's", async () => {
    expect(await resolve({ apiRoot: "http://127.0.0.1:8001/" }, {})).toMatchObject({
      server: "http://127.0.0.1:8001",
      user: { token: undefined },
    });
    expect(await resolve({ apiRoot: "https://api.example" }, POD_FILES, POD_ENV)).toMatchObject({
      server: "https://api.example",
      user: { tokenFile: `${FOLDER}/token` },
    });
  });

  test("beats the default kubeconfig with all that it has", async () => {
    const settings = { apiRoot: "https://other.example", defaultKubeconfig: "/k" };
    expect(await resolve(settings, { "/k": KUBECONFIG })).toMatchObject({ server: "https://other.example", user: { token: undefined } });
  });

  test("without a scheme means TLS where there is a CA to check it by", async () => {
    expect((await resolve({ apiRoot: "127.0.0.1:8001" }, {})).server).toBe("http://127.0.0.1:8001");
    expect((await resolve({ apiRoot: "api.example" }, POD_FILES, POD_ENV)).server).toBe("https://api.example");
  });

  test.each([
    ["HTTPS://10.0.0.1:6443/10.0.0.1", "https://10.0.0.1:6443/10.0.0.1"],
    ["http://10.0.0.1.example", "http://10.0.0.1.example"],
    ["http://1.api", "http://1.api"],
    ["https://[fd00:0::1]:6443", "https://[fd00::1]:6443"],
    ["https://10.0.0.1 \n", "https://10.0.0.1"],
  ])("%s is its own server", async (apiRoot, server) => {
    expect((await resolve({ apiRoot }, {})).server).toBe(server);
  });

  test.each([
    "https://x?y",
    "https:/10.0.0.1",
    "HTTP:/x:6443/y",
    "gopher://x",
    "",
    "https://",
    "https://x y",
    "https://127.1/127.0.0.1",
    "https://127.1//127.0.0.1",
    "https://127.1:6443//127.0.0.1",
    "http://10.0.0.1.",
    "https://127.\t1",
    "10.0.0.1.:6443",
    "01.2.3.4",
    "2130706433",
    "0x7f.0.0.1:80",
  ])("%p is refused with code 7", async (apiRoot) => {
    expect(await failureOf(resolve({ apiRoot }, {}))).toMatchObject({ code: 7 });
  });

  test("that is refused is named as who gave it calls it, beside a kubeconfig too", async () => {
    const settings = { apiRoot: "gopher://x", names: { apiRoot: "K8S_API_ENDPOINT" } };
    const kubeconfig = { "/k": JSON.stringify({ "current-context": "c", contexts: [{ name: "c", context: {} }] }) };
    for (const one of [resolve(settings, {}), resolve({ ...settings, kubeconfig: "/k" }, kubeconfig)])
      expect(await failureOf(one)).toMatchObject({ code: 7, message: expect.stringContaining("read K8S_API_ENDPOINT: got") });
  });
});

describe("a token and a CA file among the settings", () => {
  test("beat what the kubeconfig has", async () => {
    expect(await resolve({ kubeconfig: "/k", token: "mine", caFile: "/my-ca" }, { "/k": KUBECONFIG })).toMatchObject({
      server: "https://file.example",
      ca: { file: "/my-ca" },
      user: { token: "mine" },
      origin: "the settings",
    });
  });

  test("complete an address", async () => {
    expect(await resolve({ apiRoot: "api.example:6443", token: "mine", caFile: "/my-ca" }, {})).toMatchObject({
      server: "https://api.example:6443",
      ca: { file: "/my-ca" },
      user: { token: "mine" },
    });
  });
});

describe("the server's certificate", () => {
  const trusting = KUBECONFIG.replace('"certificate-authority":"/ca"', '"insecure-skip-tls-verify":true');

  test.each([
    ["in a pod", {}, POD_ENV],
    ["of an address in a pod", { apiRoot: "https://api.example" }, POD_ENV],
    ["of an address alone", { apiRoot: "https://api.example" }, {}],
    ["of an address with a token", { apiRoot: "https://api.example", token: "mine" }, {}],
    ["of a kubeconfig", { kubeconfig: "/k" }, {}],
    ["of a kubeconfig that trusts anybody, when the settings name a CA", { kubeconfig: "/trusting", caFile: "/my-ca" }, {}],
  ])("is checked: %s", async (_name, settings, env) => {
    const files = { ...POD_FILES, "/k": KUBECONFIG, "/trusting": trusting };
    expect((await resolve(settings, files, env)).skipsTlsVerify).toBe(false);
  });

  test.each([
    ["the settings", { kubeconfig: "/k", skipsTlsVerify: true }],
    ["the kubeconfig", { kubeconfig: "/trusting" }],
  ])("is not where %s say so", async (_name, settings) => {
    expect((await resolve(settings, { "/k": KUBECONFIG, "/trusting": trusting })).skipsTlsVerify).toBe(true);
  });
});

test("a context without any kubeconfig is a mistake", async () => {
  expect(await failureOf(resolve({ context: "c" }, POD_FILES, POD_ENV))).toMatchObject({
    code: 7,
    message: "choose context: got one, but no kubeconfig to look for it in",
  });
});
