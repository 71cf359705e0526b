/** Kernel settings under `/proc/sys/net`: always those of the network namespace that the thread is in. */

import { O_CLOEXEC, O_WRONLY } from "./constants.ts";
import { ENOENT } from "./errno.ts";
import { linuxFiles } from "./files.ts";
import { check, KernelError } from "./kernel-error.ts";
import { lastErrno, libc, toCString, untilDone } from "./libc.ts";

/** One setting to make. */
export interface SysctlWrite {
  /** Below `/proc/sys/net`, with slashes because interface names may hold dots: `ipv4/conf/npg82111e10a96/proxy_arp`. */
  readonly path: string;
  readonly value: string;
  /** Whether a kernel without this setting will do. @default false */
  readonly isOptional?: boolean;
  /** Whether it is not written where it has the value already, because a write has other effects, too. @default false */
  readonly isSkippedIfEqual?: boolean;
}

const FOLDER = "/proc/sys/net/";

/** @throws {KernelError} also when it does not exist, unless it is optional */
export function writeSysctl({ path, value, isOptional = false, isSkippedIfEqual }: SysctlWrite): void {
  if (isSkippedIfEqual && linuxFiles.readText(FOLDER + path)?.trim() === value) return;
  const bytes = new TextEncoder().encode(value);
  const number = libc().open(toCString(FOLDER + path), O_WRONLY | O_CLOEXEC, 0);
  if (number < 0) {
    const errno = lastErrno();
    if (isOptional && errno === ENOENT) return;
    throw new KernelError({ operation: "open setting", object: path, errno });
  }
  // Not an Fd: a dozen of these are written per pod.
  try {
    const written = untilDone(() => libc().write(number, bytes, bytes.length));
    check(written, "write setting", path);
  } finally {
    libc().close(number);
  }
}
