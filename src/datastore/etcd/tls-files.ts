/** Certificates and key from their files. */

import { NetplugError } from "../../lib/errors.ts";
import type { Files } from "../../lib/ports.ts";
import type { EtcdConfig } from "../datastore-config.ts";
import type { TlsMaterial } from "./transport.ts";

/** @throws NetplugError ioFailure for a file that is missing, unreadable or no PEM; says which, never what is in it */
export function readTlsFiles(config: EtcdConfig, files: Files): TlsMaterial {
  const { caCertFile, certFile, keyFile } = config;
  const ca = caCertFile === undefined ? undefined : readPem(files, "etcd_ca_cert_file", caCertFile);
  return {
    ca: ca?.match(/-----BEGIN (?:TRUSTED )?CERTIFICATE-----[\s\S]+?-----END (?:TRUSTED )?CERTIFICATE-----/g) ?? undefined,
    cert: certFile === undefined ? undefined : readPem(files, "etcd_cert_file", certFile),
    key: keyFile === undefined ? undefined : readPem(files, "etcd_key_file", keyFile, "PRIVATE KEY-----"),
  };
}

function readPem(files: Files, option: string, path: string, marker = "CERTIFICATE-----"): string {
  const text = files.readText(path);
  if (text === undefined) throw new NetplugError("ioFailure", `read ${option} "${path}": no such file`);
  if (!text.includes(marker)) throw new NetplugError("ioFailure", `read ${option} "${path}": want PEM with "${marker}"`);
  return text;
}
