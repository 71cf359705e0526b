/** How each kind is checked: the table of schemas. */

import * as v from "valibot";
import { withIPAMConfigurationDefaults } from "../ipam-configuration.ts";
import { withPoolDefaults } from "../ip-pool.ts";
import type { Specs } from "../registry.ts";
import { API_VERSION, type Kind } from "../resource.ts";
import { withTierDefaults } from "../tier.ts";
import { clusterInformationSpec } from "./cluster-information.ts";
import { dnsLabel, dnsSubdomain, looseName } from "./fields.ts";
import { ipPoolProblems, ipPoolSpec } from "./ip-pool.ts";
import { ipReservationSpec } from "./ip-reservation.ts";
import { ipamConfigurationProblems, ipamConfigurationSpec } from "./ipam-configuration.ts";
import { metadataSchema } from "./metadata.ts";
import { nodeSpec } from "./node.ts";
import type { Problem } from "./problem.ts";
import { profileProblems, profileSpec } from "./profile.ts";
import { tierProblems, tierSpec } from "./tier.ts";
import { workloadEndpointProblems, workloadEndpointSpec } from "./workload-endpoint.ts";

/** How one kind is checked. */
interface KindSchema<S> {
  readonly spec: v.GenericSchema;
  readonly name: v.GenericSchema<string, string>;
  /** What one field says against another; asked when each field by itself is right. */
  problems(spec: S, name: string): readonly Problem[];
  /** What is stored for what was left out. */
  complete(spec: S): S;
}

const none = (): readonly Problem[] => [];

function asWritten<S>(spec: S): S {
  return spec;
}

/** The schema of every kind; CRDs are generated from it. */
export const SCHEMAS: { readonly [K in Kind]: KindSchema<Specs[K]> } = {
  IPPool: { spec: ipPoolSpec, name: dnsSubdomain, problems: ipPoolProblems, complete: withPoolDefaults },
  IPReservation: { spec: ipReservationSpec, name: dnsSubdomain, problems: none, complete: asWritten },
  IPAMConfiguration: {
    spec: ipamConfigurationSpec,
    name: dnsSubdomain,
    problems: ipamConfigurationProblems,
    complete: withIPAMConfigurationDefaults,
  },
  ClusterInformation: { spec: clusterInformationSpec, name: dnsSubdomain, problems: none, complete: asWritten },
  Node: { spec: nodeSpec, name: looseName, problems: none, complete: asWritten },
  Profile: { spec: profileSpec, name: looseName, problems: profileProblems, complete: asWritten },
  Tier: { spec: tierSpec, name: dnsLabel, problems: tierProblems, complete: withTierDefaults },
  WorkloadEndpoint: { spec: workloadEndpointSpec, name: looseName, problems: workloadEndpointProblems, complete: asWritten },
};

/** The schema of a whole object of one kind. */
export function envelopeSchema(kind: Kind) {
  const { spec, name } = SCHEMAS[kind];
  return v.object({
    apiVersion: v.literal(API_VERSION, `want "${API_VERSION}"`),
    kind: v.literal(kind),
    metadata: metadataSchema(name),
    spec,
    status: v.exactOptional(v.unknown()),
  });
}
