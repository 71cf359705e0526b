/** The light form of the cluster, asked by the project's own client and by plain HTTPS. */

import { expect } from "bun:test";
import { existsSync } from "node:fs";
import { clusterVersion, kubernetesVersion } from "../../tools/prerequisites/cluster-programs.ts";
import { startApiServer } from "../support/servers/api-server.ts";
import type { Identity } from "../support/servers/api-server.ts";
import { eventually } from "../support/time/eventually.ts";
import { onApiServer } from "../support/servers/on-api-server.ts";
import { startTimeOf } from "../support/daemons/process-status.ts";

const [test, api] = onApiServer(() => startApiServer({ users: { alice: { groups: ["readers"] } } }));

async function get(path: string, credentials: { readonly token: string } | Identity): Promise<Response> {
  const ca = Bun.file(api.caFile);
  return "token" in credentials
    ? await fetch(`${api.url}${path}`, { headers: { authorization: `Bearer ${credentials.token}` }, tls: { ca } })
    : await fetch(`${api.url}${path}`, { tls: { ca, cert: Bun.file(credentials.certFile), key: Bun.file(credentials.keyFile) } });
}

const podOf = (name: string): string =>
  JSON.stringify({
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name },
    spec: { containers: [{ name: "main", image: "localhost/none:1" }] },
  });

test("the administrator's certificate, token and kubeconfig are let in, and the version is the one that go.mod pins", async () => {
  const version = JSON.parse(await api.kubectl(["version", "-o", "json"])) as Record<
    "clientVersion" | "serverVersion",
    { gitVersion: string }
  >;
  expect(version.serverVersion.gitVersion).toBe(`v${clusterVersion()}`);
  expect(version.clientVersion.gitVersion).toBe(`v${kubernetesVersion()}`);
  expect((await get("/api/v1/nodes", { token: api.token })).status).toBe(200);
  const certificate = { certFile: api.clientCertFile, keyFile: api.clientKeyFile, kubeconfigFile: api.kubeconfigFile };
  expect((await get("/api/v1/nodes", certificate)).status).toBe(200);
});

test("pods can be made although nothing runs them", async () => {
  expect(await api.kubectl(["apply", "-f", "-"], podOf("lonely"))).toBe("pod/lonely created\n");
  expect(await api.kubectl(["get", "pod", "lonely", "-o", "jsonpath={.status.phase}"])).toBe("Pending");
});

test("a user without a role is refused, and let in when RBAC says so", async () => {
  const alice = { token: api.tokenOf("alice") };
  expect((await get("/api/v1/nodes", alice)).status).toBe(403);
  await api.kubectl(["create", "clusterrole", "see-nodes", "--verb=list", "--resource=nodes"]);
  await api.kubectl(["create", "clusterrolebinding", "see-nodes", "--clusterrole=see-nodes", "--group=readers"]);
  await eventually(async () => expect((await get("/api/v1/nodes", alice)).status).toBe(200));
  expect((await get("/api/v1/pods", alice)).status).toBe(403);
  const bob = api.issue("bob", ["readers"]);
  expect((await get("/api/v1/nodes", bob)).status).toBe(200);
  expect((await get("/api/v1/nodes", { token: "nobody-gave-this" })).status).toBe(401);
});

test("the server can be stopped and started again on the same port, with its data", async () => {
  await api.kubectl(["create", "configmap", "kept", "--from-literal=a=b"]);
  await api.server.stop();
  expect(api.kubectl(["get", "configmap", "kept"])).rejects.toThrow("refused");
  await api.server.start();
  expect(await api.kubectl(["get", "configmap", "kept", "-o", "jsonpath={.data.a}"])).toBe("b");
  await api.etcd.stop();
  await api.etcd.start();
  await eventually(async () => expect((await get("/api/v1/namespaces/default/configmaps/kept", { token: api.token })).status).toBe(200));
});

test("stopping it leaves no process and no file", async () => {
  const own = await startApiServer();
  const pids = [own.server.pid ?? 0, own.etcd.pid ?? 0];
  expect(pids.map((pid) => startTimeOf(pid))).toEqual([expect.any(String), expect.any(String)]);
  await own.stop();
  expect(pids.map((pid) => startTimeOf(pid))).toEqual([undefined, undefined]);
  expect(existsSync(own.folder)).toBe(false);
});
