/** What a rotating log needs from the file system. */

import { NetplugError } from "../lib/errors.ts";
import type { AppendFile, LogFiles } from "../lib/log/log-file.ts";
import { quote } from "../lib/quote.ts";
import { AT_FDCWD, O_APPEND, O_NONBLOCK, O_WRONLY } from "./constants.ts";
import { EEXIST } from "./errno.ts";
import type { Fd } from "./fd.ts";
import { linuxFiles, openOrMake } from "./files.ts";
import { tryLock, unlock } from "./flock.ts";
import { check, KernelError } from "./kernel-error.ts";
import { lastErrno, libc, rareLibc, toCString, untilDone } from "./libc.ts";
import { statFd, statPath } from "./stat.ts";

const LOG_MODE = 0o644;
/** @see arch/arm64/include/uapi/asm/fcntl.h: it differs between architectures */
const O_NOFOLLOW = process.arch === "arm64" ? 0o100000 : 0o400000;
const RENAME_NOREPLACE = 1;

/** The real file system. */
export const linuxLogFiles: LogFiles = {
  openAppend(path) {
    // Not to hang when the path names a FIFO that nobody reads; and containers that have /var/log mounted could plant a link to any file there.
    return toAppendFile(openOrMake(path, O_WRONLY | O_APPEND | O_NONBLOCK | O_NOFOLLOW, LOG_MODE), path);
  },
  stat: statPath,
  renameToNew(from, to) {
    if (rareLibc().renameat2(AT_FDCWD, toCString(from), AT_FDCWD, toCString(to), RENAME_NOREPLACE) === 0) return true;
    const errno = lastErrno();
    if (errno === EEXIST) return false;
    throw new KernelError({ operation: "rename", object: from, errno, kind: "ioFailure" });
  },
  list: (folder) => linuxFiles.list(folder),
  remove: (path) => linuxFiles.remove(path),
  pause: () => Bun.sleepSync(0.5),
};

function toAppendFile(fd: Fd, path: string): AppendFile {
  return {
    opened: statFd(fd),
    append(bytes) {
      const written = untilDone(() => libc().write(fd.number, bytes, bytes.length));
      check(written, "write", path, "ioFailure");
      if (written < bytes.length)
        throw new NetplugError("ioFailure", `write ${quote(path)}: got ${written} of ${bytes.length} bytes written`);
    },
    tryLock: () => tryLock(fd, path),
    unlock: () => unlock(fd),
    close: () => fd[Symbol.dispose](),
  };
}
