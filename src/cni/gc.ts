/** GC: whatever of this node and network belongs to no valid attachment goes, in the kernel, in the datastore, at the delegate. */

import type { WorkloadEndpoint } from "../api/workload-endpoint.ts";
import { delQueries, type DelRequest, planDel } from "../endpoint/plan-del.ts";
import { toAlias } from "../endpoint/names.ts";
import { deleteEmptyBlocks } from "../ipam/gc.ts";
import { transact } from "../ipam/transact.ts";
import { type Call, delegateOf, hasOwnIpam, transactPortsOf } from "./call.ts";
import { delegateGc } from "./delegate/mod.ts";
import { type Settled, settle, throwFirstFailure } from "./failures.ts";
import { listLinksOf, removeLink, removeNamelessLinks } from "./link/remove.ts";

/** Goes on after each failure, then throws the first with the others in its details. */
export async function collectGarbage(call: Call): Promise<void> {
  const { config } = call;
  const valid = new Set((config.validAttachments ?? []).map((id) => keyOf(id)));
  const steps: Settled[] = [];
  if (call.plugin === "netplug") {
    steps.push(...(await removeStaleLinks(call, valid)), await settle(() => removeNameless(call)));
  }
  steps.push(await settle(() => withdrawStale(call, valid)));
  if (hasOwnIpam(call)) steps.push(await settle(() => deleteEmptyBlocks(transactPortsOf(call), call.node)));
  const delegate = delegateOf(call);
  if (delegate !== undefined) steps.push(await settle(() => delegateGc(delegate.call, delegate.ports)));
  throwFirstFailure(steps);
}

async function removeStaleLinks(call: Call, valid: ReadonlySet<string>): Promise<readonly Settled[]> {
  const { kernel } = call.host;
  const network = call.config.name;
  const steps: Settled[] = [];
  const listed = await settle(async () => {
    for (const link of listLinksOf(kernel, network)) {
      if (valid.has(keyOf(link))) continue;
      const names = { hostName: link.hostName, podName: link.ifName, alias: toAlias(network, link) };
      steps.push(await settle(() => removeLink(kernel, names)));
      call.log.info("removed interface without attachment", { interface: link.hostName, of: link.containerID });
    }
  });
  return [listed, ...steps];
}

function removeNameless(call: Call): void {
  for (const name of removeNamelessLinks(call.host.kernel))
    call.log.info("removed interface that an ADD left unfinished", { interface: name });
}

/** Addresses and records. Records of a delegate's addresses are found by listing: nothing else names them. */
async function withdrawStale(call: Call, valid: ReadonlySet<string>): Promise<void> {
  const { config, node } = call;
  const isStale = (containerID: string, ifName: string): boolean => !valid.has(keyOf({ containerID, ifName }));
  const records = call.plugin === "netplug" ? await listRecords(call) : [];
  const isRecordMeant = ({ spec }: WorkloadEndpoint): boolean =>
    spec.node === node && spec.network === config.name && isStale(spec.containerID ?? "", spec.endpoint);
  const request: DelRequest = {
    node,
    isOwnerMeant: (owner) => owner.node === node && owner.network === config.name && isStale(owner.containerID, owner.ifName),
    isEndpointMeant: isRecordMeant,
    endpoints: records.filter(isRecordMeant).map(({ metadata }) => ({
      kind: "WorkloadEndpoint",
      name: metadata.name,
      ...(metadata.namespace !== undefined && { namespace: metadata.namespace }),
    })),
  };
  const queries = delQueries(request);
  const released = await transact(transactPortsOf(call), queries, (facts, { now }) => {
    const plan = planDel(request, facts, now);
    return "wanted" in plan ? plan : { writes: plan.writes, result: plan.released };
  });
  for (const { owner } of released) call.log.info("released address without attachment", { of: owner.containerID });
}

async function listRecords({ datastore, deadline }: Call): Promise<readonly WorkloadEndpoint[]> {
  const [records] = await deadline.wait("the datastore", (signal) =>
    datastore.read([{ type: "list", kind: "WorkloadEndpoint" }], { signal }),
  );
  // The datastore gives back the kind that was asked for.
  return records.map(({ value }) => value as WorkloadEndpoint);
}

/** Neither part can hold a slash. */
function keyOf({ containerID, ifName }: { readonly containerID: string; readonly ifName: string }): string {
  return `${containerID}/${ifName}`;
}
