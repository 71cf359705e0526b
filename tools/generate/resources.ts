/** `docs/resources.md` from the same definitions as the CRDs: what an administrator writes, field by field. */

import { customResourceDefinitions } from "../../src/api/crd/mod.ts";
import type { OpenApiSchema } from "../../src/api/crd/custom-resource-definition.ts";

/** What each kind is shown with, in this order, empty for what is only patched; kinds that nobody writes yet are left out. */
const EXAMPLES: Readonly<Record<string, string>> = {
  IPPool: `apiVersion: netplug.io/v3
kind: IPPool
metadata:
  name: blue
spec:
  cidr: 10.65.0.0/16
  blockSize: 26
  nodeSelector: rack == "r2"`,
  IPReservation: `apiVersion: netplug.io/v3
kind: IPReservation
metadata:
  name: gateways
spec:
  reservedCIDRs: [10.65.0.0/28, 10.65.255.254, fd65::/120]`,
  IPAMConfiguration: `apiVersion: netplug.io/v3
kind: IPAMConfiguration
metadata:
  name: default
spec:
  strictAffinity: true
  maxBlocksPerHost: 4`,
  ClusterInformation: "",
};

/** What a table does not say. */
const REMARKS: Readonly<Record<string, string>> = {
  IPPool: `Two pools must not overlap. A node that needs an address takes it from its own blocks, then claims a block of \`blockSize\` in a pool whose selectors fit,
then borrows from the block of another node unless \`strictAffinity\` forbids it. Pools count in the order of their names.
\`netplugctl ipam explain --node=n1\` shows what comes of it for a node, a namespace or a pod ([address-forecast.md](address-forecast.md)).

\`vxlanMode\`, \`ipipMode\`, \`natOutgoing\` and \`disableBGPExport\` are kept for the node agent, which is to come: today they have no effect, and nobody takes
addresses for tunnels or load balancers.`,
  IPReservation: `Every address of a pool is given, the first and the last ones too, such as 10.65.0.0 and 10.65.0.255: a pod has its address alone, without a network
around it. Reserve those that something outside of the cluster, such as a router or a firewall, takes for addresses of a network itself.`,
  IPAMConfiguration: "`netplugctl ipam configure` changes single settings, `netplugctl ipam show --show-configuration` shows them.",
  ClusterInformation:
    "Made by `netplugctl init`, and patched to lock and unlock the datastore: [netplugctl.md](netplugctl.md#lock-and-unlock).",
};

const INTRODUCTION = `# Resources

<!-- made by \`npm run generate\` from src/api/crd/; do not edit -->

What an administrator writes, with \`netplugctl apply -f FILE\` on every datastore, or with \`kubectl apply\` on the Kubernetes one, where
\`kubectl explain ippool.spec\` says the same as these tables. \`netplugctl validate -f FILE\` checks a file without a datastore.`;

const CLOSING = `## Nodes and their labels

\`nodeSelector\` looks at the labels of the node. On the Kubernetes datastore they are those of Kubernetes' own node. On etcd a node that a selector shall choose needs an object
of its name, which the administrator makes; beside etcd Kubernetes' labels are not looked at:

\`\`\`yaml
apiVersion: netplug.io/v3
kind: Node
metadata:
  name: n1
  labels: { rack: r2 }
\`\`\`

\`namespaceSelector\` looks at the labels of the pod's namespace in Kubernetes, on both datastores; \`kubernetes.io/metadata.name == "shop"\` selects the one
of that name. \`podSelector\` looks at the labels of the pod itself: [an example](pod-annotations.md#give-pods-with-a-label-their-own-pool). A pool gives
addresses to a pod only if all of its selectors fit. On etcd pods and namespaces are read only with \`policy.type\` \`k8s\` in the network config; without
it, and for a container that is no pod, no labels are known.

## Selectors

| Term | Fits |
|---|---|
| \`rack == "r2"\`, \`rack != "r2"\` | the label has that value; has another one, or is absent |
| \`rack in {"r1", "r2"}\`, \`rack not in {"r1"}\` | the value is one of these; is none of these, or the label is absent |
| \`rack contains "2"\`, \`rack starts with "r"\`, \`rack ends with "2"\` | a part of the value |
| \`has(gpu)\`, \`!has(gpu)\` | the label is there; is not |
| \`all()\` | everything |

Terms are joined by \`&&\` and \`||\`, turned around by \`!\`, and put in parentheses. Values are in double or single quotes.
`;

/** The whole document. */
export function resourcesDocument(): string {
  const definitions = customResourceDefinitions();
  const sections = Object.entries(EXAMPLES).map(([kind, example]) => {
    const definition = definitions.find(({ spec }) => spec.names.kind === kind);
    const schema = definition?.spec.versions[0]?.schema.openAPIV3Schema;
    if (definition === undefined || schema === undefined) throw new Error(`make docs/resources.md: there is no CRD of kind ${kind}`);
    const { plural, shortNames = [] } = definition.spec.names;
    const spec = schema.properties?.["spec"] ?? {};
    const rows = Object.entries(spec.properties ?? {}).map(([name, field]) => row(name, field, (spec.required ?? []).includes(name)));
    return [
      `## ${kind}`,
      `${schema.description ?? ""} \`${plural}\`, in short ${shortNames.map((name) => `\`${name}\``).join(", ")}.`,
      ...(example === "" ? [] : [`\`\`\`yaml\n${example}\n\`\`\``]),
      ["| Field of `spec` | Type | Default | Meaning |", "|---|---|---|---|", ...rows].join("\n"),
      ...(REMARKS[kind] === undefined ? [] : [REMARKS[kind]]),
    ].join("\n\n");
  });
  return [INTRODUCTION, ...sections, CLOSING].join("\n\n");
}

function row(name: string, field: OpenApiSchema, isRequired: boolean): string {
  return `| \`${name}\` | ${typeOf(field)} | ${isRequired ? "required" : defaultOf(field)} | ${field.description ?? ""} |`;
}

function typeOf({ type, enum: values, items }: OpenApiSchema): string {
  if (values !== undefined) return values.map((value) => `\`${value}\``).join(", ");
  return items === undefined ? (type ?? "any") : `list of ${items.enum === undefined ? `${typeOf(items)}s` : typeOf(items)}`;
}

function defaultOf({ default: value }: OpenApiSchema): string {
  if (value === undefined || value === "") return "none";
  return `\`${typeof value === "string" ? value : JSON.stringify(value)}\``;
}
