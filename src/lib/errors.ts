/** The one root of netplug's errors, and the one table of their codes. */

/**
 * Every code an operation can end with. 1–11, 50 and 51 are those of the CNI specification, 100 and up are ours;
 * `docs/errors.md` is generated from this table.
 *
 * @see CNI SPEC 1.1.0, section "Error"
 */
export const ERROR_CODES = {
  incompatibleVersion: { code: 1, meaning: "the network config asks for a CNI version or a verb that the plugin does not have" },
  unsupportedField: { code: 2, meaning: "a field of the network config is not supported; the message names key and value" },
  unknownContainer: { code: 3, meaning: "the container is unknown or does not exist" },
  badEnvironment: { code: 4, meaning: "a CNI environment variable is missing or invalid; the message names it" },
  ioFailure: { code: 5, meaning: "reading failed: the network config, a file, or an answer that no API server gives" },
  cannotDecode: { code: 6, meaning: "the network config is no JSON object" },
  invalidConfig: {
    code: 7,
    meaning: "a key of the network config has a wrong type or a value that is not allowed; the message names key, found and wanted",
  },
  badNetns: { code: 8, meaning: "CNI_NETNS does not exist, is no network namespace, or is the plugin's own" },
  tryAgainLater: {
    code: 11,
    meaning: "try again later: datastore unreachable or locked, deadline passed, readiness gate not ready in time",
  },
  notAvailable: { code: 50, meaning: "STATUS: the plugin cannot serve ADD now; the message gives the reason" },
  degraded: { code: 51, meaning: "STATUS: the plugin cannot serve ADD, and existing containers may have limited connectivity" },
  poolUnusable: { code: 100, meaning: "a named pool does not exist, is disabled, or is not of the family it is listed for" },
  noAddressLeft: { code: 101, meaning: "no address left; the message says per pool why" },
  addressInUse: { code: 102, meaning: "the requested address is in use; the message names the owner" },
  addressOutsidePools: { code: 103, meaning: "the requested address lies in no usable pool" },
  malformedRequest: { code: 104, meaning: "an annotation or CNI_ARGS value is malformed or contradicts another" },
  featureDisabled: { code: 105, meaning: "the feature is disabled by feature_control, or needs netplug-ipam" },
  podMismatch: { code: 106, meaning: "the pod does not exist or is another one (UID) than the runtime's" },
  nodeCidrMissing: { code: 107, meaning: "the node does not exist or has no pod CIDR of the wanted family" },
  accessDenied: {
    code: 108,
    meaning: "the datastore or API server refused the credentials or the permission, or shows a certificate that we do not trust",
  },
  kernelRefused: { code: 109, meaning: "the kernel refused; operation, object and errno are named" },
  policyNotReady: { code: 110, meaning: "policy was not programmed in time and the config asks to fail closed" },
  delegateFailed: { code: 111, meaning: "a delegated plugin failed; its own code and message are in details" },
  notInitialised: { code: 112, meaning: "the datastore was never initialised; the message says how to" },
  attachmentIncomplete: { code: 113, meaning: "CHECK: something that the ADD set up is missing or changed; the message lists every fault" },
  internal: { code: 999, meaning: "a defect of netplug: please report it with the log" },
} as const;

export type ErrorName = keyof typeof ERROR_CODES;

export interface NetplugErrorOptions {
  /** What lay underneath; its message is appended by whoever prints the whole chain. */
  readonly cause?: unknown;
  /** More than fits the headline, e.g. a delegate's own error. */
  readonly details?: string;
  /** Whether the same call may succeed later without any change. */
  readonly retriable?: boolean;
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
    return ERROR_CODES[this.kind].code;
  }
}

/** The message of whatever was thrown. */
export function messageOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown);
}
