/** Certificates for etcd: from the folder where a Secret is mounted to the host, where the plugin can read them. */

import { NetplugError } from "../lib/errors.ts";
import { quote } from "../lib/quote.ts";
import { isGone, writeTogether } from "./files/atomic-file.ts";
import type { DurableFiles } from "./files/durable-files.ts";
import type { InstallHost } from "./host.ts";
import { TLS_FOLDER } from "./settings/file-names.ts";

/** Keys of the Secret, which are the files' names on both sides. */
const NAMES = { caCert: "etcd-ca", cert: "etcd-cert", key: "etcd-key" } as const;

/** Our names of the three; their files have those in {@link NAMES}. */
type TlsAssetName = keyof typeof NAMES;

/** Content of the files that are there. */
export type TlsAssets = { readonly [N in TlsAssetName]?: string };

const PERMISSIONS = 0o600;

/** Where kubelet mounts a Secret: the link through which all its files are seen, and which it replaces to change them together. */
const VOLUME_LINK = "..data";

/** Reads files that belong together. @throws NetplugError ioFailure; invalidConfig for a key without its certificate, or the reverse */
export function readTlsAssets(folder: string, disk: Pick<DurableFiles, "readText" | "statLink">): TlsAssets {
  const findVersion = (): string | undefined => disk.statLink(`${folder}/${VOLUME_LINK}`)?.id;
  let assets: TlsAssets;
  let version: string | undefined;
  do {
    version = findVersion();
    assets = readEach(folder, disk);
  } while (findVersion() !== version);
  if ((assets.cert === undefined) !== (assets.key === undefined)) {
    throw new NetplugError("invalidConfig", `read etcd certificates in ${quote(folder)}: want "${NAMES.cert}" and "${NAMES.key}" together`);
  }
  return assets;
}

function readEach(folder: string, disk: Pick<DurableFiles, "readText">): TlsAssets {
  const texts = entries().map(([asset, name]) => [asset, disk.readText(`${folder}/${name}`)] as const);
  return Object.fromEntries(texts.filter(([, text]) => text !== undefined));
}

/**
 * Copies `assets` to the host.
 *
 * @returns names of the files that have changed
 * @throws NetplugError ioFailure
 */
export function writeTlsAssets(confDir: string, assets: TlsAssets, host: Pick<InstallHost, "disk" | "userId">): readonly string[] {
  const folder = tlsFolderIn(confDir);
  if (Object.keys(assets).length > 0) host.disk.makeFolders(folder);
  const texts = entries().flatMap(([asset, name]) => (assets[asset] === undefined ? [] : [[name, assets[asset]] as const]));
  // A key does not fit another certificate.
  return writeTogether(host, folder, Object.fromEntries(texts), PERMISSIONS);
}

/**
 * Removes copies of what `assets` lacks, once no network config names them any more.
 *
 * @returns their names
 * @throws NetplugError ioFailure
 */
export function removeTlsAssets(confDir: string, assets: TlsAssets, disk: Pick<DurableFiles, "remove">): readonly string[] {
  const folder = tlsFolderIn(confDir);
  const removed = entries().filter(([asset, name]) => assets[asset] === undefined && disk.remove(`${folder}/${name}`));
  return removed.map(([, name]) => name);
}

/** Whether each of them has a copy, whatever is in it. */
export function hasTlsCopies(confDir: string, assets: TlsAssets, disk: Pick<DurableFiles, "statLink">): boolean {
  const folder = tlsFolderIn(confDir);
  return entries().every(([asset, name]) => (assets[asset] ?? "") === "" || !isGone(disk, `${folder}/${name}`));
}

/** The folder of the copies. */
export function tlsFolderIn(confDir: string): string {
  return `${confDir}/${TLS_FOLDER}`;
}

/** Where the host finds a copy. @returns undefined for what is not there */
export function toHostPath(hostConfDir: string, asset: TlsAssetName, assets: TlsAssets): string | undefined {
  return assets[asset] === undefined ? undefined : `${hostConfDir}/${TLS_FOLDER}/${NAMES[asset]}`;
}

function entries(): readonly (readonly [TlsAssetName, string])[] {
  return [
    ["caCert", NAMES.caCert],
    ["key", NAMES.key],
    ["cert", NAMES.cert],
  ];
}
