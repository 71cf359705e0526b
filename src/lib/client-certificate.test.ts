import { X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import { afterAll, expect, test } from "bun:test";
import { mustRunProgramSync } from "../../test/support/programs/programs.ts";
import { type Authority, createCertificateFolder, type KeyPair } from "../../test/support/servers/certificates.ts";
import { commonNameOf, findCertificateFault } from "./client-certificate.ts";

const SECOND_MS = 1_000;

const folder = createCertificateFolder();
afterAll(() => folder[Symbol.dispose]());
const root = folder.createAuthority("root");
const text = ({ certFile }: { readonly certFile: string }): string => readFileSync(certFile, "utf8");

const client = text(root.issueClient("me"));
const authority = root.issueAuthority("intermediate");
const expired = root.issueAuthority("expired", -1);
const forServers = root.issueAuthority("for-servers", 1, "serverAuth");
/** Below one that has expired. */
const lower = expired.issueAuthority("lower");
const { validFrom, validTo } = new X509Certificate(client);
const [from, to] = [Date.parse(validFrom), Date.parse(validTo)];
const toText = (ms: number): string => new Date(ms).toISOString();
const NOT_FOR_CLIENTS = "it is not for clients, whose extended key usage is clientAuth";

test.each([
  [from - SECOND_MS, `it is not valid before ${toText(from)}: set this machine's clock, or the server's`],
  [from, undefined],
  [to, undefined],
  [to + SECOND_MS, `it expired at ${toText(to)}: renew it`],
])("at %d a certificate counts or does not", (now, why) => {
  expect(findCertificateFault(client, now)).toEqual(why === undefined ? undefined : { isOfAuthority: false, why });
});

test("it must be for clients, or for everything", () => {
  for (const [usage, why] of [
    ["serverAuth", NOT_FOR_CLIENTS],
    ["serverAuth,clientAuth", undefined],
    ["anyExtendedKeyUsage", undefined],
  ] as const) {
    const certificate = text(root.issueServer(usage, undefined, usage));
    expect(findCertificateFault(certificate, to)).toEqual(why === undefined ? undefined : { isOfAuthority: false, why });
  }
  expect(findCertificateFault(text(authority), to)).toBeUndefined();
});

const EXPIRED = expect.stringMatching(/^it expired at 20.+Z: renew it$/) as string;

test.each([
  ["one that counts", authority, [text(authority)], undefined],
  ["one that has expired", expired, [text(authority), text(expired)], EXPIRED],
  ["one that counts, and the one above it that has expired, in any order", lower, [text(expired), text(lower)], EXPIRED],
  ["one that is for servers", forServers, [text(forServers)], NOT_FOR_CLIENTS],
  ["what nobody can read, and then one that has expired", expired, ["-----BEGIN CERTIFICATE-----\nAAAA\n", text(expired)], EXPIRED],
  ["a key", root, ["-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"], undefined],
  ["one that has expired, and did not sign it", authority, [text(expired), text(authority), text(forServers)], undefined],
  ["its own copy, and an authority that signed itself", root, [text(root), text(root)], undefined],
])("of authorities it may be followed by %s", (_what, issuer, following, why) => {
  const pem = [text(issuer.issueClient("of-it")), ...following].join("");
  expect(findCertificateFault(pem, to)).toEqual(why === undefined ? undefined : { isOfAuthority: true, why });
});

/** Another certificate of an authority, by its name. */
function signAgain(name: string, by: KeyPair, days: number): string {
  const at = (extension: string): string => `${folder.path}/${name}.${extension}`;
  const signed = ["-CA", by.certFile, "-CAkey", by.keyFile, "-set_serial", "99", "-days", String(days)];
  const again = { certFile: at("again.crt") };
  mustRunProgramSync(["openssl", "x509", "-req", "-in", at("csr"), ...signed, "-extfile", at("ext"), "-out", again.certFile]);
  return text(again);
}

const keyPairOf = ({ certFile }: Authority): KeyPair => ({ certFile, keyFile: certFile.replace(/crt$/, "key") });

test("of two certificates of the authority one that counts is enough", () => {
  const [own, old] = [text(authority.issueClient("of-both")), signAgain("intermediate", keyPairOf(root), -1)];
  expect(findCertificateFault(own + old, to)).toEqual({ isOfAuthority: true, why: EXPIRED });
  expect(findCertificateFault(own + old + text(authority), to)).toBeUndefined();
});

test("and one of which all above count, too", () => {
  const [own, crossed] = [text(authority.issueClient("of-crossed")), signAgain("intermediate", keyPairOf(expired), 1)];
  const pem = own + crossed + text(expired);
  expect(findCertificateFault(pem, to)).toEqual({ isOfAuthority: true, why: EXPIRED });
  for (const more of [text(authority), text(authority) + text(root)]) {
    expect(findCertificateFault(pem + more, to)).toBeUndefined();
    expect(findCertificateFault(own + more + crossed + text(expired), to)).toBeUndefined();
  }
});

test("two that have signed each other are looked at once", () => {
  const loop = signAgain("intermediate", keyPairOf(lower), 1) + signAgain("lower", keyPairOf(authority), 1);
  expect(findCertificateFault(text(authority.issueClient("of-loop")) + loop + loop, to)).toBeUndefined();
});

test.each(["netplug", "j\u00fcrgen", 'a "b"=c'])("whose it is: %s", (name) => {
  expect(commonNameOf(text(root.issueClient(name, ["group"])))).toBe(name);
});

test("of several names the last one counts, and there may be none", () => {
  expect(commonNameOf(text(root.issueClient("last", ["group/CN=first"])))).toBe("last");
  const certFile = `${folder.path}/nobody.crt`;
  const key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", `${folder.path}/nobody.key`];
  mustRunProgramSync(["openssl", "req", "-x509", ...key, "-subj", "/O=group", "-out", certFile]);
  expect(commonNameOf(text({ certFile }))).toBeUndefined();
});

test("what is no certificate has no fault, and is nobody's", () => {
  expect(findCertificateFault("-----BEGIN CERTIFICATE-----\n", to)).toBeUndefined();
  expect(commonNameOf("-----BEGIN CERTIFICATE-----\n")).toBeUndefined();
});
