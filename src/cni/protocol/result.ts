/** The result of ADD: ours, a delegate's, and the one before ours in a chain. */

import type { Address } from "../../lib/ip/address.ts";
import type { Cidr } from "../../lib/ip/cidr.ts";
import { toCidrText, tryParseCidr } from "../../lib/ip/cidr.ts";
import type { JsonObject } from "../../lib/json.ts";

/**
 * A result in the shape of CNI 1.1.0, which can hold what every older shape can. Entries may carry fields that we do not know:
 * they are kept.
 *
 * @see CNI SPEC 1.1.0, section "Success"
 */
export interface CniResult {
  readonly interfaces: readonly ResultInterface[];
  readonly ips: readonly ResultIp[];
  readonly routes: readonly ResultRoute[];
  /** As it came; undefined when nobody said anything. */
  readonly dns: JsonObject | undefined;
}

/** In our own results the first is the host side, and the second the pod side. */
export interface ResultInterface {
  readonly name: string;
  readonly mac?: string;
  /** Bytes. */
  readonly mtu?: number;
  /** Path of the network namespace; absent on the host side. */
  readonly sandbox?: string;
  readonly socketPath?: string;
  readonly pciID?: string;
  readonly [unknownField: string]: unknown;
}

/** From `netplug` a /32 or /128 on interface 1; from `netplug-ipam` an address with its block's prefix length, and a gateway. */
export interface ResultIp {
  /** Address and prefix length. */
  readonly address: string;
  readonly gateway?: string;
  /** Index into `interfaces`. */
  readonly interface?: number;
  readonly [unknownField: string]: unknown;
}

/** In our own results one that was installed in the pod; those of a `prevResult` are kept as they came. */
export interface ResultRoute {
  /** Address and prefix length. */
  readonly dst: string;
  /** Absent: on the link. */
  readonly gw?: string;
  readonly mtu?: number;
  readonly advmss?: number;
  readonly priority?: number;
  readonly table?: number;
  readonly scope?: number;
  readonly [unknownField: string]: unknown;
}

/** A result without interfaces and addresses: to begin one, or for a `prevResult` that is not there. */
export const EMPTY_RESULT: CniResult = { interfaces: [], ips: [], routes: [], dns: undefined };

/** The addresses of a result, in its order. Every entry of a parsed result is one. */
export function addressesOf(result: CniResult): readonly Address[] {
  return result.ips.map(({ address }) => tryParseCidr(address)?.address).filter((address) => address !== undefined);
}

/** An entry for an address that lies on an interface of the same result. */
export function toResultIp(cidr: Cidr, interfaceIndex: number | undefined, gateway?: string): ResultIp {
  return {
    address: toCidrText(cidr),
    ...(gateway !== undefined && { gateway }),
    ...(interfaceIndex !== undefined && { interface: interfaceIndex }),
  };
}

/** Our result in a chain: what came before follows after ours, its interface indexes shifted; its `dns` is kept. */
export function mergeWithPrevious(own: CniResult, previous: CniResult | undefined): CniResult {
  if (previous === undefined) return own;
  const shift = own.interfaces.length;
  const shifted = previous.ips.map((ip) => (ip.interface === undefined ? ip : { ...ip, interface: ip.interface + shift }));
  return {
    interfaces: [...own.interfaces, ...previous.interfaces],
    ips: [...own.ips, ...shifted],
    routes: [...own.routes, ...previous.routes],
    dns: previous.dns ?? own.dns,
  };
}
