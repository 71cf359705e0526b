/** One installer at a time in a folder. */

import { NetplugError } from "../../lib/errors.ts";
import { quote } from "../../lib/quote.ts";
import type { InstallHost } from "../host.ts";
import { isTemporary } from "./atomic-file.ts";
import type { DurableFiles } from "./durable-files.ts";

/** How long another installer may be at work in a folder: it copies 100 MB at most. */
const WAIT_MS = 60_000;
const POLL_INTERVAL_MS = 50;

/**
 * Works in a folder while no other installer does, after it has removed what one that was killed left behind.
 *
 * @param work synchronous: a promise would go on without the lock, so its type refuses one
 * @param below folders inside it that are worked in too; they need not exist
 * @throws NetplugError tryAgainLater when another installer does not finish, ioFailure
 */
export async function withFolderLock<T extends boolean | void>(
  host: Pick<InstallHost, "clock" | "disk" | "stopped">,
  folder: string,
  work: () => T,
  below: readonly string[] = [],
): Promise<T> {
  const { clock, disk, stopped } = host;
  const end = clock.monotonic() + WAIT_MS;
  for (;;) {
    using lock = disk.tryLock(folder);
    if (lock !== undefined) {
      for (const one of [folder, ...below]) removeLeftovers(disk, one);
      return work();
    }
    if (clock.monotonic() >= end) {
      const message = `lock ${quote(folder)}: another installer has been at work there for ${WAIT_MS / 1000} s`;
      throw new NetplugError("tryAgainLater", message);
    }
    await clock.sleep(POLL_INTERVAL_MS, stopped);
  }
}

/** Whether an installer was killed in this folder, or is at work there. */
export function hasLeftovers(disk: Pick<DurableFiles, "list">, folder: string): boolean {
  return disk.list(folder)?.some(isTemporary) === true;
}

function removeLeftovers(disk: DurableFiles, folder: string): void {
  for (const name of disk.list(folder) ?? []) if (isTemporary(name)) disk.remove(`${folder}/${name}`);
}
