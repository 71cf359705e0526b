/** Credentials from a program: what a kubeconfig's `exec` asks for. Loaded only where one does. */

import { messageOf, NetplugError } from "../../lib/errors.ts";
import { isJsonObject } from "../../lib/json.ts";
import type { Files, Processes, ProcessResult } from "../../lib/ports.ts";
import { quote } from "../../lib/quote.ts";
import { redactEnd } from "../../lib/redact.ts";
import { toPlainText } from "../failure/plain-text.ts";
import type { ExecPlugin, KubeAccess } from "./access.ts";
import type { ExecCredential } from "./identity.ts";

/** A plugin that asks its cloud for a token takes a second or three. */
const LIMIT_MS = 15_000;

/** How many characters of the end of its stderr are shown: a little less than a message may have. */
const SHOWN_LENGTH = 900;

/** What calling such a program touches of the outside world. */
export interface ExecPorts {
  /** The plugin inherits it. */
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly files: Files;
  readonly processes: Processes;
}

/**
 * Runs the program and reads what it prints.
 *
 * @see https://kubernetes.io/docs/reference/config-api/client-authentication.v1/
 * @throws NetplugError accessDenied naming the program; never with what it prints on stdout
 */
export async function runExecPlugin(plugin: ExecPlugin, access: KubeAccess, ports: ExecPorts): Promise<ExecCredential> {
  const { origin } = access;
  if (plugin.isInteractive) throw fail(plugin, origin, "it wants a terminal (interactiveMode Always), which it cannot have here");
  const command = find(plugin, ports);
  if (command === undefined) throw fail(plugin, origin, "there is no such program", plugin.installHint);
  const result = await run(command, plugin, access, ports);
  if (result.status !== 0) {
    throw fail(plugin, origin, `it ended with status ${result.status}`, toDetails(result.stderr));
  }
  return await parseCredential(plugin, origin, result.stdout);
}

function toDetails(stderr: string): string {
  return toPlainText(redactEnd(stderr, SHOWN_LENGTH) ?? `${stderr.length} characters on stderr, too many to look for the reason`);
}

function find({ command }: ExecPlugin, { env, files }: ExecPorts): string | undefined {
  if (command.includes("/")) return files.isExecutableFile(command) ? command : undefined;
  const folders = (env["PATH"] ?? "").split(":").filter((folder) => folder.startsWith("/"));
  return folders.map((folder) => `${folder}/${command}`).find((path) => files.isExecutableFile(path));
}

async function run(command: string, plugin: ExecPlugin, access: KubeAccess, ports: ExecPorts): Promise<ProcessResult> {
  const env: Record<string, string> = {};
  for (const [name, value] of Object.entries(ports.env)) if (value !== undefined) env[name] = value;
  for (const { name, value } of plugin.env) env[name] = value;
  const cluster = plugin.providesClusterInfo ? { cluster: toClusterInfo(plugin, access, ports.files) } : {};
  const info = { kind: "ExecCredential", apiVersion: plugin.apiVersion, spec: { ...cluster, interactive: false } };
  env["KUBERNETES_EXEC_INFO"] = JSON.stringify(info);
  try {
    return await ports.processes.run({ command, args: plugin.args, env, timeoutMs: LIMIT_MS });
  } catch (cause) {
    throw fail(plugin, access.origin, messageOf(cause));
  }
}

/** The cluster as the plugin may need it to get a credential for just this one. */
function toClusterInfo(plugin: ExecPlugin, access: KubeAccess, files: Files): Readonly<Record<string, unknown>> {
  const ca = access.ca === undefined || "text" in access.ca ? access.ca?.text : files.readText(access.ca.file);
  return {
    server: access.server,
    ...(access.tlsServerName !== undefined && { "tls-server-name": access.tlsServerName }),
    ...(access.skipsTlsVerify && { "insecure-skip-tls-verify": true }),
    ...(ca !== undefined && { "certificate-authority-data": new TextEncoder().encode(ca).toBase64() }),
    ...(access.proxyUrl !== undefined && { "proxy-url": access.proxyUrl }),
    ...(plugin.clusterConfig !== undefined && { config: plugin.clusterConfig }),
  };
}

async function parseCredential(plugin: ExecPlugin, origin: string, stdout: string): Promise<ExecCredential> {
  const document = await parseDocument(stdout);
  if (document === undefined) throw fail(plugin, origin, "what it prints is no JSON");
  const { kind, apiVersion } = document;
  // As for kubectl, the version alone says what it is where no kind is given.
  const isCredential = kind === "ExecCredential" || ((kind === undefined || kind === "") && apiVersion === plugin.apiVersion);
  if (!isCredential) throw fail(plugin, origin, "it prints no ExecCredential");
  if (apiVersion !== plugin.apiVersion) throw fail(plugin, origin, `it does not answer in version ${quote(plugin.apiVersion)}`);
  const status = isJsonObject(document["status"]) ? document["status"] : {};
  const credential = {
    token: textOf(status["token"]),
    cert: textOf(status["clientCertificateData"]),
    key: textOf(status["clientKeyData"]),
    expiresAt: toTime(plugin, origin, textOf(status["expirationTimestamp"])),
  };
  if ((credential.cert === undefined) !== (credential.key === undefined)) {
    throw fail(plugin, origin, "it prints only one of client certificate and key");
  }
  if (credential.token === undefined && credential.cert === undefined)
    throw fail(plugin, origin, "it prints neither token nor certificate");
  return credential;
}

/** YAML too, which kubectl reads: a script may print it. @returns undefined for what is neither, and for a lone text */
async function parseDocument(text: string): Promise<Readonly<Record<string, unknown>> | undefined> {
  let document: unknown;
  try {
    document = JSON.parse(text);
  } catch {
    const { tryParseYaml } = await import("./yaml.ts");
    document = tryParseYaml(text)?.value;
  }
  return isJsonObject(document) ? document : undefined;
}

function textOf(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

function toTime(plugin: ExecPlugin, origin: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const time = Date.parse(text);
  if (Number.isNaN(time)) throw fail(plugin, origin, "its expirationTimestamp is no time");
  return time;
}

function fail({ command }: ExecPlugin, origin: string, why: string, details?: string): NetplugError {
  const message = `run exec plugin ${quote(command)} of ${origin}: ${why}`;
  return new NetplugError("accessDenied", message, { details: details || undefined });
}
