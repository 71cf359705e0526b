/** What an installation reports to the outside, such as to kubelet's readiness probe. */

import { messageOf, NetplugError, orNothing } from "../lib/errors.ts";
import { isJsonObject, type JsonObject, parseJson } from "../lib/json.ts";
import { quote } from "../lib/quote.ts";
import type { FileStat } from "../linux/stat.ts";
import { isWritten, putAtomically, requireFile, writeDurably } from "./files/atomic-file.ts";
import type { DurableFiles } from "./files/durable-files.ts";
import type { InstallHost } from "./host.ts";

const PERMISSIONS = 0o600;

/** More than any reason takes, and no more than a start should read: what is larger is no state. */
const MAX_BYTES = 1_048_576;

/** What the file holds. `while` says that the node is ready as long as somebody has the lock on this very file, which ends with the installer. */
type State = { readonly ready: true; readonly while?: "locked" } | { readonly ready: false; readonly reason: string };

/** A file that holds, at any time, why this node is not ready, or that it is. */
export class StateFile implements Disposable {
  readonly #path: string | undefined;
  readonly #host: Pick<InstallHost, "disk" | "userId">;
  #lock: Disposable | undefined;
  #isReady = false;
  /** Whether this process has found the place free, or a state in it. */
  #isOurs = false;

  /** @param path undefined: nobody asks */
  constructor(path: string | undefined, host: Pick<InstallHost, "disk" | "userId">) {
    this.#path = path;
    this.#host = host;
  }

  [Symbol.dispose](): void {
    this.#lock?.[Symbol.dispose]();
    this.#lock = undefined;
  }

  /**
   * Writes whether the node is ready. That it is holds only as long as this process lives.
   *
   * @param reason why pods on this node may get no network; undefined: they do
   * @throws NetplugError ioFailure naming the variable; the first time also where a file is in its place that no installer has written
   */
  report(reason: string | undefined): void {
    if (this.#path === undefined) return;
    this.#isReady = reason === undefined;
    this.#write(this.#path, reason === undefined ? { ready: true, while: "locked" } : { ready: false, reason });
  }

  /** Lets the last report hold after this process has ended. @throws NetplugError ioFailure naming the variable */
  keepAfterExit(): void {
    if (this.#path !== undefined && this.#isReady) this.#write(this.#path, { ready: true });
  }

  #write(path: string, state: State): void {
    try {
      // A person's choice, and so a mistaken one may lead anywhere: /dev/stdout and /var/run are links.
      const there = orNothing(() => this.#host.disk.stat(path));
      if (there !== undefined) requireFile(path, there);
      // Later on the place is ours, whatever somebody puts there.
      if (there !== undefined && !this.#isOurs) this.#requireState(path, there);
      this.#isOurs = true;
      if (state.ready && state.while === "locked") this.#writeLocked(path, state);
      else writeDurably(this.#host, path, toText(state), PERMISSIONS);
    } catch (cause) {
      throw new NetplugError("ioFailure", `${messageOf(cause)}; STATE_FILE names it`, { cause });
    }
  }

  /** Refuses a file of somebody else, who would lose it. An empty one, such as a mount or `touch` makes, is nobody's loss. */
  #requireState(path: string, { sizeBytes }: FileStat): void {
    if (sizeBytes === 0 || (sizeBytes <= MAX_BYTES && isState(this.#host.disk.readText(path) ?? ""))) return;
    const advice = "name another path, or remove that file";
    throw new NetplugError("ioFailure", `install ${quote(path)}: a file is there that no installer has written, want none; ${advice}`);
  }

  /** The file has its lock before it has its name, so nobody sees it without. */
  #writeLocked(path: string, state: State): void {
    const { disk } = this.#host;
    const text = toText(state);
    if (isWritten(this.#host, path, text, PERMISSIONS) && disk.isLocked(path)) return;
    this[Symbol.dispose]();
    putAtomically(disk, path, (temporary) => {
      disk.create(temporary, text, PERMISSIONS);
      this.#lock = disk.tryLock(temporary);
    });
  }
}

function toText(state: State): string {
  return `${JSON.stringify(state)}\n`;
}

/** Whether an installer of any version has written it. */
function isState(text: string): boolean {
  return typeof parseState(text)["ready"] === "boolean";
}

/** @returns an object without properties for what is none */
function parseState(text: string): JsonObject {
  try {
    const state = parseJson(text);
    return isJsonObject(state) ? state : {};
  } catch {
    return {};
  }
}

/**
 * Reads what another process has said.
 *
 * @returns why the node is not ready; undefined: it is
 * @throws NetplugError invalidConfig without a path
 */
export function readNotReadyReason(path: string | undefined, disk: Pick<DurableFiles, "readText" | "isLocked">): string | undefined {
  if (path === undefined)
    throw new NetplugError("invalidConfig", "read STATE_FILE: got nothing, want the path that the installer was given");
  try {
    const text = disk.readText(path);
    if (text === undefined) return `the installer has not started: there is no ${quote(path)}`;
    const { ready, reason, while: condition } = parseState(text);
    if (ready === true) {
      if (condition !== "locked" || disk.isLocked(path)) return undefined;
      return `the installer has died: nobody holds ${quote(path)} any more; see its log, and start it again`;
    }
    return typeof reason === "string" ? reason : `read ${quote(path)}: no installer has written it`;
  } catch (thrown) {
    return messageOf(thrown);
  }
}
