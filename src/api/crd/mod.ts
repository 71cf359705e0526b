/**
 * The custom resource definitions of `netplug.io/v3`, made from the schemas that also check what people write. `netplugctl init` applies
 * them; `manifests/crds.yaml` is their text. Loads every schema: nothing that starts often may import it statically.
 */

import type * as v from "valibot";
import { BLOCK_KIND, type KindInfo, KINDS, type Specs } from "../registry.ts";
import { API_GROUP, API_GROUP_VERSION, API_VERSION, type CustomKind } from "../resource.ts";
import { ipamBlockSpec } from "../schema/ipam-block.ts";
import { SCHEMAS } from "../schema/kinds.ts";
import type { CustomResourceDefinition, OpenApiSchema } from "./custom-resource-definition.ts";
import { staticDefaults } from "./defaults.ts";
import type { AnyKindDefinition, KindDefinition } from "./definition.ts";
import { CLUSTER_INFORMATION_DEFINITION } from "./kinds/cluster-information.ts";
import { IPAM_BLOCK_DEFINITION } from "./kinds/ipam-block.ts";
import { IPAM_CONFIGURATION_DEFINITION } from "./kinds/ipam-configuration.ts";
import { IP_POOL_DEFINITION } from "./kinds/ip-pool.ts";
import { IP_RESERVATION_DEFINITION } from "./kinds/ip-reservation.ts";
import { PROFILE_DEFINITION } from "./kinds/profile.ts";
import { TIER_DEFINITION } from "./kinds/tier.ts";
import { toOpenApi } from "./to-open-api.ts";

export type { CustomResourceDefinition } from "./custom-resource-definition.ts";

/**
 * Oldest Kubernetes that takes the definitions: 1.30 knows `cidr()` and `ip()` in rules that are stored already, and accepts them in
 * new ones from 1.31 on.
 */
export const OLDEST_KUBERNETES = "1.31";

/** A kind that is missing here does not compile. */
const DEFINITIONS: { readonly [K in CustomKind]: KindDefinition<Specs[K]> } = {
  ClusterInformation: CLUSTER_INFORMATION_DEFINITION,
  IPAMConfiguration: IPAM_CONFIGURATION_DEFINITION,
  IPPool: IP_POOL_DEFINITION,
  IPReservation: IP_RESERVATION_DEFINITION,
  Profile: PROFILE_DEFINITION,
  Tier: TIER_DEFINITION,
};

/** The definitions, in the order of their names. */
export function customResourceDefinitions(): readonly CustomResourceDefinition[] {
  const stored = (Object.keys(DEFINITIONS) as (keyof typeof DEFINITIONS)[]).map((kind) => {
    const { spec, complete } = SCHEMAS[kind];
    const definition = DEFINITIONS[kind] as KindDefinition<object>; // of the same kind as its schema
    return toDefinition(KINDS[kind], spec, definition, staticDefaults(definition.samples, complete as (spec: object) => object));
  });
  const all = [...stored, toDefinition(BLOCK_KIND, ipamBlockSpec, IPAM_BLOCK_DEFINITION, {})];
  return all.sort((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1));
}

function toDefinition(
  info: KindInfo,
  schema: v.GenericSchema,
  definition: AnyKindDefinition,
  defaults: Readonly<Record<string, unknown>>,
): CustomResourceDefinition {
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `${info.plural}.${API_GROUP}`, labels: { "app.kubernetes.io/part-of": "netplug" } },
    spec: {
      group: API_GROUP,
      scope: info.namespaced ? "Namespaced" : "Cluster",
      names: {
        kind: info.kind,
        listKind: `${info.kind}List`,
        plural: info.plural,
        singular: info.kind.toLowerCase(),
        ...(info.shortNames.length === 0 ? {} : { shortNames: info.shortNames }),
        categories: ["netplug"],
      },
      conversion: { strategy: "None" },
      preserveUnknownFields: false,
      versions: [
        {
          name: API_GROUP_VERSION,
          served: true,
          storage: true,
          schema: { openAPIV3Schema: toObjectSchema(schema, definition, defaults) },
          ...(definition.status === undefined ? {} : { subresources: { status: {} } }),
          additionalPrinterColumns: definition.columns,
        },
      ],
    },
  };
}

function toObjectSchema(
  schema: v.GenericSchema,
  { text, specText, fields, rules, status }: AnyKindDefinition,
  defaults: Readonly<Record<string, unknown>>,
): OpenApiSchema {
  const placed = new Set([""]);
  const spec = { description: specText, ...toOpenApi(schema, "spec", fields, { rules, defaults, placed }) };
  const lost = Object.keys(rules).find((path) => !placed.has(path));
  if (lost !== undefined) throw new TypeError(`describe ${text}: rules are on "${lost}", which does not exist`);
  const isNeeded = spec.required !== undefined;
  const ofWhole = rules[""];
  return {
    description: text,
    type: "object",
    ...(isNeeded ? { required: ["spec"] } : {}),
    properties: {
      apiVersion: { description: `Version of the format: ${API_VERSION}.`, type: "string" },
      kind: { description: "What the object is.", type: "string" },
      metadata: { type: "object" }, // an API server refuses a description here: it has its own
      // What is left out as a whole gets its defaults here: an API server does not look for them inside of a default.
      spec: isNeeded ? spec : { ...spec, default: defaults },
      ...(status === undefined ? {} : { status }),
    },
    ...(ofWhole === undefined ? {} : { "x-kubernetes-validations": ofWhole }),
  };
}
