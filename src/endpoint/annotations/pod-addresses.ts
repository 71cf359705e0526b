/** Addresses that a pod asks for: one of a family at most. */

import { MalformedValue, parseValue, requireUnicast, toList } from "../../api/pod-annotations.ts";
import { type Address, toAddressText, tryParseAddress } from "../../lib/ip/address.ts";
import { isJsonObject } from "../../lib/json.ts";
import { quote, quoteValue } from "../../lib/quote.ts";
import type { AnnotationSource } from "./sources.ts";
import { FAMILIES, strictly } from "./values.ts";

/** Those of a pod that names its own. */
export function readPodAddresses(source: AnnotationSource): readonly Address[] {
  const wanted = 'a JSON list of one IPv4 address, one IPv6 address, or one of each, such as ["10.65.0.7"]';
  return strictly(source, (text) => toPodAddresses(parseValue(text, wanted), wanted));
}

/** As {@link readPodAddresses}, of addresses that nothing else looks at: those that no pod can have are refused here. */
export function readUncheckedPodAddresses(source: AnnotationSource): readonly Address[] {
  const addresses = readPodAddresses(source);
  strictly(source, () => requireUnicast(addresses));
  return addresses;
}

/**
 * The entry of one pod among those of all pods of its template. All are read, so that what is wrong with one shows with the first pod. A pod
 * without an entry is refused: whoever lists addresses wants no other one.
 */
export function readAddressesByPod(source: AnnotationSource, podName: string): readonly Address[] {
  const wanted = 'a JSON object with the addresses of each pod by its name, such as {"web-0": ["10.65.0.7"], "web-1": ["10.65.0.8"]}';
  return strictly(source, (text) => {
    const value = parseValue(text, wanted);
    if (!isJsonObject(value)) throw new MalformedValue(wanted, `it is ${quoteValue(value)}`);
    const owners = new Map<string, string>();
    let own: readonly Address[] | undefined;
    for (const [name, listed] of Object.entries(value)) {
      const addresses = readEntry(name, () => toPodAddresses(listed, wanted));
      if (name === podName) own = addresses;
      for (const address of addresses.map(toAddressText)) {
        const owner = owners.get(address);
        if (owner !== undefined) throw new MalformedValue(wanted, `${quote(owner)} and ${quote(name)} both have ${address}`);
        owners.set(address, name);
      }
    }
    const repeated = findRepeatedName(text);
    if (repeated !== undefined) throw new MalformedValue(wanted, `it has ${quote(repeated)} twice`);
    if (own === undefined) throw new MalformedValue(`an entry ${quote(podName)}`);
    return own;
  });
}

/** JSON's parser keeps the last of two entries with one name, and one of them was meant for another pod. @param text lists of addresses by name */
function findRepeatedName(text: string): string | undefined {
  const texts = [...text.matchAll(/"((?:[^"\\]|\\.)*)"(\s*:)?/g)];
  const names = texts.flatMap(([, name = "", colon]) => (colon === undefined ? [] : [name]));
  const seen = new Set<string>();
  return names.find((name) => seen.size === seen.add(name).size);
}

/** @throws {MalformedValue} */
function toPodAddresses(value: unknown, wanted: string): readonly Address[] {
  const addresses = toList(value, wanted, tryParseAddress);
  if (addresses.length === 0) throw new MalformedValue(wanted, "it is empty");
  for (const family of FAMILIES) {
    const count = addresses.filter((address) => address.family === family).length;
    if (count > 1) throw new MalformedValue(wanted, `it has ${count} IPv${family} addresses`);
  }
  return addresses;
}

/** What is wrong with the entry of a pod is told with its name. */
function readEntry<T>(name: string, read: () => T): T {
  try {
    return read();
  } catch (thrown) {
    if (thrown instanceof MalformedValue) throw new MalformedValue(thrown.wanted, `of ${quote(name)}, ${thrown.why ?? ""}`);
    throw thrown;
  }
}
