/**
 * The node's own note of the blocks in which it may have something, so that they are read by name. It may name too many and never too few:
 * a block is noted before it is claimed, and a note that is not surely complete counts as none. Then one list by label tells.
 */

import { NetplugError } from "../../lib/errors.ts";
import { type Prefix, toPrefixText, tryParsePrefix } from "../../lib/ip/prefix.ts";
import { isJsonObject } from "../../lib/json.ts";
import type { Clock, Files } from "../../lib/ports.ts";
import { quote } from "../../lib/quote.ts";

/** Where a node's note is. Everything that gives addresses for the node has to share it. */
export interface HintPlace {
  /** In a folder that does not outlive a boot, such as `/var/run/netplug`. */
  readonly file: string;
  /** The only node that the note is about. */
  readonly node: string;
}

export interface HintPorts {
  readonly clock: Clock;
  readonly files: Files;
  /** Waits at most `waitMs` for a lock between processes; undefined when it did not get it. Absent: nobody else writes the file. */
  readonly takeLock?: ((path: string, waitMs: number) => Promise<Disposable | undefined>) | undefined;
}

/** What the file holds. */
interface Note {
  readonly node: string;
  /** UID of the cluster's information: another cluster may have had a node of this name. */
  readonly cluster: string;
  /** False: blocks were noted where nobody knew the others. */
  readonly isComplete: boolean;
  /** When all blocks were last listed: seconds since 1970. */
  readonly listedAt: number;
  /** By CIDR, when somebody was about to claim it; 0: it was listed. */
  readonly blocks: ReadonlyMap<string, number>;
}

/** After so many seconds all blocks are listed again: it heals whatever we did not think of. */
const LIFETIME_S = 3_600;

/** So long a block that was noted may still be about to be claimed: twice the time that an ADD has, in seconds. */
const CLAIM_S = 120;

const LOCK_WAIT_MS = 1_000;
const FILE_MODE = 0o600;

/** No node has so many blocks; a file that says so is not believed. */
const MAX_BLOCKS = 1_024;

export class BlockHints {
  readonly #place: HintPlace;
  readonly #ports: HintPorts;

  constructor(place: HintPlace, ports: HintPorts) {
    this.#place = place;
    this.#ports = ports;
  }

  isAbout(node: string): boolean {
    return node === this.#place.node;
  }

  /** All blocks in which the node may have something, and in which cluster; undefined when nothing surely complete is known. */
  read(): { readonly cluster: string; readonly blocks: readonly Prefix[] } | undefined {
    const note = this.#load();
    if (note === undefined || !isBelieved(note, this.#now())) return undefined;
    const blocks: Prefix[] = [];
    for (const text of note.blocks.keys()) {
      const cidr = tryParsePrefix(text);
      if (cidr === undefined) return undefined;
      blocks.push(cidr);
    }
    return { cluster: note.cluster, blocks };
  }

  /**
   * Notes that these are all blocks there are, besides those that somebody is about to claim. Does nothing where it cannot: lists go on.
   */
  async replace(cluster: string, listed: readonly Prefix[]): Promise<void> {
    try {
      using lock = await this.#lock();
      if (lock === undefined) return;
      const now = this.#now();
      const blocks = new Map(listed.map((cidr) => [toPrefixText(cidr), 0]));
      for (const [cidr, notedAt] of this.#load(cluster)?.blocks ?? []) if (isRecent(notedAt, now)) blocks.set(cidr, notedAt);
      this.#store({ node: this.#place.node, cluster, isComplete: true, listedAt: now, blocks });
    } catch (thrown) {
      if (!(thrown instanceof NetplugError)) throw thrown;
    }
  }

  /**
   * Notes blocks that are about to be claimed.
   *
   * @throws NetplugError tryAgainLater or ioFailure when that cannot be done and others would believe that the note is complete
   */
  async add(cluster: string, claimed: readonly Prefix[]): Promise<void> {
    try {
      using lock = await this.#lock();
      if (lock === undefined) throw new NetplugError("tryAgainLater", `lock ${quote(this.#lockFile)}: others hold it all the time`);
      const now = this.#now();
      const note = this.#load(cluster) ?? { node: this.#place.node, cluster, isComplete: false, listedAt: 0, blocks: new Map() };
      this.#store({ ...note, blocks: new Map([...note.blocks, ...claimed.map((cidr) => [toPrefixText(cidr), now] as const)]) });
    } catch (thrown) {
      if (!this.#forget()) throw thrown;
    }
  }

  get #lockFile(): string {
    return `${this.#place.file}.lock`;
  }

  #now(): number {
    return Math.floor(this.#ports.clock.now() / 1000);
  }

  /** @returns undefined when others had it all the time */
  async #lock(): Promise<Disposable | undefined> {
    const { takeLock } = this.#ports;
    return takeLock === undefined ? { [Symbol.dispose]: () => undefined } : await takeLock(this.#lockFile, LOCK_WAIT_MS);
  }

  /** @param cluster the only one that counts; absent: any */
  #load(cluster?: string): Note | undefined {
    const note = parseNote(this.#tryRead());
    return note?.node !== this.#place.node || (cluster !== undefined && note.cluster !== cluster) ? undefined : note;
  }

  #tryRead(): string | undefined {
    try {
      return this.#ports.files.readText(this.#place.file);
    } catch {
      return undefined; // as if it were not there
    }
  }

  #store({ blocks, ...note }: Note): void {
    this.#ports.files.writeAtomically(this.#place.file, JSON.stringify({ ...note, blocks: Object.fromEntries(blocks) }), FILE_MODE);
  }

  /** @returns whether nobody believes in a note that lacks blocks */
  #forget(): boolean {
    if (this.read() === undefined) return true;
    try {
      this.#ports.files.remove(this.#place.file);
      return true;
    } catch {
      return false;
    }
  }
}

function isBelieved({ isComplete, listedAt, blocks }: Note, now: number): boolean {
  return isComplete && listedAt <= now && now - listedAt < LIFETIME_S && blocks.size <= MAX_BLOCKS;
}

/** One from the future counts: clocks are set. */
function isRecent(notedAt: number, now: number): boolean {
  return now - notedAt < CLAIM_S;
}

/** @returns undefined for anything that we do not write */
function parseNote(text: string | undefined): Note | undefined {
  let note: unknown;
  try {
    note = text === undefined ? undefined : JSON.parse(text);
  } catch {
    return undefined;
  }
  if (!isJsonObject(note)) return undefined;
  const { node, cluster, isComplete, listedAt, blocks } = note;
  if (typeof node !== "string" || typeof cluster !== "string" || typeof isComplete !== "boolean" || typeof listedAt !== "number")
    return undefined;
  if (!isJsonObject(blocks)) return undefined;
  const entries = new Map<string, number>();
  for (const [cidr, notedAt] of Object.entries(blocks)) {
    if (typeof notedAt !== "number") return undefined;
    entries.set(cidr, notedAt);
  }
  return { node, cluster, isComplete, listedAt, blocks: entries };
}
