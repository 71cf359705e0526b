/** For tests: ADD and DEL as the plugin carries them out in the datastore, without a kernel. */

import type { WorkloadEndpoint } from "../../src/api/workload-endpoint.ts";
import type { Datastore } from "../../src/datastore/datastore.ts";
import { addQueries, type AddOutcome, type AddRequest, planAdds } from "../../src/endpoint/plan-add.ts";
import { delQueries, type DelRequest, planDel } from "../../src/endpoint/plan-del.ts";
import { recordQueryOf } from "../../src/endpoint/record.ts";
import { isSameAttachment } from "../../src/ipam/block.ts";
import type { AddressRequest } from "../../src/ipam/request.ts";
import type { TurnWait } from "../../src/ipam/transact/node-turn.ts";
import { readFacts, transact, type TransactPorts } from "../../src/ipam/transact/transact.ts";
import { systemClock } from "../../src/lib/clock.ts";
import { toAddressText } from "../../src/lib/ip/address.ts";
import { takeLock } from "../../src/linux/flock.ts";
import { attachmentRequest } from "../support/calls/attachment-request.ts";
import { NETWORK, requestFor } from "../support/ipam/ipam.ts";
import { systemPorts } from "../support/ipam/system-ports.ts";

/** A pod's container on a node. */
export interface Container {
  readonly node: string;
  readonly pod: string;
  readonly id: string;
  /** By which the node's processes take turns; without it they get in each other's way. */
  readonly lockFile?: string;
}

function portsOf(datastore: Datastore, { lockFile }: Container): TransactPorts {
  return {
    ...systemPorts(datastore),
    mayLag: true,
    ...(lockFile !== undefined && { takeTurn: ({ stallMs }: TurnWait) => takeLock(lockFile, { waitMs: stallMs, clock: systemClock }) }),
  };
}

function toRequest({ node, pod, id }: Container, ipam: Partial<AddressRequest>): AddRequest {
  const workload = { containerID: id, ifName: "eth0", pod: { namespace: "default", name: pod } };
  const attachment = attachmentRequest(node, workload, { completeRecord: (record: WorkloadEndpoint) => record });
  const { owner, ...request } = requestFor(id, node, ipam);
  return { attachment, ipam: { ...request, owner: { ...owner, pod, namespace: "default", endpoint: recordQueryOf(attachment).ref.name } } };
}

/** @returns the addresses, in the order of their families @throws what stands in the way */
export async function add(datastore: Datastore, container: Container, ipam: Partial<AddressRequest> = {}): Promise<readonly string[]> {
  const request = toRequest(container, ipam);
  const ports = portsOf(datastore, container);
  const facts = await readFacts(ports, addQueries([request]));
  const decide = (known: typeof facts, attempt: Parameters<typeof planAdds>[2]) => {
    const plan = planAdds([request], known, attempt);
    return { writes: plan.writes, result: plan.outcomes[0] };
  };
  const outcome: AddOutcome | undefined = await transact(ports, addQueries([request]), decide, { facts });
  if (outcome === undefined || "error" in outcome) throw outcome?.error ?? new Error("no outcome");
  return outcome.addresses.map(toAddressText);
}

/** @returns the addresses that it released */
export async function del(datastore: Datastore, container: Container): Promise<readonly string[]> {
  const { attachment } = toRequest(container, {});
  const id = { network: NETWORK, containerID: container.id, ifName: "eth0" };
  const request: DelRequest = {
    node: container.node,
    isTargetOwner: (owner) => isSameAttachment(owner, id),
    isTargetRecord: ({ spec }) => spec.containerID === id.containerID && spec.endpoint === id.ifName,
    records: [recordQueryOf(attachment)],
  };
  const released = await transact(portsOf(datastore, container), delQueries(request), (known, { now }) => {
    const plan = planDel(request, known, now);
    return { writes: plan.writes, result: plan.released };
  });
  return released.map(({ address }) => toAddressText(address));
}
