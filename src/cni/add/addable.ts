/** Refuses an ADD that could never succeed, before anything is read. */

import { toAlias } from "../../endpoint/names.ts";
import { utf8Length } from "../../lib/characters.ts";
import { NetplugError } from "../../lib/errors.ts";
import { quote } from "../../lib/quote.ts";
import { IFALIAS_MAX } from "../../linux/netlink/constants.ts";
import { type Call, isMain, type LocalCall } from "../call.ts";
import { requireIpam } from "../delegate/address-source.ts";

/**
 * Refuses what no ADD can do, before the first request.
 *
 * @throws NetplugError invalidConfig, badEnvironment, podMismatch; featureDisabled for listed pools, which need our own address management
 */
export function checkAddable(call: Call): void {
  requireNameableLink(call);
  requirePod(call);
  const delegate = requireIpam(call);
  const family = ([4, 6] as const).find((one) => call.config.ipam.pools[one] !== undefined);
  if (delegate === undefined || family === undefined) return;
  throw new NetplugError(
    "featureDisabled",
    `use "ipam.ipv${family}_pools": "ipam.type" is ${quote(delegate.type)}, want "netplug-ipam"; remove the key or change the type`,
  );
}

function requirePod({ plugin, args, datastore }: Call): void {
  if (!isMain(plugin) || args.pod !== undefined || !datastore.traits.recordsArePods) return;
  throw new NetplugError(
    "podMismatch",
    "read CNI_ARGS: got no pod, want K8S_POD_NAMESPACE and K8S_POD_NAME with the Kubernetes datastore; for containers without Kubernetes use etcd",
  );
}

/** The interface's alias names its attachment, and the kernel limits its length. `netplug-ipam` has the same limit: records stay small. */
function requireNameableLink({ config, environment }: LocalCall): void {
  const { containerID, ifName } = environment;
  const room = IFALIAS_MAX - utf8Length(toAlias("", { containerID: "", ifName }));
  if (containerID.length + config.name.length <= room) return;
  throw new NetplugError(
    containerID.length > config.name.length ? "badEnvironment" : "invalidConfig",
    `read CNI_CONTAINERID and "name": got ${containerID.length} and ${config.name.length} characters, want ${room} or less together`,
  );
}
