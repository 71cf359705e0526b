/** What a config or an environment holds in confidence never comes out: not on stdout, not on stderr, not in the log file. */

import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import type { CniCall, Json } from "../support/programs/cni-call.ts";
import { TestNetns } from "../support/node/netns.ts";
import { share } from "../support/share.ts";
import { TestNode } from "../support/node/test-node.ts";

const SECRET = "s3CRETs3CRET";
const node = share(() => TestNode.start(["10.65.0.0/24"]));

const LOGIN: Json = { etcd_username: "root", etcd_password: SECRET };

test.each<[what: string, overrides: Json, call: CniCall]>([
  ["a login that nobody asks for", LOGIN, {}],
  ["a login while etcd is away", { ...LOGIN, etcd_endpoints: "http://127.0.0.1:1" }, {}],
  [
    "a login in the environment while etcd is away",
    { etcd_endpoints: "http://127.0.0.1:1" },
    { env: { ETCD_USERNAME: "root", ETCD_PASSWORD: SECRET } },
  ],
  ["a password inside an endpoint", { etcd_endpoints: `http://root:${SECRET}@127.0.0.1:1` }, {}],
  [
    "a password inside an endpoint of the environment",
    { etcd_endpoints: "" },
    { env: { ETCD_ENDPOINTS: `http://root:${SECRET}@127.0.0.1:1` } },
  ],
  ["a password inside an authority", { etcd_endpoints: "", etcd_authority: `root:${SECRET}@127.0.0.1:1` }, {}],
  [
    "a password inside a gate that is closed",
    { readiness_gates: [`http://u:${SECRET}@127.0.0.1:1/`], etcd_endpoints: "http://127.0.0.1:1" },
    {},
  ],
  ["a password of a wrong type", { etcd_username: "root", etcd_password: [SECRET] }, {}],
  ["a password that is not allowed", { etcd_username: "root", etcd_password: `${SECRET}\n` }, {}],
  ["a token among the arguments", {}, { args: `TOKEN=${SECRET}=x` }],
  ["a token of Kubernetes", { policy: { k8s_auth_token: SECRET, type: "none" } }, {}],
  ["a config that is no JSON", {}, { config: `{"cniVersion": "1.0.0", "name": "x", "etcd_password": "${SECRET}" "x"}` }],
])("%s", async (_what, overrides, call) => {
  using pod = new TestNetns();
  const containerID = node.newContainerID();
  const config = node.config(overrides);
  for (const verb of ["ADD", "DEL"] as const) {
    const { stdout, stderr } = await node.call(verb, { containerID, netns: pod.path, config, ...call });
    expect(stdout).not.toContain(SECRET);
    expect(stderr).not.toContain(SECRET);
  }
  expect(readFileSync(node.logFile, "utf8")).not.toContain(SECRET);
  await node.del({ containerID, netns: pod.path });
});

test("a key whose value is a secret is named all the same", async () => {
  using pod = new TestNetns();
  const config = node.config({ etcd_username: "root", etcd_password: 5 });
  const { json } = await node.call("ADD", { containerID: node.newContainerID(), netns: pod.path, config });
  expect(json).toMatchObject({ code: 7, msg: 'read "etcd_password" (never shown): got a number, want a text' });
});

test("a password that goes in the clear although there are certificates is warned about, once a call, and kept to itself", async () => {
  using pod = new TestNetns();
  const containerID = node.newContainerID();
  const config = node.config({ ...LOGIN, etcd_ca_cert_file: "/nowhere/ca.pem" });
  for (const verb of ["ADD", "DEL"] as const) expect((await node.call(verb, { containerID, netns: pod.path, config })).status).toBe(0);
  // Runtimes ask for it all the time.
  expect((await node.call("STATUS", { config })).status).toBe(0);
  const { etcd_endpoints: endpoint } = node.datastore.config;
  const warning = `etcd_endpoints: "${String(endpoint)}" without TLS: etcd_ca_cert_file has no effect there, and everything, the password too, goes in the clear`;
  const own = node.logLines().filter(({ msg, level }) => level === "WARNING" && String(msg).includes("without TLS"));
  expect(own.map(({ msg }) => msg)).toEqual(Array.from({ length: 2 }, () => expect.stringContaining(warning)));
  expect(readFileSync(node.logFile, "utf8")).not.toContain(SECRET);
});
