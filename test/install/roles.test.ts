/**
 * What each role may do on a real API server: everything that it needs, and nothing else. Each verb is tried with a token of the role's
 * own.
 */

import { describe, expect, test as always } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { repositoryRoot } from "../../tools/repository.ts";
import { startApiServer } from "../support/servers/api-server.ts";
import type { Json } from "../support/programs/cni-call.ts";
import { eventually } from "../support/time/eventually.ts";
import { createPod } from "../support/servers/kubernetes.ts";
import { onApiServer } from "../support/servers/on-api-server.ts";

const manifest = (name: string): string => join(repositoryRoot, "manifests", name);

type Verb = "get" | "list" | "watch" | "create" | "update" | "patch" | "delete" | "deletecollection";
const VERBS: readonly Verb[] = ["get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"];

const REFUSED = "ValidatingAdmissionPolicy 'netplug-cni' with binding 'netplug-cni' denied request: the plugin may change ";

interface Resource {
  /** `apis/apps/v1`, `api/v1`. */
  readonly base: string;
  /** With the subresource. */
  readonly name: string;
  readonly isNamespaced: boolean;
}

const inCore = (isNamespaced: boolean, ...names: readonly string[]): Resource[] =>
  names.map((name) => ({ base: "api/v1", name, isNamespaced }));
const inGroup = (group: string, version: string, isNamespaced: boolean, ...names: readonly string[]): Resource[] =>
  names.map((name) => ({ base: `apis/${group}/${version}`, name, isNamespaced }));

/** Ours, what is next to it, and whatever gives power over a cluster. */
const RESOURCES: readonly Resource[] = [
  ...inCore(true, "pods", "pods/status", "pods/ephemeralcontainers", "pods/exec", "pods/eviction", "pods/binding", "pods/log"),
  ...inCore(
    true,
    "secrets",
    "configmaps",
    "serviceaccounts",
    "serviceaccounts/token",
    "services",
    "services/status",
    "endpoints",
    "events",
  ),
  ...inCore(false, "nodes", "nodes/status", "nodes/proxy", "namespaces", "namespaces/status", "namespaces/finalize", "persistentvolumes"),
  ...inGroup("netplug.io", "v3", false, "clusterinformations", "ipamblocks", "ipamconfigurations", "ippools", "ipreservations"),
  ...inGroup("netplug.io", "v3", false, "profiles", "tiers", "globalnetworkpolicies", "agentconfigurations", "hostendpoints"),
  ...inGroup("netplug.io", "v3", true, "networkpolicies", "networksets"),
  ...inGroup("netplug.io", "v3", false, "ippools/status", "ipamblocks/status"),
  ...inGroup("apps", "v1", true, "deployments", "daemonsets"),
  ...inGroup("coordination.k8s.io", "v1", true, "leases"),
  ...inGroup("networking.k8s.io", "v1", true, "networkpolicies"),
  ...inGroup("networking.k8s.io", "v1", false, "servicecidrs"),
  ...inGroup("rbac.authorization.k8s.io", "v1", true, "roles", "rolebindings"),
  ...inGroup("rbac.authorization.k8s.io", "v1", false, "clusterroles", "clusterrolebindings"),
  ...inGroup("apiextensions.k8s.io", "v1", false, "customresourcedefinitions"),
  ...inGroup("certificates.k8s.io", "v1", false, "certificatesigningrequests", "certificatesigningrequests/approval"),
  ...inGroup("admissionregistration.k8s.io", "v1", false, "mutatingwebhookconfigurations"),
];

/** An object that a request names, and where. */
interface Place {
  readonly namespace: string;
  readonly name: string;
}

interface Attempt extends Place {
  readonly verb: Verb;
  readonly resource: Resource;
}

/** Whether such a request exists: subresources are never listed. */
function isPossible(verb: Verb, { name }: Resource): boolean {
  return !name.includes("/") || ["get", "create", "update", "patch"].includes(verb);
}

/** `patch pods/status`, `get ippools.netplug.io`: as `kubectl auth can-i` and the API server's refusals name it. */
function toText({ verb, resource: { base, name } }: Attempt): string {
  const [, group] = base.split("/");
  return base === "api/v1" ? `${verb} ${name}` : `${verb} ${name}.${group}`;
}

const tokens = new Map<string, string>();

/** Tokens of accounts, made by the project's own client. */
async function createToken(account: string): Promise<string> {
  return (await api.kubectl(["create", "token", account, "-n", "kube-system"])).trim();
}

/** Brings the roles, and accounts that have them. */
async function prepareAccounts(): Promise<void> {
  for (const file of ["rbac.yaml", "rbac.yaml"]) await api.kubectl(["apply", "--server-side", "--force-conflicts", "-f", manifest(file)]);
  for (const [account, role] of [
    ["reader", "netplug-cni-readonly"],
    ["administrator", "netplug-admin"],
    ["viewer", "netplug-view"],
  ] as const) {
    await api.kubectl(["create", "serviceaccount", account, "-n", "kube-system"]);
    const subject = `--serviceaccount=kube-system:${account}`;
    await api.kubectl(["create", "clusterrolebinding", account, `--clusterrole=${role}`, subject]);
  }
  await api.kubectl(["create", "serviceaccount", "nobody", "-n", "kube-system"]);
  for (const account of ["netplug-cni-plugin", "netplug-node", "reader", "administrator", "viewer", "nobody"])
    tokens.set(account, await createToken(account));
  for (const account of ["reader", "administrator", "viewer"])
    await eventually(async () => expect(await tryOut(account, { verb: "get", resource: podsOf(), ...ANYWHERE })).toBe(true));
}

const [test, api] = onApiServer(() => startApiServer(), prepareAccounts);

const podsOf = (): Resource => ({ base: "api/v1", name: "pods", isNamespaced: true });
const ANYWHERE: Place = { namespace: "default", name: "some" };

/** @returns whether the role lets it through, whatever comes of it then; nothing is changed by it */
async function tryOut(account: string, attempt: Attempt): Promise<boolean> {
  const { verb, resource, namespace, name } = attempt;
  const [plural = "", ...sub] = resource.name.split("/");
  const isOnCollection = ["list", "watch", "deletecollection"].includes(verb) || (verb === "create" && sub.length === 0);
  const path = [
    resource.base,
    ...(resource.isNamespaced ? ["namespaces", namespace] : []),
    plural,
    ...(isOnCollection ? [] : [name]),
    ...sub,
  ].join("/");
  const method = {
    get: "GET",
    list: "GET",
    watch: "GET",
    create: "POST",
    update: "PUT",
    patch: "PATCH",
    delete: "DELETE",
    deletecollection: "DELETE",
  }[verb];
  const isWrite = method !== "GET";
  const query = verb === "watch" ? "?watch=true&timeoutSeconds=1" : isWrite ? "?dryRun=All" : "";
  const response = await fetch(`${api.url}/${path}${query}`, {
    method,
    headers: {
      authorization: `Bearer ${tokens.get(account) ?? ""}`,
      ...(isWrite && { "content-type": verb === "patch" ? "application/merge-patch+json" : "application/json" }),
    },
    ...(isWrite && { body: "{}" }),
    tls: { ca: Bun.file(api.caFile) },
  });
  if (verb === "watch" && response.ok) {
    await response.body?.cancel();
    return true;
  }
  const text = await response.text();
  if (response.status === 401) throw new Error(`${toText(attempt)}: the token is not accepted: ${text}`);
  if (response.status !== 403) return true;
  expect(text).toContain("cannot ");
  return false;
}

/** Everything that the account may do with some object, as texts. */
async function permissionsOf(account: string, place: Place = ANYWHERE): Promise<readonly string[]> {
  const attempts = RESOURCES.flatMap((resource) =>
    VERBS.filter((verb) => isPossible(verb, resource)).map((verb): Attempt => ({ verb, resource, ...place })),
  );
  const permitted: string[] = [];
  for (const attempt of attempts) if (await tryOut(account, attempt)) permitted.push(toText(attempt));
  return permitted.sort();
}

describe("on the Kubernetes datastore", () => {
  test("the plugin may do what an ADD, DEL, CHECK, STATUS and GC need, and nothing else (needs cluster)", async () => {
    expect(await permissionsOf("netplug-cni-plugin")).toEqual(
      [
        "get pods",
        "patch pods/status",
        "get namespaces",
        "get nodes",
        "get ippools.netplug.io",
        "list ippools.netplug.io",
        "list ipreservations.netplug.io",
        "get ipamblocks.netplug.io",
        "list ipamblocks.netplug.io",
        "create ipamblocks.netplug.io",
        "update ipamblocks.netplug.io",
        "delete ipamblocks.netplug.io",
      ].sort(),
    );
  });

  test("of the objects that there is one of, the plugin may read that one (needs cluster)", async () => {
    const more = await permissionsOf("netplug-cni-plugin", { namespace: "kube-system", name: "default" });
    expect(more.filter((text) => /clusterinformations|ipamconfigurations/.test(text))).toEqual([
      "get clusterinformations.netplug.io",
      "get ipamconfigurations.netplug.io",
    ]);
  });
});

/** @returns what the API server says of a change that it refuses to the plugin; nothing is changed */
async function changeStatus({ namespace, name }: Place, what: Json): Promise<string | undefined> {
  const response = await fetch(`${api.url}/api/v1/namespaces/${namespace}/pods/${name}/status?dryRun=All`, {
    method: "PATCH",
    headers: { authorization: `Bearer ${tokens.get("netplug-cni-plugin") ?? ""}`, "content-type": "application/merge-patch+json" },
    body: JSON.stringify(what),
    tls: { ca: Bun.file(api.caFile) },
  });
  const { message } = (await response.json()) as { readonly message?: string };
  return message;
}

test("in the status of a pod the plugin may change its own annotations, and nothing else (needs cluster)", async () => {
  const { namespace, name } = await createPod(api, { name: "another", otherAnnotations: { "example.org/of": "another" } });
  const change = (what: Json): Promise<string | undefined> => changeStatus({ namespace, name }, what);
  const annotate = (key: string, value: string | null): Promise<string | undefined> =>
    change({ metadata: { annotations: { [key]: value } } });
  // a policy begins to hold a little after it was created
  await eventually(async () =>
    expect((await change({ status: { podIP: "10.0.0.1", podIPs: [{ ip: "10.0.0.1" }] } })) ?? "done").toContain(REFUSED),
  );
  expect(await change({ status: { phase: "Failed" } })).toContain(REFUSED);
  expect(await change({ metadata: { labels: { app: "shop" } } })).toContain(REFUSED);
  expect(await change({ metadata: { finalizers: ["example.org/never"] } })).toContain(REFUSED);
  expect(await annotate("example.org/of", "nobody")).toContain(REFUSED);
  expect(await annotate("example.org/of", null)).toContain(REFUSED);
  for (const of of ["ipAddrs", "podIPsx", "xpodIP"]) expect(await annotate(`cni.netplug.io/${of}`, "x")).toContain(REFUSED);
  for (const of of ["containerID", "podIP", "podIPs", "podIPs.net1"]) expect(await annotate(`cni.netplug.io/${of}`, "x")).toBeUndefined();
});

test("the record of a pod can be cleared however many annotations its owner gave it (needs cluster)", async () => {
  const many = (count: number): Record<string, string> => Object.fromEntries(Array.from({ length: count }, (_, at) => [`a${at}`, ""]));
  const clear = async (name: string): Promise<string | undefined> => {
    await createPod(api, { name, annotations: { podIPs: "10.65.0.9/32" }, otherAnnotations: many(Number(name.slice(1))) });
    return await changeStatus({ namespace: "default", name }, { metadata: { annotations: { "cni.netplug.io/podIPs": "" } } });
  };
  expect(await clear("p40000")).toBeUndefined();
  // the plugin's account cannot itself give a pod so many that it may change the others
  expect(await clear("p999")).toBeUndefined();
  expect(
    await changeStatus({ namespace: "default", name: "p999" }, { metadata: { annotations: { "cni.netplug.io/podIP": "" } } }),
  ).toContain(REFUSED);
});

test("with etcd or host-local the plugin may get pods, namespaces and nodes (needs cluster)", async () => {
  expect(await permissionsOf("reader")).toEqual(["get namespaces", "get nodes", "get pods"]);
  expect(await permissionsOf("reader", { namespace: "kube-system", name: "default" })).toHaveLength(3);
});

test("whoever has no role may do nothing: what is found above comes from the roles (needs cluster)", async () => {
  expect(await permissionsOf("nobody")).toEqual([]);
});

test("an administrator may do with our objects what netplugctl does, and nothing with another's but read pods, a namespace and Services' networks, and label nodes (needs cluster)", async () => {
  const ours = RESOURCES.filter(({ base, name }) => base.startsWith("apis/netplug.io/") && !name.includes("/"));
  const verbs: readonly Verb[] = ["get", "list", "watch", "create", "patch", "delete"];
  const permitted = (await permissionsOf("administrator")).filter((text) => !text.endsWith("/status.netplug.io"));
  expect(permitted).toEqual(
    [
      ...ours.flatMap((resource) => verbs.map((verb) => toText({ verb, resource, ...ANYWHERE }))),
      "update ipamblocks.netplug.io",
      "get nodes",
      "list nodes",
      "watch nodes",
      "patch nodes",
      "get pods",
      "list pods",
      "watch pods",
      "get namespaces",
      "list servicecidrs.networking.k8s.io",
      ...["get", "create", "patch"].map((verb) => `${verb} customresourcedefinitions.apiextensions.k8s.io`),
    ].sort(),
  );
});

test("a viewer may look at our objects, pods, nodes, a namespace and Services' networks, and change nothing (needs cluster)", async () => {
  const ours = RESOURCES.filter(({ base, name }) => base.startsWith("apis/netplug.io/") && !name.includes("/"));
  const verbs: readonly Verb[] = ["get", "list", "watch"];
  const permitted = (await permissionsOf("viewer")).filter((text) => !text.endsWith("/status.netplug.io"));
  expect(permitted).toEqual(
    [
      ...ours.flatMap((resource) => verbs.map((verb) => toText({ verb, resource, ...ANYWHERE }))),
      "get nodes",
      "list nodes",
      "watch nodes",
      "get pods",
      "list pods",
      "watch pods",
      "get namespaces",
      "list servicecidrs.networking.k8s.io",
    ].sort(),
  );
});

describe("the installer", () => {
  const token: Resource = { base: "api/v1", name: "serviceaccounts/token", isNamespaced: true };

  test("may ask for the plugin's token, and do nothing else with anything (needs cluster)", async () => {
    expect(await permissionsOf("netplug-node", { namespace: "kube-system", name: "netplug-cni-plugin" })).toEqual([
      "create serviceaccounts/token",
    ]);
  });

  test("may ask for no other account's token, its own included, nor for one in another namespace (needs cluster)", async () => {
    expect(await permissionsOf("netplug-node", { namespace: "default", name: "netplug-cni-plugin" })).toEqual([]);
    for (const name of ["netplug-node", "reader", "default"]) {
      expect(await tryOut("netplug-node", { verb: "create", resource: token, namespace: "kube-system", name })).toBe(false);
    }
  });
});

test("the installer gets a token of the plugin for a day, and for no longer (needs cluster)", async () => {
  const ask = async (expirationSeconds: number): Promise<string | undefined> => {
    const response = await fetch(`${api.url}/api/v1/namespaces/kube-system/serviceaccounts/netplug-cni-plugin/token`, {
      method: "POST",
      headers: { authorization: `Bearer ${tokens.get("netplug-node") ?? ""}`, "content-type": "application/json" },
      body: JSON.stringify({ apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", spec: { expirationSeconds } }),
      tls: { ca: Bun.file(api.caFile) },
    });
    const { message } = (await response.json()) as { readonly message?: string };
    return message;
  };
  for (const seconds of [86_401, 2 ** 32])
    await eventually(async () => expect((await ask(seconds)) ?? "granted").toContain("may ask for a token of a day at most"));
  expect(await ask(86_400)).toBeUndefined();
});

test("no role lets anybody act as somebody else, or look around beyond what everybody may (needs cluster)", async () => {
  for (const account of ["netplug-cni-plugin", "netplug-node", "reader", "viewer"]) {
    const as = async (path: string, headers: Readonly<Record<string, string>> = {}): Promise<number> => {
      const authorization = `Bearer ${tokens.get(account) ?? ""}`;
      return (await fetch(api.url + path, { headers: { authorization, ...headers }, tls: { ca: Bun.file(api.caFile) } })).status;
    };
    expect(await as("/api/v1/nodes", { "impersonate-user": "admin", "impersonate-group": "system:masters" })).toBe(403);
    expect([await as("/metrics"), await as("/logs/"), await as("/version")]).toEqual([403, 403, 200]);
  }
});

interface Manifest {
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly roleRef?: { readonly name: string };
  readonly subjects?: readonly { readonly name: string }[];
}

always("both files say the same, but for what the plugin is bound to", () => {
  const read = (name: string): readonly Manifest[] => Bun.YAML.parse(readFileSync(manifest(name), "utf8")) as readonly Manifest[];
  const [full, etcd] = [read("rbac.yaml"), read("rbac-etcd.yaml")];
  const bindingOf = (documents: readonly Manifest[]): unknown =>
    documents.filter(({ kind }) => kind === "ClusterRoleBinding").map(({ roleRef, subjects }) => [roleRef?.name, subjects?.[0]?.name]);
  expect([bindingOf(full), bindingOf(etcd)]).toEqual([
    [["netplug-cni", "netplug-cni-plugin"]],
    [["netplug-cni-readonly", "netplug-cni-plugin"]],
  ]);
  const others = (documents: readonly Manifest[]): unknown =>
    documents.filter(
      ({ kind, metadata }) => kind !== "ClusterRoleBinding" && !["netplug-cni", "netplug-admin", "netplug-view"].includes(metadata.name),
    );
  expect(others(etcd)).toEqual(others(full));
  expect(full.map(({ kind, metadata }) => `${kind} ${metadata.name}`)).toEqual([
    "ServiceAccount netplug-cni-plugin",
    "ServiceAccount netplug-node",
    "ClusterRole netplug-cni",
    "ClusterRole netplug-cni-readonly",
    "ClusterRole netplug-admin",
    "ClusterRole netplug-view",
    "ClusterRoleBinding netplug-cni",
    "ValidatingAdmissionPolicy netplug-cni",
    "ValidatingAdmissionPolicyBinding netplug-cni",
    "Role netplug-cni-installer",
    "RoleBinding netplug-cni-installer",
    "ValidatingAdmissionPolicy netplug-cni-installer",
    "ValidatingAdmissionPolicyBinding netplug-cni-installer",
  ]);
});
