/** `docs/errors.md`: every code of the one table, explained. */

import { ERROR_CODES } from "../../src/lib/errors.ts";
import type { ErrorName } from "../../src/lib/errors.ts";

interface Explanation {
  readonly meaning: string;
  /** What a person does about it. */
  readonly advice: string;
}

/** A code that is missing here does not compile. They stand here and not beside the codes, which every call of the plugin loads. */
const EXPLANATIONS: Readonly<Record<ErrorName, Explanation>> = {
  incompatibleVersion: {
    meaning: "the network config asks for a CNI version or a verb that the plugin does not have",
    advice: "set `cniVersion` to one of those that `CNI_COMMAND=VERSION netplug` prints",
  },
  unsupportedField: {
    meaning: "a field of the network config is not supported; netplug never says so: it ignores unknown fields, and a wrong one is code 7",
    advice: "find out which other plugin of the conflist said it",
  },
  unknownContainer: {
    meaning: "the container is unknown; netplug never says so: DEL of such a container succeeds, and CHECK of it is code 113",
    advice: "find out which other plugin of the conflist said it",
  },
  badEnvironment: {
    meaning: "a CNI environment variable is missing or invalid; the message names it",
    advice: "the caller is no CNI runtime, or a broken one: the message names the variable",
  },
  ioFailure: {
    meaning: "reading or writing failed: the network config, a file, or an answer that no API server gives",
    advice: "look at permissions and free space of the file, or at the server, that the message names",
  },
  cannotDecode: {
    meaning: "the network config is no JSON object",
    advice: "check the file in `/etc/cni/net.d`: the message says what is wrong there",
  },
  invalidConfig: {
    meaning: "a key of the network config has a wrong type or a value that is not allowed; the message names key, found and wanted",
    advice: "correct the key in the network config: see [network-config.md](network-config.md)",
  },
  badNetns: {
    meaning: "CNI_NETNS does not exist, is no network namespace, or is the plugin's own",
    advice: "the sandbox is gone or was never made: the runtime should delete and make it again",
  },
  tryAgainLater: {
    meaning: "try again later: datastore unreachable or locked, deadline passed, readiness gate not ready in time",
    advice: "nothing is broken by this: the runtime tries again; if it stays, look at the datastore that the message names",
  },
  notAvailable: {
    meaning: "STATUS: the plugin cannot serve ADD now; the message gives the reason",
    advice: "the reason is in the message; pods cannot start on this node until it is gone",
  },
  degraded: {
    meaning:
      "STATUS: the plugin cannot serve ADD, and existing containers may have limited connectivity; only if another IPAM plugin says so",
    advice: "the reason is in the message; running pods may be affected too",
  },
  poolUnusable: {
    meaning: "a named pool does not exist, is disabled, or is not of the family it is listed for",
    advice: "create or enable the pool, or correct its name: `netplugctl get ippools`",
  },
  noAddressLeft: {
    meaning: "no address left; the message says per pool why",
    advice: "add a pool, or widen a selector: the message says per pool why; `netplugctl ipam show`",
  },
  addressInUse: {
    meaning: "the requested address is in use; the message names the owner",
    advice: "ask for another address, or release it when its owner is gone: `netplugctl ipam show --ip=A`",
  },
  addressOutsidePools: {
    meaning: "the requested address lies in no usable pool",
    advice: "ask for an address inside an enabled pool: `netplugctl get ippools`",
  },
  malformedRequest: {
    meaning: "an annotation or CNI_ARGS value is malformed or contradicts another, or annotations leave no room for ours",
    advice: "correct the annotation or `CNI_ARGS` that the message shows",
  },
  featureDisabled: {
    meaning: "the feature is disabled by feature_control, or needs netplug-ipam",
    advice: "enable it in `feature_control`, or use `ipam.type` `netplug-ipam`",
  },
  podMismatch: {
    meaning: "the pod does not exist, is another one (UID) than the runtime's, or another node's",
    advice: "usually a pod that was deleted meanwhile: the runtime gives up this sandbox; if the message names nodes, correct `nodename`",
  },
  nodeCidrMissing: {
    meaning: "the node does not exist or has no pod CIDR of the wanted family",
    advice: "set `nodename` as the node is registered, and a pod CIDR on the node",
  },
  accessDenied: {
    meaning: "the datastore or API server refused the credentials or the permission, or shows a certificate that we do not trust",
    advice: "check credentials, role or certificates that the message names",
  },
  kernelRefused: {
    meaning: "the kernel refused; operation, object and errno are named",
    advice: "operation, object and errno are in the message: see [troubleshooting.md](troubleshooting.md)",
  },
  policyNotReady: {
    meaning: "policy was not programmed in time and the config asks to fail closed",
    advice: "as long as there is no node agent, leave `policy_setup_timeout_seconds` at 0",
  },
  delegateFailed: {
    meaning: "a delegated plugin failed; its own code and message are in details",
    advice: "the delegate's own code and message are in `details`",
  },
  notInitialised: {
    meaning: "the datastore was never initialised; the message says how to",
    advice: "run `netplugctl init` once for the cluster",
  },
  attachmentIncomplete: {
    meaning: "CHECK: something that the ADD set up is missing or changed; the message lists every fault",
    advice: "let the runtime delete and make the sandbox again; the message says what was changed behind its back",
  },
  internal: {
    meaning: "a defect of netplug: please report it with the log",
    advice: "report it with the log file",
  },
};

/** The whole document. */
export function errorsDocument(): string {
  const rows = Object.entries(ERROR_CODES).map(([name, code]) => {
    const { meaning, advice } = EXPLANATIONS[name as ErrorName];
    return `| ${code} | ${meaning} | ${advice} |`;
  });
  return [
    "# Error codes",
    "",
    "<!-- made by `npm run generate` from tools/generate/errors.ts; do not edit -->",
    "",
    "What `netplug` and `netplug-ipam` print as `code` in the error object on standard output. 1 to 99 are the CNI specification's,",
    "100 and up are netplug's own. `msg` says what failed, on which object, and what to do; `details` holds what lies underneath.",
    "Containerd and CRI-O, and so `kubectl describe pod`, show `msg` without the code, which is in the plugin's log.",
    "",
    "| Code | Meaning | What to do |",
    "|---|---|---|",
    ...rows,
    "",
  ].join("\n");
}
