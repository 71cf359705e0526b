import { expect, test } from "bun:test";
import { toAddressText } from "../../lib/ip/address.ts";
import { readAddressesByPod, readUncheckedPodAddresses } from "./pod-addresses.ts";

function read(value: string): readonly string[] {
  const source = { annotation: "ipAddrsByPod", value, object: 'pod "prod/web-0"' } as const;
  return readAddressesByPod(source, "web-0").map(toAddressText);
}

test("a pod has its own entry among those of its template, as it is listed", () => {
  const value =
    '{ "web-1": ["10.65.0.8"], "web-0": ["FD00:65::7", "10.65.0.7"], "constructor": ["10.65.0.9"], "__proto__": ["10.65.0.10"] }';
  expect(read(value)).toEqual(["fd00:65::7", "10.65.0.7"]);
});

test("what stands between two texts is no name", () => {
  expect(read('{"web-0": ["10.65.0.7", "::7"], "web-1": ["10.65.0.8", "::8"]}')).toEqual(["10.65.0.7", "::7"]);
});

test("an escaped quote ends no name", () => {
  expect(read('{"web-0": ["10.65.0.7"], "\\"a\\"": ["10.65.0.8"], "\\"b\\"": ["10.65.0.9"]}')).toEqual(["10.65.0.7"]);
});

test.each([
  ['["10.65.0.7"]', "it is a list"],
  ["10.65.0.7", "want a JSON object with the addresses of each pod by its name"],
  ["{}", 'want an entry "web-0"'],
  ['{"web-1": ["10.65.0.7"]}', 'want an entry "web-0"'],
  ['{"web-0": "10.65.0.7"}', 'of "web-0", it is "10.65.0.7"'],
  ['{"web-0": ["10.65.0.7"], "web-1": ["x"]}', 'of "web-1", entry 1 is "x"'],
  ['{"web-0": ["10.65.0.7"], "web-1": []}', 'of "web-1", it is empty'],
  ['{"web-0": ["10.65.0.7", "10.65.0.8"]}', 'of "web-0", it has 2 IPv4 addresses'],
  ['{"web-0": ["fd00::7"], "web-1": ["10.65.0.8", "fd00:0::7"]}', '"web-0" and "web-1" both have fd00::7'],
  ['{"web-0": ["10.65.0.7"], "web-1": ["10.65.0.8"], "web-1" : ["10.65.0.9"]}', 'it has "web-1" twice'],
  ['{"web-0": "x",\n"web-0":["10.65.0.7"]}', 'it has "web-0" twice'],
])("%s is refused: %s", (value, reason) => {
  expect(() => read(value)).toThrow(expect.objectContaining({ code: 104, message: expect.stringContaining(reason) }));
});

test.each(["0.0.0.0", "169.254.1.1", "224.0.0.1", "255.255.255.255", "::", "::1", "fe80::1", "ff02::1", "::ffff:a00:1"])(
  "%s is none that a pod can have, where nothing else looks at it",
  (address) => {
    const source = { annotation: "ipAddrsNoIpam", value: JSON.stringify([address]), object: 'pod "prod/web-0"' } as const;
    const message = expect.stringContaining("want addresses that a pod can have");
    expect(() => readUncheckedPodAddresses(source)).toThrow(expect.objectContaining({ code: 104, message }));
  },
);
