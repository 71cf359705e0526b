/** How the user of a kubeconfig proves who it is: certificate, token, password or exec plugin, and whom it acts as. */

import { hasControlCharacter } from "../../lib/characters.ts";
import { toChoice } from "../../lib/choice.ts";
import { NetplugError } from "../../lib/errors.ts";
import { isJsonObject } from "../../lib/json.ts";
import { quote } from "../../lib/quote.ts";
import type { ExecPlugin, Impersonation, UserAccess } from "./access.ts";
import { takeEntry, takeFlag, takeList, takeText, takeTexts } from "./fields.ts";
import type { Entry } from "./fields.ts";
import type { KubeconfigEntry } from "./kubeconfig.ts";
import { resolvePath, takePem } from "./named-files.ts";

/** Extension of a cluster's entry that is meant for its users' exec plugins. */
const EXEC_EXTENSION = "client.authentication.k8s.io/exec";

const EXEC_VERSIONS: readonly string[] = ["client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1"];

/**
 * Reads the entry of a user.
 *
 * @param cluster whom its exec plugin is told about
 * @throws NetplugError invalidConfig naming file and entry
 */
export function toUserAccess(user: KubeconfigEntry, cluster: KubeconfigEntry | undefined): UserAccess {
  const tokenFile = takeText(user, "tokenFile");
  const username = takeText(user, "username");
  const password = takeText(user, "password");
  if (takeEntry(user, "auth-provider") !== undefined) {
    throw new NetplugError("invalidConfig", `read ${user.label}: auth-provider is not supported any more; use an exec plugin`);
  }
  const clientCertificate = takePem(user, "client-certificate");
  const clientKey = takePem(user, "client-key");
  if ((clientCertificate === undefined) !== (clientKey === undefined)) {
    throw new NetplugError("invalidConfig", `read ${user.label}: want client-certificate and client-key together`);
  }
  return {
    clientCertificate,
    clientKey,
    token: takeText(user, "token"),
    tokenFile: tokenFile === undefined ? undefined : resolvePath(tokenFile, user),
    basic: username === undefined && password === undefined ? undefined : { username: username ?? "", password: password ?? "" },
    exec: toExecPlugin(user, cluster),
    impersonate: toImpersonation(user),
  };
}

function toExecPlugin(user: KubeconfigEntry, cluster: KubeconfigEntry | undefined): ExecPlugin | undefined {
  const exec = takeEntry(user, "exec");
  if (exec === undefined) return undefined;
  const command = takeText(exec, "command");
  const apiVersion = takeText(exec, "apiVersion");
  if (command === undefined) throw new NetplugError("invalidConfig", `read ${exec.label}: it has no command`);
  if (apiVersion === undefined || !EXEC_VERSIONS.includes(apiVersion)) {
    const got = apiVersion === undefined ? "none" : quote(apiVersion);
    throw new NetplugError("invalidConfig", `read apiVersion of ${exec.label}: got ${got}, want ${toChoice(EXEC_VERSIONS.map(quote))}`);
  }
  return {
    command: command.includes("/") ? resolvePath(command, user) : command,
    args: takeTexts(exec, "args"),
    env: takeList(exec, "env").map((value) => toVariable(value, `env of ${exec.label}`)),
    apiVersion,
    providesClusterInfo: takeFlag(exec, "provideClusterInfo"),
    clusterConfig: cluster === undefined ? undefined : findExecExtension(cluster),
    isInteractive: takeText(exec, "interactiveMode") === "Always",
    installHint: takeText(exec, "installHint"),
  };
}

function toVariable(fields: unknown, label: string): { readonly name: string; readonly value: string } {
  const entry = isJsonObject(fields) ? { fields, label } : undefined;
  const name = entry === undefined ? undefined : takeText(entry, "name");
  if (entry === undefined || name === undefined) throw new NetplugError("invalidConfig", `read ${label}: want objects with name and value`);
  return { name, value: takeText(entry, "value") ?? "" };
}

function findExecExtension(cluster: Entry): unknown {
  const found = takeList(cluster, "extensions").find((value) => isJsonObject(value) && value["name"] === EXEC_EXTENSION);
  return isJsonObject(found) ? found["extension"] : undefined;
}

/** One group at most: `fetch` joins headers of the same name, and the API server would take that for one group. */
function toImpersonation(user: Entry): Impersonation | undefined {
  const name = takeHeaderText(user, "as");
  const uid = takeHeaderText(user, "as-uid");
  const groups = takeTexts(user, "as-groups");
  const hasExtra = Object.keys(takeEntry(user, "as-user-extra")?.fields ?? {}).length > 0;
  if (name === undefined) {
    if (uid === undefined && groups.length === 0 && !hasExtra) return undefined;
    throw new NetplugError("invalidConfig", `read ${user.label}: want as-uid, as-groups and as-user-extra only beside as`);
  }
  if (groups.length > 1 || hasExtra) {
    throw new NetplugError("invalidConfig", `read ${user.label}: want one entry in as-groups at most, and no as-user-extra`);
  }
  const [group] = groups;
  if (group !== undefined) requireHeaderText(group, "as-groups", user);
  return { user: name, uid, group };
}

function takeHeaderText(user: Entry, name: string): string | undefined {
  const text = takeText(user, name);
  if (text !== undefined) requireHeaderText(text, name, user);
  return text;
}

function requireHeaderText(text: string, name: string, { label }: Entry): void {
  if (hasControlCharacter(text))
    throw new NetplugError("invalidConfig", `read ${name} of ${label}: got ${quote(text)}, want it without control characters`);
}
