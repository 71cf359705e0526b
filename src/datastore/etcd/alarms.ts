/** Whether etcd takes commits, as far as it says so: while an alarm is raised it takes none, and answers reads as ever. */

import { NetplugError } from "../../lib/errors.ts";
import type { CallOptions, EtcdClient } from "./client/client.ts";
import { ALARM_ADVICE } from "./client/messages.ts";

/** What to do, by the alarm's name. */
const ADVICE = new Map([
  ["NOSPACE", ALARM_ADVICE["no-space"]],
  ["CORRUPT", ALARM_ADVICE.corrupt],
]);

/**
 * Asks the member that answers; who may not ask, or gets no answer, learns nothing.
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
 * By a member's status, which costs the cluster nothing. With users, etcd 3.6 shows it to root only; its list of alarms it would show, but a
 * list is a proposal with a write to the disk of each member, too much for what every node asks all the time.
 */
async function readAlarms(client: EtcdClient, options: CallOptions): Promise<readonly string[]> {
  try {
    return await client.alarms(options);
  } catch (thrown) {
    if (thrown instanceof NetplugError) return [];
    throw thrown;
  }
}
