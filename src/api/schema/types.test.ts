import { expect, test } from "bun:test";
import type * as v from "valibot";
import type { IPPoolSpec } from "../ip-pool.ts";
import type { IPReservationSpec } from "../ip-reservation.ts";
import type { IPAMConfigurationSpec } from "../ipam-configuration.ts";
import type { ClusterInformationSpec } from "../cluster-information.ts";
import type { NodeSpec } from "../node.ts";
import type { ProfileSpec } from "../profile.ts";
import type { TierSpec } from "../tier.ts";
import type { WorkloadEndpointSpec } from "../workload-endpoint.ts";
import type { ipPoolSpec } from "./ip-pool.ts";
import type { ipReservationSpec } from "./ip-reservation.ts";
import type { ipamConfigurationSpec } from "./ipam-configuration.ts";
import type { clusterInformationSpec } from "./cluster-information.ts";
import type { nodeSpec } from "./node.ts";
import type { profileSpec } from "./profile.ts";
import type { tierSpec } from "./tier.ts";
import type { workloadEndpointSpec } from "./workload-endpoint.ts";

/** True only for types that are the same, not merely assignable. */
type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;

type DeepReadonly<T> = T extends object ? { readonly [K in keyof T]: DeepReadonly<T[K]> } : T;

type Agrees<S extends v.GenericSchema, T> = Same<DeepReadonly<v.InferOutput<S>>, DeepReadonly<T>>;

test("the output of each schema is the plain type; the compiler checks it", () => {
  const agree: readonly [
    Agrees<typeof ipPoolSpec, IPPoolSpec>,
    Agrees<typeof ipReservationSpec, IPReservationSpec>,
    Agrees<typeof ipamConfigurationSpec, IPAMConfigurationSpec>,
    Agrees<typeof clusterInformationSpec, ClusterInformationSpec>,
    Agrees<typeof nodeSpec, NodeSpec>,
    Agrees<typeof profileSpec, ProfileSpec>,
    Agrees<typeof tierSpec, TierSpec>,
    Agrees<typeof workloadEndpointSpec, WorkloadEndpointSpec>,
  ] = [true, true, true, true, true, true, true, true];
  expect(agree).not.toContain(false as never);
});
