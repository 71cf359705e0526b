/** On a real API server: pools that overlap the addresses of Services are warned of. */

import { beforeEach, expect } from "bun:test";
import { readFileSync } from "node:fs";
import { poolYaml, resourceYaml } from "../support/cli/documents.ts";
import { shareKubernetesCliWorld } from "../support/cli/kubernetes-cli-world.ts";
import { untilAllowed } from "../support/servers/rights.ts";

const [test, world] = shareKubernetesCliWorld(async (world) => {
  await world.done(["init"]);
});

beforeEach(async () => {
  await world.api.kubectl(["delete", "ippools,ipreservations", "--all"]);
});

/** The server's own `--service-cluster-ip-range`. */
const OWN = '10.96.0.0/16 of servicecidr "kubernetes"';

const detailOf = (services: string): string =>
  `it overlaps ${services}: a pod may get the address of a Service, and what is sent to it go there; reserve what both have by an IPReservation, or make another pool`;

const make = (...pools: readonly string[]) => world.ctl(["apply", "-f", "-"], { stdin: pools.join("\n---\n") });
const warnings = async (): Promise<unknown> => (await world.json<{ readonly warnings: unknown }>("ipam", "check")).warnings;

test.each(["10.96.64.0/18", "10.96.0.0/12"])(
  "%s, when it is made and by the check, until pods get none of these addresses (needs cluster)",
  async (cidr) => {
    const made = await make(poolYaml("x", cidr), poolYaml("y", "10.65.0.0/16"));
    expect(made).toEqual({
      status: 0,
      stdout: "ippool/x created\nippool/y created\n",
      stderr: `warning: ippool "x": ${detailOf(OWN)}\n`,
    });
    expect(await warnings()).toEqual([{ kind: "IPPool", object: "x", detail: detailOf(OWN) }]);
    expect(await world.ctl(["ipam", "check"])).toMatchObject({ status: 0, stdout: expect.stringContaining("found 0 problems, 1 warning") });
    await world.done(["patch", "ippool", "x", "-p", '{"spec":{"disabled":true}}']);
    expect(await warnings()).toEqual([]);
    await world.done(["patch", "ippool", "x", "-p", '{"spec":{"disabled":false}}']);
    await world.create(resourceYaml("IPReservation", "part", { reservedCIDRs: ["10.96.0.0/17"] }));
    expect(await warnings()).toEqual(cidr === "10.96.64.0/18" ? [] : [expect.objectContaining({ object: "x" })]);
    await world.create(resourceYaml("IPReservation", "services", { reservedCIDRs: ["10.96.0.0/16"] }));
    expect(await warnings()).toEqual([]);
  },
);

test("all Services' addresses that a pool overlaps are named, those that were added later too (needs cluster)", async () => {
  const more = { apiVersion: "networking.k8s.io/v1", kind: "ServiceCIDR", metadata: { name: "more" }, spec: { cidrs: ["10.97.0.0/24"] } };
  await world.api.kubectl(["create", "-f", "-"], JSON.stringify(more));
  expect(await make(poolYaml("x", "10.96.0.0/15"), poolYaml("y", "10.98.0.0/24"))).toMatchObject({ status: 0 });
  expect(await warnings()).toEqual([
    expect.objectContaining({ object: "x", detail: detailOf(`${OWN} and 10.97.0.0/24 of servicecidr "more"`) }),
  ]);
});

test("whoever may not list them makes pools without a word, and hears from the check that it did not compare (needs cluster)", async () => {
  const rules = [
    { apiGroups: ["netplug.io"], resources: ["*"], verbs: ["get", "list", "create", "patch"] },
    { apiGroups: [""], resources: ["pods", "nodes"], verbs: ["get", "list"] },
  ];
  const role = { apiVersion: "rbac.authorization.k8s.io/v1", kind: "ClusterRole", metadata: { name: "narrow" }, rules };
  await world.api.kubectl(["create", "-f", "-"], JSON.stringify(role));
  await world.api.kubectl(["create", "clusterrolebinding", "narrow", "--clusterrole=narrow", "--user=narrow"]);
  await untilAllowed(world.api, "narrow", "list", "nodes");
  const env = { KUBECONFIG: world.api.issue("narrow").kubeconfigFile };
  const made = await world.ctl(["create", "-f", "-"], { env, stdin: poolYaml("x", "10.96.64.0/18") });
  expect(made).toEqual({ status: 0, stdout: "ippool/x created\n", stderr: "" });
  const { status, stdout, stderr } = await world.ctl(["ipam", "check"], { env });
  expect([status, stdout]).toEqual([0, expect.stringContaining("found 0 problems\n")]);
  expect(stderr).toBe("pools are not compared with Services: list servicecidrs.networking.k8s.io is not permitted; role netplug-view\n");
});

test("whoever makes a pool hears why that took long, where nobody answers for Services (needs cluster)", async () => {
  const { url, caFile, token } = world.api;
  const tls = { ca: readFileSync(caFile, "utf8") };
  using front = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    idleTimeout: 0,
    async fetch(request) {
      const { pathname, search } = new URL(request.url);
      if (pathname.endsWith("/servicecidrs")) return new Promise<never>(() => {});
      const headers = { authorization: `Bearer ${token}`, "content-type": request.headers.get("content-type") ?? "application/json" };
      const body = request.method === "GET" ? null : await request.text();
      const answer = await fetch(`${url}${pathname}${search}`, { method: request.method, headers, body, tls });
      return new Response(await answer.text(), { status: answer.status, headers: { "content-type": "application/json" } });
    },
  });
  const env = { KUBECONFIG: "", K8S_API_ENDPOINT: `http://127.0.0.1:${front.port}` };
  const made = await world.ctl(["create", "-f", "-"], { env, stdin: poolYaml("x", "10.65.0.0/24") });
  expect(made).toEqual({
    status: 0,
    stdout: "ippool/x created\n",
    stderr: `pools are not compared with Services: list servicecidrs.networking.k8s.io: ${env.K8S_API_ENDPOINT}: no answer within 5 s\n`,
  });
});
