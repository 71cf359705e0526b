import { expect, test } from "bun:test";
import { memoryFiles } from "../../../../test/support/memory-files.ts";
import { systemClock } from "../../../lib/clock.ts";
import type { Files } from "../../../lib/ports.ts";
import { KernelError } from "../../../linux/kernel-error.ts";
import { EtcdFailure } from "../protocol/failure.ts";
import { readTlsFiles, TlsFiles } from "./tls-files.ts";

const toPem = (label: string, content: string, end = label): string => `-----BEGIN ${label}-----\n${btoa(content)}\n-----END ${end}-----\n`;
const first = toPem("CERTIFICATE", "first root");
const second = toPem("CERTIFICATE", "second root");

function rootsIn(text: string): readonly string[] | undefined {
  const files = { readText: () => text } as unknown as Files;
  return readTlsFiles({ endpoints: [], caCertFile: "/ca.crt" }, files).ca;
}

test("each certificate of the CA file is a root, with text between them or not", () => {
  expect(rootsIn(`# ours\n${first}# theirs\r\n${second}`)).toEqual([first.trim(), second.trim()]);
  expect(rootsIn(toPem("TRUSTED CERTIFICATE", "first root"))).toEqual([toPem("TRUSTED CERTIFICATE", "first root").trim()]);
});

test("the label of OpenSSL's first releases stands for the same", () => {
  expect(rootsIn(toPem("X509 CERTIFICATE", "first root"))).toEqual([first.trim()]);
});

test.each([
  ["is cut off in its only certificate", first.slice(0, 45), "got 0 whole of 1"],
  ["is cut off in its second certificate", first + second.slice(0, 45), "got 1 whole of 2"],
  ["is cut off in its first certificate", first.slice(0, 45) + second, "got 1 whole of 2"],
  ["has an end only", first.slice(28), "got 0 whole of 0"],
  ["ends a certificate under another label", toPem("CERTIFICATE", "first root", "TRUSTED CERTIFICATE"), "got 0 whole of 1"],
  ["has a label that nobody knows", toPem("HOME MADE CERTIFICATE", "first root"), "got 0 whole of 1"],
])("a CA file that %s is refused, and never stands for the roots of the system", (_, text, reason) => {
  expect(() => rootsIn(text)).toThrow(`read etcd_ca_cert_file "/ca.crt": ${reason} certificates`);
});

test("a file that the kernel does not let us read is named with its option", () => {
  const refuse = (): never => {
    throw new KernelError({ operation: "read", object: "/ca", errno: 21, kind: "ioFailure" });
  };
  const config = { endpoints: [], certFile: "/ca" };
  expect(() => readTlsFiles(config, { ...memoryFiles({}), readText: refuse })).toThrow(
    'read etcd_cert_file: read "/ca": EISDIR (is a directory)',
  );
});

test("files that are read again and are as before give the same material, by which connections are kept", () => {
  let text = first;
  let now = 0;
  const ports = { clock: { ...systemClock, monotonic: () => now }, files: { readText: () => text } as unknown as Files };
  const files = new TlsFiles({ endpoints: [], caCertFile: "/ca.crt" }, ports);
  const material = files.read();
  now = 61_000;
  expect(files.read()).toBe(material);
  text = second;
  expect(files.read()).toBe(material);
  now = 122_000;
  expect(files.read().ca).toEqual([second.trim()]);
});

test("files that cannot be used are told, unless others are there by now", async () => {
  let text = first;
  const ports = { clock: systemClock, files: { readText: () => text } as unknown as Files };
  const files = new TlsFiles({ endpoints: [], caCertFile: "/ca.crt" }, ports);
  const material = files.read();
  const failure = new EtcdFailure("unreachable", "cannot connect");
  const fault = 'use etcd_ca_cert_file "/ca.crt": ';
  await expect(files.doubt(material, failure)).rejects.toThrow(fault);
  text = second;
  expect(await files.doubt(material, failure)).toBe(failure);
  expect(files.read().ca).toEqual([second.trim()]);
  await expect(files.doubt(files.read(), failure)).rejects.toThrow(fault);
});
