/**
 * The token of the node's last log-in, in a file of the run directory. etcd checks a password with bcrypt, some 60 ms of its processor time, and
 * writes each log-in to its log; a process that lives for one call would pay for that each time. A token that does not hold any more costs one
 * request, and its owner logs in.
 *
 * The file gives nobody more than the network config does, which holds the password: both are mode 0600.
 */

import { isName } from "../../../lib/characters.ts";
import { orNothing } from "../../../lib/errors.ts";
import { hmacHex } from "../../../lib/hash.ts";
import { isJsonObject } from "../../../lib/json.ts";
import type { Files } from "../../../lib/ports.ts";
import type { EtcdConfig } from "../../datastore-config.ts";

const FILE_MODE = 0o600;
/** What a simple token and a JWT have besides letters and digits; so no token ends an HTTP header. */
const TOKEN_CHARACTERS = "-_.";
/** A longer one is not etcd's. */
const MOST_CHARACTERS = 16_384;

/** @returns undefined where there is none that these credentials gave, or it cannot be read */
export function findToken(path: string, config: EtcdConfig, files: Files): string | undefined {
  const { token, proof } = readEntry(path, files);
  if (typeof token !== "string" || token.length > MOST_CHARACTERS || !isName(token, TOKEN_CHARACTERS)) return undefined;
  return proof === proofOf(token, config) ? token : undefined;
}

/** A failure is ignored: the next process logs in. */
export function keepToken(path: string, token: string, config: EtcdConfig, files: Files): void {
  orNothing(() => files.writeAtomically(path, JSON.stringify({ token, proof: proofOf(token, config) }), FILE_MODE));
}

function readEntry(path: string, files: Files): Readonly<Record<string, unknown>> {
  try {
    const entry: unknown = JSON.parse(orNothing(() => files.readText(path)) ?? "{}");
    return isJsonObject(entry) ? entry : {};
  } catch {
    return {};
  }
}

/** Says to which credentials a token belongs, without showing them: one of an earlier password must not hide that the new one is wrong. */
function proofOf(token: string, { endpoints, discoverySrv, username, password }: EtcdConfig): string {
  return hmacHex(token, JSON.stringify([endpoints, discoverySrv, username, password]));
}
