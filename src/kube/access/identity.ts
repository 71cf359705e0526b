/** Credentials as requests show them: files read, programs asked. */

import { NetplugError } from "../../lib/errors.ts";
import { describeFolder } from "../../lib/folder-for-file.ts";
import type { Files } from "../../lib/ports.ts";
import { quote } from "../../lib/quote.ts";
import type { KubeAccess, PemSource, UserAccess } from "./access.ts";

/** What a connection is made with. */
export interface TlsMaterial {
  /** PEM, several roots in one text; undefined: those of the system. */
  readonly ca: string | undefined;
  readonly cert: string | undefined;
  readonly key: string | undefined;
  readonly serverName: string | undefined;
  readonly skipsVerify: boolean;
}

/** What one request shows. A new one is made when files or tokens change; connections are kept by `tls`. */
export interface Identity {
  /** `Bearer …` or `Basic …`. */
  readonly authorization: string | undefined;
  readonly tls: TlsMaterial | undefined;
  readonly impersonate: UserAccess["impersonate"];
  /** For messages; never the credential itself. */
  readonly label: string;
}

/** What an exec plugin has given. */
export interface ExecCredential {
  readonly token: string | undefined;
  readonly cert: string | undefined;
  readonly key: string | undefined;
  /** Milliseconds since 1970; undefined: as long as it is accepted. */
  readonly expiresAt: number | undefined;
}

/**
 * Reads all files that access names. Over plain HTTP no credentials are shown: kubectl does not show them either.
 *
 * @param credential of the exec plugin, where there is one
 * @throws NetplugError accessDenied for a token file, invalidConfig for a certificate or key, that cannot be used; says which
 */
export function readIdentity(access: KubeAccess, credential: ExecCredential | undefined, files: Files): Identity {
  const { user, origin } = access;
  if (access.server.startsWith("http:")) {
    const hasSome = [user.token, user.tokenFile, user.basic, user.exec, user.clientCertificate].some((one) => one !== undefined);
    const label = `request without credentials${hasSome ? `, which ${origin} has but plain http never shows` : ""}`;
    return { authorization: undefined, tls: undefined, impersonate: user.impersonate, label };
  }
  const { authorization, label } = toAuthorization(access, credential, files);
  const tls: TlsMaterial = {
    ca: access.ca === undefined ? undefined : readPem(access.ca, CERTIFICATE, files),
    cert: credential?.cert ?? (user.clientCertificate && readPem(user.clientCertificate, CERTIFICATE, files)),
    key: credential?.key ?? (user.clientKey && readPem(user.clientKey, PRIVATE_KEY, files)),
    serverName: access.tlsServerName,
    skipsVerify: access.skipsTlsVerify,
  };
  return { authorization, tls, impersonate: user.impersonate, label: label ?? describeCertificate(tls, origin) };
}

/** Whether two identities show the same. */
export function isSameIdentity(a: Identity, b: Identity): boolean {
  return a.authorization === b.authorization && isSameTls(a.tls, b.tls);
}

/** Whether connections made with one serve for the other. */
export function isSameTls(a: TlsMaterial | undefined, b: TlsMaterial | undefined): boolean {
  if (a === undefined || b === undefined) return a === b;
  return a.ca === b.ca && a.cert === b.cert && a.key === b.key && a.serverName === b.serverName && a.skipsVerify === b.skipsVerify;
}

interface Authorization {
  readonly authorization: string | undefined;
  readonly label: string | undefined;
}

function toAuthorization({ user, origin }: KubeAccess, credential: ExecCredential | undefined, files: Files): Authorization {
  const fileToken = user.tokenFile === undefined ? undefined : readToken(user.tokenFile, user.token !== undefined, origin, files);
  if (fileToken !== undefined)
    return { authorization: `Bearer ${fileToken}`, label: `token in ${quote(user.tokenFile ?? "")} of ${origin}` };
  if (user.token !== undefined) return { authorization: `Bearer ${user.token}`, label: `token of ${origin}` };
  if (user.basic !== undefined) {
    const bytes = new TextEncoder().encode(`${user.basic.username}:${user.basic.password}`);
    const shown = user.basic.password === "" ? "user name" : "password";
    // A proxy in front of one may take it.
    const label = `${shown} of ${origin} (API servers take none since Kubernetes 1.19)`;
    return { authorization: `Basic ${bytes.toBase64()}`, label };
  }
  if (credential?.token !== undefined) {
    return { authorization: `Bearer ${credential.token}`, label: `token that the exec plugin of ${origin} gives` };
  }
  return { authorization: undefined, label: undefined };
}

function describeCertificate({ cert }: TlsMaterial, origin: string): string {
  return cert === undefined ? `request without credentials (there are none in ${origin})` : `client certificate of ${origin}`;
}

/** @param hasOther whether there is another token to fall back on */
function readToken(path: string, hasOther: boolean, origin: string, files: Files): string | undefined {
  const token = tryRead(path, files)?.trim();
  if (token !== undefined && token !== "") return token;
  if (hasOther) return undefined;
  const fault = token === undefined ? describeUnread(path, files) : "it is empty";
  throw new NetplugError("accessDenied", `read token file ${quote(path)} of ${origin}: ${fault}`);
}

/** How a part of a PEM file ends its first line, whatever comes before: `X509 `, `RSA `, `EC `, …. */
const CERTIFICATE = { mark: "CERTIFICATE-----", name: "certificate" } as const;
const PRIVATE_KEY = { mark: "PRIVATE KEY-----", name: "private key" } as const;

function readPem(source: PemSource, wanted: typeof CERTIFICATE | typeof PRIVATE_KEY, files: Files): string {
  const text = "text" in source ? source.text : readNamed(source, files);
  if (!text.includes("-----BEGIN ")) throw new NetplugError("invalidConfig", `read ${source.label}: it is no PEM`);
  if (!text.includes(wanted.mark)) throw new NetplugError("invalidConfig", `read ${source.label}: it holds no ${wanted.name}`);
  return text;
}

function readNamed({ file, label }: Extract<PemSource, { readonly file: string }>, files: Files): string {
  const text = tryRead(file, files);
  if (text === undefined) throw new NetplugError("invalidConfig", `read ${label}: ${describeUnread(file, files)}`);
  return text;
}

function describeUnread(path: string, files: Files): string {
  try {
    if (files.readText(path) === undefined) return "no such file";
  } catch {
    // It is there.
  }
  return describeFolder(path, files) ?? "it cannot be read";
}

function tryRead(path: string, files: Files): string | undefined {
  try {
    return files.readText(path);
  } catch {
    return undefined;
  }
}
