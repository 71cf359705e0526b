/**
 * Nodes as views of Kubernetes' own. Labels, addresses and pod CIDRs are the node's; what else we know of it is kept, as JSON, in one
 * annotation.
 */

import type { NodeAddress, NodeSpec, Node as NodeResource } from "../../../api/node.ts";
import { API_VERSION, type Resource } from "../../../api/resource.ts";
import { SILENT_SINCE } from "../../../api/silent-node.ts";
import { type Node, podCidrsOf } from "../../../kube/core-types.ts";
import type { JsonPatchOperation } from "../../../kube/patch.ts";
import { isJsonObject, tryParseJson } from "../../../lib/json.ts";
import type { Revision, Stored } from "../../datastore.ts";
import { revisionOf, toMetadata, toMetadataPatch } from "./custom-object.ts";

const SPEC_ANNOTATION = "netplug.io/node-spec";

/** Of a kubelet's addresses those that packets go to. */
const ADDRESS_TYPES = ["InternalIP", "ExternalIP"] as const;

/** The resource of a node: what Kubernetes says of it, and what our annotation adds. */
export function toStoredNode(node: Node): Stored<NodeResource> {
  const revision = revisionOf(node);
  const { annotations, ...metadata } = toMetadata(node.metadata);
  const { [SPEC_ANNOTATION]: own, [SILENT_SINCE]: _stored, ...others } = annotations ?? {};
  const spec = parseSpec(own);
  const podCIDRs = podCidrsOf(node);
  const addresses = [...(spec.addresses ?? []), ...addressesOf(node)];
  const shown = { ...others, ...toSilence(node) };
  const value: NodeResource = {
    apiVersion: API_VERSION,
    kind: "Node",
    metadata: { ...metadata, ...(Object.keys(shown).length > 0 && { annotations: shown }), resourceVersion: revision },
    spec: {
      ...spec,
      orchRefs: [{ nodeName: metadata.name, orchestrator: "k8s" }],
      ...(addresses.length > 0 && { addresses }),
      ...(podCIDRs.length > 0 && { podCIDRs }),
    },
  };
  return { value, revision };
}

/** Gives a node of this revision the resource's labels, annotations and what only we know of it. */
export function toNodePatch({ metadata, spec }: Resource, revision: Revision): readonly JsonPatchOperation[] {
  const { orchRefs: _refs, podCIDRs: _cidrs, addresses, ...rest } = spec as NodeSpec;
  const ours = addresses?.filter(({ type }) => !ADDRESS_TYPES.some((own) => own === type)) ?? [];
  const own: NodeSpec = { ...rest, ...(ours.length > 0 && { addresses: ours }) };
  const hasOwn = Object.keys(own).length > 0;
  const { [SILENT_SINCE]: _silence, ...others } = metadata.annotations ?? {};
  const annotations = { ...others, ...(hasOwn && { [SPEC_ANNOTATION]: JSON.stringify(own) }) };
  return toMetadataPatch({ ...metadata, annotations }, revision);
}

/** The node controller calls ready "Unknown" when it has not heard of a kubelet for some time; a kubelet itself never does. */
function toSilence({ status }: Node): Readonly<Record<string, string>> | undefined {
  const silent = status?.conditions?.find((condition) => condition.type === "Ready" && condition.status === "Unknown");
  return silent === undefined ? undefined : { [SILENT_SINCE]: silent.lastTransitionTime ?? "some time" };
}

function addressesOf({ status }: Node): readonly NodeAddress[] {
  return (status?.addresses ?? []).flatMap(({ type, address }): NodeAddress[] => {
    const known = ADDRESS_TYPES.find((one) => one === type);
    return known === undefined ? [] : [{ address, type: known }];
  });
}

/** What somebody else wrote there counts as nothing. */
function parseSpec(text: string | undefined): NodeSpec {
  const spec = tryParseJson(text);
  if (!isJsonObject(spec)) return {};
  const { addresses, ...rest } = spec;
  return Array.isArray(addresses) ? { ...rest, addresses: addresses.filter(isNodeAddress) } : rest;
}

function isNodeAddress(entry: unknown): entry is NodeAddress {
  return isJsonObject(entry) && typeof entry["address"] === "string";
}
