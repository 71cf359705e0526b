/**
 * The file `status.<network>`: when STATUS last found that an ADD is permitted what it needs. A runtime calls STATUS every few seconds on each
 * node, and on Kubernetes every question is a request: so what an administrator rarely changes is asked once a minute. Only a yes is noted, so that
 * a node does not become ready in between.
 */

import { orNothing } from "../lib/errors.ts";
import type { Call } from "./call.ts";

const FILE_MODE = 0o600;
const VALID_MS = 60_000;

/** Whether that was within the last minute, since this boot. */
export function isNotedAsPermitted(call: Call): boolean {
  const { files, sinceBoot } = call.host;
  const [at, key] = (orNothing(() => files.readText(pathOf(call))) ?? "").split(" ");
  const ageMs = sinceBoot() - Number(at);
  return key === keyOf(call) && ageMs >= 0 && ageMs < VALID_MS;
}

/** A failure only means that the next STATUS asks again. */
export function noteAsPermitted(call: Call): void {
  const { files, sinceBoot } = call.host;
  orNothing(() => files.writeAtomically(pathOf(call), `${sinceBoot()} ${keyOf(call)}`, FILE_MODE));
}

function pathOf({ config }: Call): string {
  return `${config.runFolder}/status.${config.name}`;
}

/** Other plugins, and those with other addresses, need other permissions. */
function keyOf({ plugin, config, node, datastoreKey }: Call): string {
  return [plugin, encodeURIComponent(config.ipam.type ?? ""), node, datastoreKey()].join("/");
}
