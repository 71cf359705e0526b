/**
 * The tokens of the node's last log-ins, in files of the run directory. etcd checks a password with bcrypt, some 60 ms of its processor
 * time, and writes each log-in to its log; a process that lives for one call would pay for that each time. A token that is no longer valid
 * costs one request; then the process logs in.
 *
 * A file is mode 0600: root, who alone can read it, could read the password as well. There is one for each user of each list of endpoints, so
 * that networks of a node with different ones do not take each other's away.
 */

import { orNothing } from "../../../lib/errors.ts";
import { sha1Hex } from "../../../lib/hash.ts";
import { isJsonObject, tryParseJson } from "../../../lib/json.ts";
import type { Files } from "../../../lib/ports.ts";
import type { EtcdConfig } from "../../config/datastore-config.ts";

const FILE_MODE = 0o600;

/** @returns undefined where there is none that these credentials gave, or it cannot be read */
export function findToken(config: EtcdConfig, files: Files): string | undefined {
  const entry = tryParseJson(orNothing(() => files.readText(pathOf(config))));
  const { token, proof } = isJsonObject(entry) ? entry : {};
  return typeof token === "string" && proof === proofOf(token, config) ? token : undefined;
}

/** A failure is ignored: the next process logs in. */
export function keepToken(token: string, config: EtcdConfig, files: Files): void {
  orNothing(() => files.writeAtomically(pathOf(config), JSON.stringify({ token, proof: proofOf(token, config) }), FILE_MODE));
}

/** Where users were switched off, a token costs each call a request that is refused. A failure is ignored. */
export function dropToken(config: EtcdConfig, files: Files): void {
  orNothing(() => files.remove(pathOf(config)));
}

function pathOf({ tokenFolder = "", endpoints, discoverySrv, username }: EtcdConfig): string {
  return `${tokenFolder}/${sha1Hex(JSON.stringify([endpoints, discoverySrv, username]))}.json`;
}

/**
 * Ties a token to its credentials without showing them: the token of an earlier password must not hide that the new password is wrong. Only
 * who knows the password can make the proof, so a token with its proof came from etcd.
 */
function proofOf(token: string, { endpoints, discoverySrv, username, password }: EtcdConfig): string {
  const credentials = JSON.stringify([endpoints, discoverySrv, username, password]);
  return new Bun.CryptoHasher("sha256", token).update(credentials).digest("hex"); // HMAC
}
