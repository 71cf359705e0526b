/** ADD of `netplug-ipam` under another main plugin: addresses without link and endpoint. */

import { allocationQueries } from "../ipam/allocate.ts";
import { allocate } from "../ipam/store.ts";
import { readFacts } from "../ipam/transact.ts";
import { toIpamResult } from "./add-result.ts";
import { checkAddable } from "./addable.ts";
import { toAddressRequest, toAddressSubject } from "./attachment.ts";
import { type Call, transactPortsOf } from "./call.ts";
import { askKubernetes } from "./kubernetes.ts";
import type { CniResult } from "./protocol/result.ts";

/** @throws NetplugError */
export async function addAddresses(call: Call): Promise<CniResult> {
  checkAddable(call);
  const ports = transactPortsOf(call);
  const { ledger } = call;
  const asked = await askKubernetes(call);
  if (asked === undefined) {
    const request = toAddressRequest(call);
    return toIpamResult(await ledger.time("datastore", () => allocate(ports, request)));
  }
  const queries = allocationQueries([toAddressSubject(call)]);
  const [{ toPodFacts }, facts] = await Promise.all([asked.facts, ledger.time("datastore", () => readFacts(ports, queries))]);
  const request = toAddressRequest(call, toPodFacts(undefined));
  return toIpamResult(await ledger.time("datastore", () => allocate(ports, request, facts)));
}
