/** Whether etcd accepts commits: while an alarm is raised it accepts none, but still answers reads. */

import { NetplugError } from "../../lib/errors.ts";
import type { CallOptions, EtcdClient } from "./client/client.ts";
import { ALARM_ADVICE } from "./client/errors.ts";

/** What to do, by the alarm's name. */
const ADVICE = new Map([
  ["NOSPACE", ALARM_ADVICE["no-space"]],
  ["CORRUPT", ALARM_ADVICE.corrupt],
]);

/**
 * Asks one member. Without the permission to ask, or without an answer, nothing is thrown.
 *
 * @throws NetplugError tryAgainLater with the alarm and what to do about it
 */
export async function requireNoAlarm(client: EtcdClient, options: CallOptions): Promise<void> {
  for (const text of await readAlarms(client, options)) {
    const [, alarm = ""] = /\balarm:(\w+)/.exec(text) ?? [];
    const advice = ADVICE.get(alarm);
    if (advice !== undefined)
      throw new NetplugError("tryAgainLater", `commit to etcd: its alarm ${alarm} is raised, it takes no commit; ${advice}`);
  }
}

/**
 * Reads a member's status, which costs the cluster nothing. With users, etcd 3.6 shows it to root only. It shows the list of alarms to all
 * users, but that request is a proposal, which each member writes to its disk: too costly for what every node keeps asking.
 */
async function readAlarms(client: EtcdClient, options: CallOptions): Promise<readonly string[]> {
  try {
    return await client.alarms(options);
  } catch (thrown) {
    if (thrown instanceof NetplugError) return [];
    throw thrown;
  }
}
