/** Being told of changes in a folder. */

import { O_CLOEXEC, O_NONBLOCK } from "./constants.ts";
import { ENOENT, ENOTDIR } from "./errno.ts";
import { Fd } from "./fd.ts";
import { check, KernelError } from "./kernel-error.ts";
import { lastErrno, libc, rareLibc, toCString, untilDone } from "./libc.ts";

/** @see include/uapi/linux/inotify.h: modify, attributes, close after writing, moved from and to, create, delete, and the folder itself */
const CHANGES = 0x2 | 0x4 | 0x8 | 0x40 | 0x80 | 0x100 | 0x200 | 0x400 | 0x800;
const IN_ONLYDIR = 0x0100_0000;

/**
 * The runtime cannot wait for this descriptor, so it is looked at in this rhythm, which costs 2 µs each. The runtime's own watch
 * takes 5 ms to begin with, more than what a pod waits for its policy on average.
 */
const POLL_INTERVAL_MS = 4;

/**
 * Calls back some milliseconds after a change inside a folder; several changes may be one call. A folder that is deleted and made again
 * is another one, which this does not see: watch it anew from time to time.
 *
 * @returns undefined when the folder is not there; dispose of the watch to end it
 * @throws {KernelError} ioFailure
 */
export function watchDirectory(folder: string, onChange: () => void): Disposable | undefined {
  const fd = new Fd(check(rareLibc().inotify_init1(O_NONBLOCK | O_CLOEXEC), "watch", folder, "ioFailure"));
  if (rareLibc().inotify_add_watch(fd.number, toCString(folder), CHANGES | IN_ONLYDIR) < 0) {
    const errno = lastErrno();
    fd[Symbol.dispose]();
    if (errno === ENOENT || errno === ENOTDIR) return undefined;
    throw new KernelError({ operation: "watch", object: folder, errno, kind: "ioFailure" });
  }
  const events = new Uint8Array(4096);
  const timer = setInterval(() => {
    if (readEvents(fd, events)) onChange();
  }, POLL_INTERVAL_MS);
  return {
    [Symbol.dispose]() {
      clearInterval(timer);
      fd[Symbol.dispose]();
    },
  };
}

/** Empties the queue. @returns whether there was anything in it */
function readEvents(fd: Fd, events: Uint8Array): boolean {
  for (let hasChanged = false; ;) {
    if (untilDone(() => libc().read(fd.number, events, events.length)) <= 0) return hasChanged;
    hasChanged = true;
  }
}
