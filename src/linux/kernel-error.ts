/** What the kernel refused. */

import { type ErrorName, NetplugError } from "../lib/errors.ts";
import { quote } from "../lib/quote.ts";
import { lastErrno } from "./libc.ts";
import { ENOENT, ENOTDIR, toErrnoName, toErrnoText } from "./errno.ts";

/** What the kernel refused, in the parts of which the message is made. */
export interface Refusal {
  /** What was asked for, as the beginning of a sentence: `create veth`. */
  readonly operation: string;
  /** On what: a name or path. */
  readonly object: string;
  /** Positive. */
  readonly errno: number;
  /** What the kernel said besides (extended acknowledgement of netlink). */
  readonly reason?: string | undefined;
  /** @default "kernelRefused" */
  readonly kind?: ErrorName;
}

/** The kernel refused an operation: `create veth "npg82111e10a96": EEXIST (file exists)`. */
export class KernelError extends NetplugError {
  override readonly name = "KernelError";
  readonly operation: string;
  readonly object: string;
  readonly errno: number;

  constructor({ operation, object, errno, reason, kind = "kernelRefused" }: Refusal) {
    const because = reason === undefined ? "" : `: ${reason}`;
    super(kind, `${operation} ${quote(object)}: ${toErrnoText(errno)}${because}`);
    this.operation = operation;
    this.object = object;
    this.errno = errno;
  }

  /** `EEXIST`. */
  get errnoName(): string {
    return toErrnoName(this.errno);
  }
}

/**
 * Passes on what a system call returned, unless that is −1.
 *
 * @param result hand over the call itself, so that nothing comes between it and reading `errno`
 * @param operation and `object` must be at hand already, for the same reason: no template strings here
 * @throws {KernelError}
 */
export function check(result: number, operation: string, object: string, kind: ErrorName = "kernelRefused"): number {
  if (result >= 0) return result;
  throw new KernelError({ operation, object, errno: lastErrno(), kind });
}

/** For the statement right after a call that has failed. @throws {KernelError} ioFailure, unless it failed because there is no such file */
export function requireMissing(operation: string, object: string): void {
  const errno = lastErrno();
  if (errno !== ENOENT && errno !== ENOTDIR) throw new KernelError({ operation, object, errno, kind: "ioFailure" });
}
