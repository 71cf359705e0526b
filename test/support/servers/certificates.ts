/** For tests: certificate authorities and certificates, made by `openssl`. */

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { mustRunProgramSync } from "../programs/programs.ts";

export interface KeyPair {
  readonly certFile: string;
  readonly keyFile: string;
}

export interface Authority {
  readonly certFile: string;
  /** For a server on 127.0.0.1 and localhost. @param days how long it is valid from now on; below 0 it has expired */
  issueServer(name: string, altNames?: string, usage?: string, days?: number): KeyPair;
  /** @param commonName who the client is @param organizations the groups that Kubernetes takes it to be in */
  issueClient(commonName: string, organizations?: readonly string[]): KeyPair;
  /** An intermediate one. @param days as above @param usage what it may sign for; absent: everything */
  issueAuthority(name: string, days?: number, usage?: string): Authority;
}

export interface CertificateFolder extends Disposable {
  readonly path: string;
  createAuthority(name: string): Authority;
  /** One file with the certificates of several files. */
  bundle(name: string, files: readonly string[]): string;
}

const NEW_KEY = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"] as const;

/** All files lie in a temporary folder, made in `parent`, that goes away with it. */
export function createCertificateFolder(parent: string = tmpdir()): CertificateFolder {
  const path = mkdtempSync(join(parent, "netplug-certs-"));
  const at = (name: string): string => join(path, name);
  const toAuthority = (name: string, ca: KeyPair): Authority => {
    let serial = 1;
    const issue = (file: string, subject: string, extensions: string, days = 1): KeyPair => {
      const pair = { certFile: at(`${file}.crt`), keyFile: at(`${file}.key`) };
      const [request, extensionFile] = [at(`${file}.csr`), at(`${file}.ext`)];
      writeFileSync(extensionFile, extensions);
      openssl(["req", "-utf8", "-new", ...NEW_KEY, "-subj", subject, "-keyout", pair.keyFile, "-out", request]);
      const signed = ["-CA", ca.certFile, "-CAkey", ca.keyFile, "-set_serial", String(++serial), "-days", String(days)];
      openssl(["x509", "-req", "-in", request, ...signed, "-extfile", extensionFile, "-out", pair.certFile]);
      return pair;
    };
    return {
      certFile: ca.certFile,
      issueServer: (file, altNames = "IP:127.0.0.1,DNS:localhost", usage = "serverAuth,clientAuth", days = 1) =>
        issue(file, `/CN=${file}`, `subjectAltName=${altNames}\nextendedKeyUsage=${usage}\n`, days),
      issueClient: (commonName, organizations = []) => {
        const subject = [...organizations.map((organization) => `/O=${organization}`), `/CN=${commonName}`].join("");
        return issue(`${name}-${commonName}`, subject, "extendedKeyUsage=clientAuth\n");
      },
      issueAuthority(file, days, usage) {
        const extensions = `basicConstraints=critical,CA:TRUE\n${usage === undefined ? "" : `extendedKeyUsage=${usage}\n`}`;
        return toAuthority(file, issue(file, `/CN=${file}`, extensions, days));
      },
    };
  };
  return {
    path,
    createAuthority(name) {
      const ca = { certFile: at(`${name}.crt`), keyFile: at(`${name}.key`) };
      openssl(["req", "-utf8", "-x509", ...NEW_KEY, "-days", "2", "-subj", `/CN=${name}`, "-keyout", ca.keyFile, "-out", ca.certFile]);
      return toAuthority(name, ca);
    },
    bundle(name, files) {
      writeFileSync(at(name), files.map((file) => readFileSync(file, "utf8")).join("\n"));
      return at(name);
    },
    [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }),
  };
}

function openssl(args: readonly string[]): void {
  mustRunProgramSync(["openssl", ...args]);
}
