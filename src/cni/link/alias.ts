/** Whose interface it is, as its `ifalias` tells: `netplug:<network>:<containerID>:<ifname>`. */

/** What an alias of ours says. */
export interface AliasParts {
  readonly network: string;
  readonly containerID: string;
  readonly ifName: string;
}

/** None of the parts can hold a colon: CNI's patterns allow none. */
const ALIAS = /^netplug:([^:]+):([^:]+):([^:]+)$/;

/** @returns undefined for an alias that is not ours */
export function parseAlias(alias: string): AliasParts | undefined {
  const [, network, containerID, ifName] = ALIAS.exec(alias) ?? [];
  return network === undefined || containerID === undefined || ifName === undefined ? undefined : { network, containerID, ifName };
}
