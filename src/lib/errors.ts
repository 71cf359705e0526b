/** The one root of netplug's errors, and the one table of their codes. */

/**
 * Every code an operation can end with. 1–11, 50 and 51 are those of the CNI specification, 100 and up are ours. What each means says
 * `docs/errors.md`, which `tools/generate/errors.ts` makes of this table.
 *
 * @see CNI SPEC 1.1.0, section "Error"
 */
export const ERROR_CODES = {
  incompatibleVersion: 1,
  unsupportedField: 2,
  unknownContainer: 3,
  badEnvironment: 4,
  ioFailure: 5,
  cannotDecode: 6,
  invalidConfig: 7,
  badNetns: 8,
  tryAgainLater: 11,
  notAvailable: 50,
  degraded: 51,
  poolUnusable: 100,
  noAddressLeft: 101,
  addressInUse: 102,
  addressOutsidePools: 103,
  malformedRequest: 104,
  featureDisabled: 105,
  podMismatch: 106,
  nodeCidrMissing: 107,
  accessDenied: 108,
  kernelRefused: 109,
  policyNotReady: 110,
  delegateFailed: 111,
  notInitialised: 112,
  attachmentIncomplete: 113,
  internal: 999,
} as const;

/** The name of a row; the CNI code and the exit status follow from it. */
export type ErrorName = keyof typeof ERROR_CODES;

/** What an error carries besides its code and its message. */
export interface NetplugErrorOptions {
  /** What lay underneath; its message is appended by whoever prints the whole chain. */
  readonly cause?: unknown;
  /** More than fits the headline, e.g. a delegate's own error. */
  readonly details?: string | undefined;
  /** Whether the same call may succeed later without any change. */
  readonly retriable?: boolean | undefined;
}

/**
 * What an operation ends with when it cannot be done. The message says what failed, on which object, and what to do.
 *
 * ```ts
 * throw new NetplugError("poolUnusable", `use pool "blue": it is disabled; enable it or name another`);
 * ```
 */
export class NetplugError extends Error {
  override readonly name: string = "NetplugError";
  /** Which row of {@link ERROR_CODES}. */
  readonly kind: ErrorName;
  readonly details: string | undefined;
  readonly retriable: boolean;

  constructor(kind: ErrorName, message: string, options: NetplugErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.kind = kind;
    this.details = options.details;
    this.retriable = options.retriable ?? kind === "tryAgainLater";
  }

  /** The number that a runtime sees. */
  get code(): number {
    return ERROR_CODES[this.kind];
  }

  /** The same failure, told in other words, or with other details. */
  reworded(message: string, details: string | undefined = this.details): NetplugError {
    const { kind, cause, retriable } = this;
    return new NetplugError(kind, message, { cause, details, retriable });
  }
}

/** Does work that its caller can do without. @returns undefined when it fails */
export function orNothing<T>(work: () => T): T | undefined {
  try {
    return work();
  } catch (thrown) {
    if (thrown instanceof NetplugError) return undefined;
    throw thrown;
  }
}

/** The message of whatever was thrown. */
export function messageOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown);
}
