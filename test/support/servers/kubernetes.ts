/** For tests: pods, namespaces and nodes on a real API server, and the plugin's rights there. */

import type { ApiServer } from "./api-server.ts";
import { untilAllowed } from "./rights.ts";

type Texts = Readonly<Record<string, string>>;

/** Begins the name of every annotation of ours. */
const ANNOTATION_PREFIX = "cni.netplug.io/";

/** What a test gives a pod; the rest is what a pod must have. */
export interface PodTemplate {
  readonly name: string;
  /** @default "default" */
  readonly namespace?: string;
  readonly labels?: Texts;
  /** Of ours, without the prefix. */
  readonly annotations?: Texts;
  /** Of others, as they are. */
  readonly otherAnnotations?: Texts;
  /** Added to the spec. */
  readonly spec?: object;
}

/** A pod that exists. */
export interface TestPod {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  /** `CNI_ARGS` as containerd writes them. */
  readonly args: string;
}

/** Creates a pod that nobody runs. */
export async function createPod(api: ApiServer, template: PodTemplate): Promise<TestPod> {
  const { name, namespace = "default", labels = {}, annotations = {}, otherAnnotations = {}, spec = {} } = template;
  const pod = {
    metadata: { name, labels, annotations: { ...otherAnnotations, ...withPrefix(annotations) } },
    spec: { containers: [{ name: "main", image: "localhost/none:1" }], ...spec },
  };
  const { uid } = (await create<{ readonly metadata: { readonly uid: string } }>(api, podsIn(namespace), pod)).metadata;
  return { namespace, name, uid, args: podArgs({ namespace, name, uid }) };
}

/** `CNI_ARGS` of a pod. */
export function podArgs({ namespace, name, uid }: { readonly namespace: string; readonly name: string; readonly uid?: string }): string {
  return `IgnoreUnknown=1;K8S_POD_NAMESPACE=${namespace};K8S_POD_NAME=${name}${uid === undefined ? "" : `;K8S_POD_UID=${uid}`}`;
}

/** Has a pod report addresses, as its kubelet does while it runs. */
export async function reportAddresses(
  api: ApiServer,
  { namespace, name }: Pick<TestPod, "namespace" | "name">,
  addresses: readonly string[],
): Promise<void> {
  const [podIP] = addresses;
  const status = { phase: "Running", podIP, podIPs: addresses.map((ip) => ({ ip })) };
  const patch = JSON.stringify({ status });
  await api.kubectl(["patch", "pod", name, "--namespace", namespace, "--subresource=status", "--type=merge", "-p", patch]);
}

/** Deletes a pod at once, as a kubelet does at the end; one that is gone is no failure. */
export async function deletePod(api: ApiServer, { namespace, name }: Pick<TestPod, "namespace" | "name">): Promise<void> {
  await api.mustRequest("DELETE", `${podsIn(namespace)}/${name}?gracePeriodSeconds=0`, undefined, [404]);
}

export async function createNamespace(api: ApiServer, name: string, metadata: { labels?: Texts; annotations?: Texts } = {}): Promise<void> {
  const { labels = {}, annotations = {} } = metadata;
  await create(api, "/api/v1/namespaces", { metadata: { name, labels, annotations: withPrefix(annotations) } });
}

/** A Node object without a machine. */
export async function createNode(api: ApiServer, name: string, podCIDRs: readonly string[]): Promise<void> {
  const [podCIDR] = podCIDRs;
  const spec = podCIDR === undefined ? {} : { podCIDR, podCIDRs };
  await create(api, "/api/v1/nodes", { metadata: { name }, spec });
}

/** Lets a user do what the plugin needs beside etcd, and no more. */
export async function grantReadOnly(
  api: ApiServer,
  user: string,
  resources: readonly string[] = ["pods", "namespaces", "nodes"],
): Promise<void> {
  const name = `read-only-${user}`;
  await api.kubectl(["create", "clusterrole", name, "--verb=get", `--resource=${resources.join(",")}`]);
  await api.kubectl(["create", "clusterrolebinding", name, `--clusterrole=${name}`, `--user=${user}`]);
  for (const resource of resources) await untilAllowed(api, user, "get", resource);
}

/** Where the pods of a namespace are. */
export function podsIn(namespace: string): string {
  return `/api/v1/namespaces/${namespace}/pods`;
}

/** A field that the API server does not know is a failure. */
function create<T>(api: ApiServer, collection: string, object: object): Promise<T> {
  return api.mustRequest<T>("POST", `${collection}?fieldValidation=Strict`, object);
}

function withPrefix(annotations: Texts): Texts {
  return Object.fromEntries(Object.entries(annotations).map(([name, value]) => [ANNOTATION_PREFIX + name, value]));
}
