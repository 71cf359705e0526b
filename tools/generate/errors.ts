/** `docs/errors.md` from the one table of codes. */

import { ERROR_CODES } from "../../src/lib/errors.ts";
import type { ErrorName } from "../../src/lib/errors.ts";

/** What a person does about it; a code that is missing here does not compile. */
const ADVICE: Readonly<Record<ErrorName, string>> = {
  incompatibleVersion: "set `cniVersion` to one of those that `CNI_COMMAND=VERSION netplug` prints",
  unsupportedField: "remove the field, or use a plugin that knows it",
  unknownContainer: "the runtime and the plugin disagree: let the runtime delete the sandbox",
  badEnvironment: "the caller is no CNI runtime, or a broken one: the message names the variable",
  ioFailure: "look at permissions and free space of the file, or at the server, that the message names",
  cannotDecode: "the network config is no JSON: check the file in `/etc/cni/net.d`",
  invalidConfig: "correct the key in the network config: see [network-config.md](network-config.md)",
  badNetns: "the sandbox is gone or was never made: the runtime should delete and make it again",
  tryAgainLater: "nothing is broken by this: the runtime tries again; if it stays, look at the datastore that the message names",
  notAvailable: "the reason is in the message; pods cannot start on this node until it is gone",
  degraded: "the reason is in the message; running pods may be affected too",
  poolUnusable: "create or enable the pool, or correct its name: `netplugctl get ippools`",
  noAddressLeft: "add a pool, or widen a selector: the message says per pool why; `netplugctl ipam show`",
  addressInUse: "ask for another address, or release it when its owner is gone: `netplugctl ipam show --ip=A`",
  addressOutsidePools: "ask for an address inside an enabled pool: `netplugctl get ippools`",
  malformedRequest: "correct the annotation or `CNI_ARGS` that the message shows",
  featureDisabled: "enable it in `feature_control`, or use `ipam.type` `netplug-ipam`",
  podMismatch: "usually a pod that was deleted meanwhile: the runtime gives up this sandbox",
  nodeCidrMissing: "set `nodename` as the node is registered, and a pod CIDR on the node",
  accessDenied: "check credentials, role or certificates that the message names",
  kernelRefused: "operation, object and errno are in the message: see [troubleshooting.md](troubleshooting.md)",
  policyNotReady: "the agent did not program the pod's policy in time: look at the agent's log on this node",
  delegateFailed: "the delegate's own code and message are in `details`",
  notInitialised: "run `netplugctl init` once for the cluster",
  attachmentIncomplete: "let the runtime delete and make the sandbox again; the message says what was changed behind its back",
  internal: "report it with the log file",
};

/** The whole document. */
export function errorsDocument(): string {
  const rows = Object.entries(ERROR_CODES).map(([name, { code, meaning }]) => `| ${code} | ${meaning} | ${ADVICE[name as ErrorName]} |`);
  return [
    "# Error codes",
    "",
    "<!-- made by `npm run generate` from src/lib/errors.ts; do not edit -->",
    "",
    "What `netplug` and `netplug-ipam` print as `code` in the error object on standard output. 1 to 99 are the CNI specification's,",
    "100 and up are netplug's own. `msg` says what failed, on which object, and what to do; `details` holds what lies underneath.",
    "Containerd and CRI-O, and so `kubectl describe pod`, show `msg` without the code, which stands in the plugin's log.",
    "",
    "| Code | Meaning | What to do |",
    "|---|---|---|",
    ...rows,
    "",
  ].join("\n");
}
