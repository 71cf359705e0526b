import { expect, test } from "bun:test";
import { CommandFailed } from "../failures/failure.ts";
import type { CliIo } from "../io.ts";
import { settingsOfFile } from "./config-file.ts";

async function read(text: string | undefined, named?: string): Promise<unknown> {
  const io = { readInput: async () => text } as unknown as CliIo;
  return await settingsOfFile(io, named);
}

async function faultOf(text: string | undefined): Promise<string> {
  const thrown: unknown = await read(text, "ctl.cfg").catch((error: unknown) => error);
  expect(thrown).toBeInstanceOf(CommandFailed);
  return (thrown as CommandFailed).message;
}

const file = (spec: string): string => `apiVersion: netplug.io/v3\nkind: NetplugAPIConfig\nspec:\n  ${spec}\n`;

test("each form of a file is read", async () => {
  const wanted = { datastoreType: "etcdv3", etcdEndpoints: "https://a:2379,https://b:2379" };
  const spec = "datastoreType: etcdv3\n  etcdEndpoints: [https://a:2379, https://b:2379]\n  etcdUsername:\n  etcdPassword: ''";
  for (const text of [file(spec), `\ufeff${file(spec)}`, file(spec).replaceAll("\n", "\r\n"), `---\n${file(spec)}...\n`])
    expect(await read(text)).toEqual(wanted);
  expect(await read(JSON.stringify({ kind: "NetplugAPIConfig", spec: wanted }))).toEqual(wanted);
  expect(await read(undefined)).toEqual({});
});

test.each<[string | undefined, string]>([
  [undefined, "there is no such file"],
  ["", "got nothing, want an object of kind NetplugAPIConfig"],
  ["- a\n", "got a list, want an object"],
  ["spec: {}\n", 'kind: got nothing, want "NetplugAPIConfig"'],
  ["kind: IPPool\n", 'kind: got "IPPool", want "NetplugAPIConfig"'],
  [file("etcdEndpoint: http://a:2379"), 'spec: unknown field "etcdEndpoint"; the nearest known one is "etcdEndpoints"'],
  [file("etcdPassword: 007"), "spec.etcdPassword: got a number, want a text; put it in quotes"],
  [file("etcdUsername: a\n  etcdUsername: b"), 'line 5, column 3: the key "etcdUsername" appears twice in one object'],
  [file("etcdPassword: m\ufffdnze"), "line 4, column 18: got bytes that are no UTF-8"],
  [`${file("datastoreType: etcdv3")}---\n${file("datastoreType: kubernetes")}`, "got 2 documents, want one"],
])("what makes no sense is told: %j", async (text, fault) => {
  expect(await faultOf(text)).toStartWith(`read config file "ctl.cfg": ${fault}`);
});

test.each(["etcdPassword: *secret", "etcdPassword: !secret", "etcdPassword: @secret", 'etcdPassword: "\\secret"', "secret"])(
  "the place of what is no YAML is told, a password never: %s",
  async (spec) => {
    const fault = await faultOf(file(spec).replace("spec:\n  secret", "spec:\n  - a\n secret"));
    expect(fault).toMatch(/^read config file "ctl\.cfg": line [45], column \d+: it is no YAML$/);
  },
);
