/** Addresses that interfaces have. Apart from `addAddress()`, because an ADD looks at none. */

import { type Address, fromAddressBytes } from "../../lib/ip/address.ts";
import type { Cidr } from "../../lib/ip/cidr.ts";
import { type NetlinkMessage, readBytes, readField, readNumber, visitAttributes } from "./codec.ts";
import { AF_INET, AF_INET6, IFA_ADDRESS, IFA_F_DADFAILED, IFA_F_TENTATIVE, IFA_FLAGS, IFA_LOCAL, RTM_GETADDR } from "./constants.ts";
import type { Ifindex } from "./link.ts";
import type { NetlinkRequest } from "./request.ts";

/** An address as the kernel shows it. */
export interface LinkAddress extends Cidr {
  readonly index: Ifindex;
  /** Not usable (yet): duplicate address detection runs, or has found one. */
  readonly isTentative: boolean;
}

/** For a dump: every {@link LinkAddress} of an interface. Kernels before 4.20 send those of the others too. */
export function listAddresses(index: Ifindex): NetlinkRequest {
  return { operation: "list", object: "addresses", type: RTM_GETADDR, flags: 0, payload: [0, index] };
}

/** @returns undefined for a family that is not IP @throws {NetlinkDecodeError} */
export function toLinkAddress({ payload }: NetlinkMessage): LinkAddress | undefined {
  const family = readField(payload, 0, 1);
  let local: Address | undefined;
  let far: Address | undefined;
  let flags = readField(payload, 2, 1);
  if (family !== AF_INET && family !== AF_INET6) return undefined;
  visitAttributes(payload, ADDRESS_HEADER_BYTES, (type, value) => {
    if (type === IFA_LOCAL) local = fromAddressBytes(readBytes(value));
    else if (type === IFA_ADDRESS) far = fromAddressBytes(readBytes(value));
    else if (type === IFA_FLAGS) flags = readNumber(value);
  });
  // IFA_ADDRESS is the far end on point-to-point links; IPv6 has IFA_LOCAL only then.
  const address = local ?? far;
  if (address === undefined) return undefined;
  const isTentative = (flags & (IFA_F_TENTATIVE | IFA_F_DADFAILED)) !== 0;
  return { index: readField(payload, 4, 4) as Ifindex, address, length: readField(payload, 1, 1), isTentative };
}

/** `struct ifaddrmsg`: family, prefix length, flags, scope, all u8; index u32. */
const ADDRESS_HEADER_BYTES = 8;
