/** Holding a pod back until the node agent says that its policy is programmed. */

import { findStatusMismatch, toStatusFileName } from "../../endpoint/status-file.ts";
import type { EndpointIdentity } from "../../endpoint/status-file.ts";
import type { Workload } from "../../endpoint/names.ts";
import { toDurationText } from "../../lib/deadline.ts";
import { messageOf, NetplugError } from "../../lib/errors.ts";
import type { Log } from "../../lib/log/log.ts";
import type { Clock, Files } from "../../lib/ports.ts";
import { quote } from "../../lib/quote.ts";
import type { Host } from "../host.ts";

/** What the wait needs of the world. */
interface PolicyWaitPorts extends Pick<Host, "watchDirectory"> {
  readonly files: Pick<Files, "readText">;
  readonly clock: Clock;
  readonly log: Log;
}

/** What the network config says of the wait; made in `add-waits.ts`. */
export interface PolicyWaitOptions {
  /** `endpoint_status_dir`. */
  readonly folder: string;
  /** `policy_setup_timeout_seconds`. */
  readonly timeoutMs: number;
  /** What a timeout means: let the pod start unprotected, or fail. */
  readonly action: "start" | "fail";
}

/**
 * Milliseconds between looks without an event. They find what a watch cannot: a folder that appears, or was deleted and created again, and
 * lost events.
 */
const POLL_INTERVAL_MS = 250;

/**
 * Waits until the endpoint's status file says what was just set up; a file that says anything else counts as absent. When the time is over,
 * action `start` warns in the log.
 *
 * @throws NetplugError policyNotReady with action `fail`
 */
export async function waitForPolicy(
  workload: Workload,
  wanted: EndpointIdentity,
  options: PolicyWaitOptions,
  ports: PolicyWaitPorts,
): Promise<void> {
  const path = `${options.folder}/${toStatusFileName(workload)}`;
  const end = ports.clock.monotonic() + options.timeoutMs;
  for (;;) {
    const remainingMs = end - ports.clock.monotonic();
    const missing = await lookAndWait(path, wanted, Math.min(POLL_INTERVAL_MS, Math.max(0, remainingMs)), options.folder, ports);
    if (missing === undefined) return;
    if (remainingMs > 0) continue;
    const message = `wait for policy: not programmed within ${toDurationText(options.timeoutMs)}: ${quote(path)}: ${missing}`;
    if (options.action === "fail")
      throw new NetplugError(
        "policyNotReady",
        `${message}; see whether the node agent runs, and without one set "policy_setup_timeout_seconds" to 0`,
      );
    ports.log.warning(`${message}; the pod starts without it`);
    return;
  }
}

/**
 * Looks at the file, and again after each change, for at most `ms`. The watch begins before the first look, so that no change is missed, and
 * each call makes a new one, because the watch of a deleted folder reports nothing any more.
 *
 * @returns undefined as soon as the file says what is wanted, else what was wrong with it last
 */
async function lookAndWait(
  path: string,
  wanted: EndpointIdentity,
  ms: number,
  folder: string,
  ports: PolicyWaitPorts,
): Promise<string | undefined> {
  let changed = Promise.withResolvers<"changed">();
  using _ = await tryWatch(folder, () => changed.resolve("changed"), ports);
  const ended = new AbortController();
  const over = ports.clock.sleep(ms, ended.signal).catch(() => {});
  try {
    for (;;) {
      const missing = look(path, wanted, ports.files);
      if (missing === undefined) return undefined;
      if ((await Promise.race([changed.promise, over])) !== "changed") return missing;
      changed = Promise.withResolvers();
    }
  } finally {
    ended.abort();
  }
}

/** Without a watch, e.g. when the machine has no more of them, the periodic looks still find the file. */
async function tryWatch(folder: string, onChange: () => void, { watchDirectory, log }: PolicyWaitPorts): Promise<Disposable | undefined> {
  try {
    return await watchDirectory(folder, onChange);
  } catch (thrown) {
    log.debug("cannot watch for policy, look again and again instead", { reason: messageOf(thrown) });
    return undefined;
  }
}

function look(path: string, wanted: EndpointIdentity, files: Pick<Files, "readText">): string | undefined {
  try {
    const content = files.readText(path);
    return content === undefined ? "it does not exist" : findStatusMismatch(content, wanted);
  } catch (thrown) {
    return messageOf(thrown);
  }
}
