/** Names of the workload endpoints of pods, taken apart. */

import { joinEndpointName } from "../../../api/endpoint-names.ts";

/** What the name of a pod's endpoint says. */
export interface EndpointPlace {
  readonly node: string;
  readonly pod: string;
  readonly ifName: string;
}

/** In the place of the orchestrator. */
const KUBERNETES = "k8s";

/** `n1-k8s-web--0-eth0`. */
export function toPodEndpointName({ node, pod, ifName }: EndpointPlace): string {
  return joinEndpointName(node, KUBERNETES, pod, ifName);
}

/** @returns undefined for the name of an endpoint that is no pod's */
export function parseEndpointName(name: string): EndpointPlace | undefined {
  const [node, orchestrator, pod, ifName, ...more] = splitName(name);
  if (orchestrator !== KUBERNETES || node === undefined || pod === undefined || ifName === undefined || more.length > 0) return undefined;
  return { node, pod, ifName };
}

/** In an odd run of dashes the first one separates: a node or pod never ends with one, an interface may begin with it. */
function splitName(name: string): readonly string[] {
  const parts: string[] = [];
  let part = "";
  for (let at = 0; at < name.length;) {
    let dashes = 0;
    while (name[at + dashes] === "-") dashes++;
    if (dashes === 0) {
      part += name[at++];
      continue;
    }
    if (dashes % 2 === 1) {
      parts.push(part);
      part = "";
    }
    part += "-".repeat(dashes >> 1);
    at += dashes;
  }
  return [...parts, part];
}
