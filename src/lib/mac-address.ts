/** Ethernet addresses. */

/** `aa:bb:cc:dd:ee:ff`, always lower case: usable as a map key. */
export type MacAddress = string & { readonly brand: "MacAddress" };

/** Text that is not an Ethernet address that an interface can have. */
export class MacAddressError extends SyntaxError {
  override readonly name = "MacAddressError";
}

/**
 * Parses six hexadecimal octets joined by `:` or `-`, in any case.
 *
 * @throws {MacAddressError} also for multicast addresses and all zeros: no interface can have them
 */
export function parseMac(text: string): MacAddress {
  const mac = tryParseMac(text);
  if (mac === undefined)
    throw new MacAddressError(`parse MAC address: got ${JSON.stringify(text.slice(0, 80))}, want unicast aa:bb:cc:dd:ee:ff`);
  return mac;
}

/** As {@link parseMac}, but `undefined` for what is none. */
export function tryParseMac(text: string): MacAddress | undefined {
  if (!/^[0-9a-f]{2}([:-])[0-9a-f]{2}(?:\1[0-9a-f]{2}){4}$/i.test(text)) return undefined;
  const canonical = text.toLowerCase().replaceAll("-", ":");
  const isMulticast = (Number.parseInt(canonical.slice(0, 2), 16) & 1) === 1;
  return isMulticast || canonical === "00:00:00:00:00:00" ? undefined : (canonical as MacAddress);
}

/** The six bytes as the kernel wants them. */
export function toMacBytes(mac: MacAddress): Uint8Array {
  const bytes = new Uint8Array(6);
  for (let i = 0; i < bytes.length; i++) bytes[i] = Number.parseInt(mac.slice(3 * i, 3 * i + 2), 16);
  return bytes;
}

/** @throws {RangeError} not six bytes */
export function fromMacBytes(bytes: Uint8Array): MacAddress {
  if (bytes.length !== 6) throw new RangeError(`read MAC address: got ${bytes.length} bytes, want 6`);
  let text = "";
  for (let i = 0; i < bytes.length; i++) text += `${i === 0 ? "" : ":"}${(bytes[i] ?? 0).toString(16).padStart(2, "0")}`;
  return text as MacAddress;
}

/**
 * A locally administered unicast address that follows from `seed`: the same seed always gives the same address, so that an ADD that is
 * repeated changes nothing.
 *
 * @param seed what identifies the interface, e.g. `<containerID>/<ifname>`
 */
export function deriveMac(seed: string): MacAddress {
  const bytes = new Uint8Array(new Bun.CryptoHasher("sha1").update(seed).digest().buffer.slice(0, 6));
  bytes[0] = ((bytes[0] ?? 0) & 0xfc) | 0x02;
  return fromMacBytes(bytes);
}
