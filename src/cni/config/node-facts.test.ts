import { describe, expect, test } from "bun:test";
import { configOf } from "../../../test/support/calls/network-config.ts";
import type { NetplugError } from "../../lib/errors.ts";
import type { Files } from "../../lib/ports.ts";
import { resolveMtu, resolveNodeName } from "./node-facts.ts";

/** Files with this content; all others are not there. */
function filesWith(content: Readonly<Record<string, string>>): Files {
  return { readText: (path: string) => content[path] } as Partial<Files> as Files;
}

function faultOf(work: () => unknown): string {
  try {
    work();
  } catch (thrown) {
    return `${(thrown as NetplugError).code}: ${(thrown as NetplugError).message}`;
  }
  throw new Error("it did not fail");
}

describe("resolveNodeName()", () => {
  const nameOf = (keys: object, files: Readonly<Record<string, string>> = {}, hostName = "Host-1"): string =>
    resolveNodeName(configOf(keys), filesWith(files), () => hostName);

  test.each<[keys: object, files: Record<string, string>, name: string]>([
    [{ nodename: "a" }, { "/var/lib/netplug/nodename": "b" }, "a"],
    [{}, { "/var/lib/netplug/nodename": " Node_B.x\n" }, "Node_B.x"],
    [{ lib_dir: "/l" }, { "/l/nodename": "c" }, "c"],
    [{ nodename_file: "/n", hostname: "h" }, { "/n": "d" }, "d"],
    [{ nodename_file: "/n", hostname: "H" }, {}, "H"],
    [{ nodename_file: "/n", hostname: "H" }, { "/n": " \n" }, "H"],
    [{}, {}, "host-1"],
    [{ nodename: "n".repeat(253) }, {}, "n".repeat(253)],
  ])("with %j and files %j is %p", (keys, files, name) => expect(nameOf(keys, files)).toBe(name));

  test.each(["", "../x", "a b", "a/b", "-a", "a-", "a.", ".", "ä", "n".repeat(254), "a\nb"])(
    "refuses %p, and says where it is from",
    (name) => {
      const shown = 'want letters, digits, ".", "_" and "-", a letter or digit first and last, at most 253';
      const fromHost = faultOf(() => nameOf({}, {}, name));
      expect([fromHost.startsWith("7: resolve node name from the host name: got "), fromHost.endsWith(shown)]).toEqual([true, true]);
      if (name.trim() === "") return;
      expect(faultOf(() => nameOf({}, { "/var/lib/netplug/nodename": name }))).toStartWith(
        '7: resolve node name from "/var/lib/netplug/nodename": got ',
      );
    },
  );

  test("names the key of the network config that holds what is refused", () => {
    for (const key of ["nodename", "hostname"])
      expect(faultOf(() => nameOf({ [key]: "a/b" }, { "/var/lib/netplug/nodename": " " }))).toStartWith(
        `7: resolve node name from "${key}": got "a/b"`,
      );
  });
});

describe("resolveMtu()", () => {
  const mtuOf = (keys: object, files: Readonly<Record<string, string>> = {}): number => resolveMtu(configOf(keys), filesWith(files));
  const file = "/var/lib/netplug/mtu";

  test.each<[keys: object, files: Record<string, string>, mtu: number]>([
    [{ mtu: 1400 }, { [file]: "9000" }, 1400],
    [{ mtu: 1400, require_mtu_file: true }, { [file]: "broken" }, 1400],
    [{}, { [file]: " 1420\n" }, 1420],
    [{ lib_dir: "/l" }, { "/l/mtu": "9000" }, 9000],
    [{}, { [file]: "65535" }, 65_535],
    [{}, {}, 1500],
  ])("with %j and files %j is %p", (keys, files, mtu) => expect(mtuOf(keys, files)).toBe(mtu));

  test.each(["", "x", "1500 bytes", "1.5e3", "0x5dc", "-1", "67", "65536", "999999"])("refuses a file with %p", (text) => {
    expect(faultOf(() => mtuOf({}, { [file]: text }))).toBe(`7: read MTU from "${file}": got "${text}", want 68..65535`);
  });

  test("waits for the file when it is required", () => {
    expect(faultOf(() => mtuOf({ require_mtu_file: true }))).toStartWith(
      `11: read MTU: "require_mtu_file" is set and "${file}" does not exist`,
    );
  });
});
