/** Certificates and key from their files. Loaded only for TLS. */

import { messageOf, NetplugError } from "../../../lib/errors.ts";
import { describeFolder } from "../../../lib/folder-for-file.ts";
import type { Clock, Files } from "../../../lib/ports.ts";
import type { EtcdConfig } from "../../config/datastore-config.ts";
import type { EtcdFailure } from "../protocol/failure.ts";
import type { TlsMaterial } from "../wire/transport.ts";

/** A certificate, under any of the labels that OpenSSL reads; the last one is that of its first releases. */
const CERTIFICATE = /-----BEGIN ((?:TRUSTED |X509 )?CERTIFICATE)-----[^-]+-----END \1-----/g;

const BEGINNING = /-----BEGIN [A-Z0-9 ]*CERTIFICATE-----/g;

/** After how long the files are read again, so that renewed ones are used: milliseconds. */
const LIFETIME_MS = 60_000;

/** Those of one process. */
export class TlsFiles {
  readonly #config: EtcdConfig;
  readonly #ports: { readonly clock: Clock; readonly files: Files };
  #material: TlsMaterial | undefined;
  #readAt = -Infinity;

  constructor(config: EtcdConfig, ports: { readonly clock: Clock; readonly files: Files }) {
    this.#config = config;
    this.#ports = ports;
  }

  /** The same object for the same files: connections are kept by it. @throws NetplugError as {@link readTlsFiles} */
  read(): TlsMaterial {
    const { clock, files } = this.#ports;
    const now = clock.monotonic();
    if (this.#material !== undefined && now - this.#readAt <= LIFETIME_MS) return this.#material;
    const material = readTlsFiles(this.#config, files);
    this.#readAt = now;
    if (this.#material === undefined || JSON.stringify(material) !== JSON.stringify(this.#material)) this.#material = material;
    return this.#material;
  }

  /**
   * Checks whether the files are why a connection, or a request, failed. The next call reads them again, since somebody may be renewing them: a certificate
   * and a key that do not fit each other, but are others by now, were read while they were replaced one after the other.
   *
   * @returns the failure, with what to do if etcd has refused them, or denies something to their user
   * @throws NetplugError
   */
  async doubt(material: TlsMaterial, failure: EtcdFailure): Promise<EtcdFailure> {
    this.#readAt = -Infinity;
    const { advise, requireUsable } = await import("./tls-check.ts");
    try {
      requireUsable(this.#config, material);
      return advise(failure, this.#config, material, this.#ports.clock.now());
    } catch (thrown) {
      const now = readTlsFiles(this.#config, this.#ports.files);
      if (JSON.stringify(now) === JSON.stringify(material)) throw thrown;
      return failure;
    }
  }
}

/** @throws NetplugError ioFailure for a file that is missing, unreadable or no PEM; says which, never what is in it */
export function readTlsFiles(config: EtcdConfig, files: Files): TlsMaterial {
  const { caCertFile, certFile, keyFile } = config;
  return {
    ca: caCertFile === undefined ? undefined : readRoots(files, caCertFile),
    cert: certFile === undefined ? undefined : readPem(files, "etcd_cert_file", certFile),
    key: keyFile === undefined ? undefined : readPem(files, "etcd_key_file", keyFile, "PRIVATE KEY-----"),
  };
}

/** Never empty: with no root given, those of the system would be trusted. */
function readRoots(files: Files, path: string): readonly string[] {
  const text = readPem(files, "etcd_ca_cert_file", path);
  const roots = text.match(CERTIFICATE) ?? [];
  const begun = text.match(BEGINNING)?.length ?? 0;
  if (roots.length > 0 && roots.length === begun) return roots.map((root) => root.replaceAll("X509 CERTIFICATE-----", "CERTIFICATE-----"));
  throw new NetplugError(
    "ioFailure",
    `read etcd_ca_cert_file "${path}": got ${roots.length} whole of ${begun} certificates, want PEM that is whole`,
  );
}

function readPem(files: Files, option: string, path: string, marker = "CERTIFICATE-----"): string {
  const text = readFile(files, option, path);
  if (text === undefined) throw new NetplugError("ioFailure", `read ${option} "${path}": no such file`);
  if (!text.includes(marker)) throw new NetplugError("ioFailure", `read ${option} "${path}": want PEM with "${marker}"`);
  return text;
}

function readFile(files: Files, option: string, path: string): string | undefined {
  try {
    return files.readText(path);
  } catch (cause) {
    const folder = describeFolder(path, files);
    const fault = folder === undefined ? `: ${messageOf(cause)}` : ` "${path}": ${folder}`;
    throw new NetplugError("ioFailure", `read ${option}${fault}`, { cause });
  }
}
