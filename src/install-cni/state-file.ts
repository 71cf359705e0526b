/** What an installation says of itself to those who ask from outside, such as kubelet's readiness probe. */

import { messageOf, NetplugError } from "../lib/errors.ts";
import { isJsonObject, parseJson } from "../lib/json.ts";
import { quote } from "../lib/quote.ts";
import { writeDurably } from "./files/atomic-file.ts";
import type { DurableFiles } from "./files/durable-files.ts";
import type { InstallHost } from "./host.ts";

const PERMISSIONS = 0o600;

/** A file that holds, at any time, why this node is not ready, or that it is. */
export class StateFile {
  readonly #path: string | undefined;
  readonly #host: Pick<InstallHost, "disk" | "userId">;

  /** @param path undefined: nobody asks */
  constructor(path: string | undefined, host: Pick<InstallHost, "disk" | "userId">) {
    this.#path = path;
    this.#host = host;
  }

  /** @param reason why pods on this node may get no network; undefined: they do @throws NetplugError ioFailure */
  say(reason: string | undefined): void {
    if (this.#path === undefined) return;
    const text = JSON.stringify(reason === undefined ? { ready: true } : { ready: false, reason });
    writeDurably(this.#host, this.#path, `${text}\n`, PERMISSIONS);
  }
}

/**
 * Reads what another process has said.
 *
 * @returns why the node is not ready; undefined: it is
 * @throws NetplugError invalidConfig without a path
 */
export function readNotReadyReason(path: string | undefined, disk: Pick<DurableFiles, "readText">): string | undefined {
  if (path === undefined)
    throw new NetplugError("invalidConfig", "read STATE_FILE: got nothing, want the path that the installer was given");
  let text: string | undefined;
  try {
    text = disk.readText(path);
    if (text === undefined) return `the installer has not started: there is no ${quote(path)}`;
    const state = parseJson(text);
    if (isJsonObject(state) && state["ready"] === true) return undefined;
    const reason = isJsonObject(state) ? state["reason"] : undefined;
    return typeof reason === "string" ? reason : `read ${quote(path)}: no installer has written it`;
  } catch (thrown) {
    return messageOf(thrown);
  }
}
