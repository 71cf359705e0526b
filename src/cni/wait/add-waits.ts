/** What an ADD waits for where its config says so. */

import type { AttachmentPlan } from "../../endpoint/plan-attachment.ts";
import type { Address } from "../../lib/ip/address.ts";
import { type Call, workloadOf } from "../call.ts";
import { waitForPolicy } from "./policy-wait.ts";
import { waitForGates } from "./readiness-gates.ts";

/**
 * Waits for the readiness gates.
 *
 * @param besides what the ADD waits for at the same time: when that fails, nobody needs the gates any more
 * @throws what `waitForGates()` throws
 */
export async function awaitGates({ config, host, deadline, log, ledger }: Call, besides: Promise<unknown>): Promise<void> {
  const ended = new AbortController();
  besides.catch((reason: unknown) => ended.abort(reason));
  const ports = { fetch: host.fetch, clock: host.clock, log };
  await ledger.time("gates", () => waitForGates(config.readinessGates, deadline, ports, ended.signal));
}

/** Holds the pod back until its policy is programmed. @throws what `waitForPolicy()` throws */
export async function awaitPolicy(
  call: Call,
  { link, addresses }: Pick<AttachmentPlan, "link"> & { readonly addresses: readonly Address[] },
): Promise<void> {
  const { config, host, log, environment } = call;
  const wanted = { hostName: link.hostName, containerID: environment.containerID, addresses, podMac: link.podMac };
  const options = { folder: config.endpointStatusDir, timeoutMs: config.policySetupTimeoutMs, action: config.policySetupTimeoutAction };
  const ports = { watchDirectory: host.watchDirectory, files: host.files, clock: host.clock, log };
  await call.ledger.time("policy", () => waitForPolicy(workloadOf(call), wanted, options, ports));
}
