/** ADD of `netplug-ipam` under another main plugin: addresses without link and endpoint. */

import { allocate } from "../ipam/store.ts";
import { toIpamResult } from "./add-result.ts";
import { checkAddable } from "./addable.ts";
import { toAddressRequest } from "./attachment.ts";
import { type Call, transactPortsOf } from "./call.ts";
import type { CniResult } from "./protocol/result.ts";

/** @throws NetplugError */
export async function addAddresses(call: Call): Promise<CniResult> {
  checkAddable(call);
  const request = toAddressRequest(call);
  return toIpamResult(await call.ledger.time("datastore", () => allocate(transactPortsOf(call), request)));
}
