/**
 * The node's hint: a file that names the blocks in which the node may have something, so that they are read by name. It may name too many
 * blocks, but never too few: otherwise no DEL and no ADD would find an address until the next list by label, an hour later. So these rules
 * hold for any number of processes, each of which may be stopped or killed anywhere:
 *
 * 1. The file changes by a rename, under a lock that ends with its process: there is the old hint or the new one. Reading takes no lock.
 * 2. A block is claimed only after a hint that names it was written under the lock. If the hint cannot be written (another process keeps the
 *    lock, the disk is full, the folder is read-only), nothing is claimed, whatever the file says: the process that keeps the lock, or one
 *    that asked for a list before, may be about to write a hint without the new block. For the same reason nobody removes the file: the
 *    names of claims that are under way would be lost.
 * 3. A list removes a name only if the file had it, unchanged, when the list was asked for, and for two minutes before. A name that changed
 *    since is newer than the list, however long the list's process was stopped, and however the clock was set.
 * 4. Two minutes are longer than any claim takes, unless its process is stopped, or somebody sets the clock. So a process looks at the hint
 *    again after its claim: if the claim took one minute or more by this clock, or the name is gone, it writes the name once more. If that
 *    fails, this process no longer trusts any hint, and its claim fails; a later list finds the block.
 *
 * One case is left: a process that is stopped for minutes right before it sends a claim, and killed right after it.
 */

import { NetplugError } from "../../../lib/errors.ts";
import { type Prefix, toPrefixText } from "../../../lib/ip/prefix.ts";
import type { Clock, Files } from "../../../lib/ports.ts";
import { quote } from "../../../lib/quote.ts";
import type { HintPlace } from "../../config/datastore-config.ts";
import { type Hint, parseHint, toHintText, toTrusted, type TrustedBlocks } from "./hint-content.ts";

/** What keeping the file touches of the outside world. */
export interface HintPorts {
  readonly clock: Clock;
  readonly files: Files;
  /** Waits at most `waitMs` for a lock between processes; undefined when it did not get it. */
  readonly takeLock: (path: string, waitMs: number) => Promise<Disposable | undefined>;
}

/** The hint as a read finds it, before it asks for anything. */
export interface FoundHint {
  /** Undefined when nothing surely complete is known. */
  readonly trusted: TrustedBlocks | undefined;
  /** What the file says, trusted or not. */
  readonly hint: Hint | undefined;
  /** Seconds since 1970. */
  readonly foundAt: number;
}

/** Blocks that the file names by now, so that they may be claimed. */
export interface HintedClaim {
  readonly cluster: string;
  readonly blocks: readonly Prefix[];
  /** Seconds since 1970. */
  readonly hintedAt: number;
}

/** How long after a block was named it may still be about to be claimed: twice the time that an ADD has, in seconds. */
const CLAIM_S = 120;

/** After a claim that took this many seconds, the name is written once more. */
const LONG_CLAIM_S = CLAIM_S / 2;

/** The holder of the lock needs a millisecond; on an overloaded machine it must first get a processor. */
const LOCK_WAIT_MS = 1_000;
/** Without it a claim fails, and its ADD with it. */
const CLAIM_LOCK_WAIT_MS = 3_000;
const FILE_MODE = 0o600;

/** A hint that says nothing. Not empty, because an empty file can be written even to a full disk. */
const NO_HINT = "{}";

/** The file of one node, shared by its processes. */
export class BlockHints {
  readonly #place: HintPlace;
  readonly #ports: HintPorts;
  /** Blocks that were claimed and could not be written once more: until they are, we trust no hint. */
  readonly #unwritten = new Set<string>();

  constructor(place: HintPlace, ports: HintPorts) {
    this.#place = place;
    this.#ports = ports;
  }

  get file(): string {
    return this.#place.file;
  }

  /** The only node that the hint is about. */
  get node(): string {
    return this.#place.node;
  }

  /** For a read that asks for these blocks, or for the list that replaces them. */
  read(): FoundHint {
    const foundAt = this.#now();
    const hint = this.#load();
    const isDoubted = this.#place.isDoubted === true || this.#unwritten.size > 0;
    return { trusted: isDoubted ? undefined : toTrusted(hint, foundAt), hint, foundAt };
  }

  /**
   * Writes that these are all the blocks of the node, besides those that a process is about to claim. If it cannot, it does nothing: the next
   * call lists again. Only a doubted hint must not stay as it is, because the others trust it.
   *
   * @param found before the list was asked for
   * @throws NetplugError tryAgainLater or ioFailure when a doubted hint cannot be replaced
   */
  async replace({ hint, foundAt }: FoundHint, cluster: string, listed: readonly Prefix[]): Promise<void> {
    const isDoubted = this.#place.isDoubted === true;
    try {
      using lock = await this.#lock(isDoubted ? CLAIM_LOCK_WAIT_MS : LOCK_WAIT_MS);
      if (lock === undefined) throw this.#isHeld("the list of the node's blocks cannot be written");
      const before = hint?.cluster === cluster ? hint.blocks : undefined;
      const blocks = new Map(listed.map((cidr) => [toPrefixText(cidr), 0]));
      for (const [cidr, hintedAt] of this.#load(cluster)?.blocks ?? []) {
        if (before?.get(cidr) !== hintedAt || isRecent(hintedAt, foundAt)) blocks.set(cidr, hintedAt);
      }
      this.#store({ node: this.#place.node, cluster, isComplete: true, listedAt: foundAt, blocks });
    } catch (thrown) {
      if (isDoubted || !(thrown instanceof NetplugError)) throw thrown;
    }
  }

  /**
   * Names blocks that are about to be claimed.
   *
   * @returns what must be confirmed after the claim, whatever became of it
   * @throws NetplugError tryAgainLater or ioFailure when that cannot be done: they must not be claimed
   */
  async add(cluster: string, claimed: readonly Prefix[]): Promise<HintedClaim> {
    using lock = await this.#lock(CLAIM_LOCK_WAIT_MS);
    if (lock === undefined) throw this.#isHeld("no block can be claimed");
    const hintedAt = this.#now();
    const hint = this.#load(cluster) ?? { node: this.#place.node, cluster, isComplete: false, listedAt: 0, blocks: new Map() };
    this.#store({ ...hint, blocks: new Map([...hint.blocks, ...claimed.map((cidr) => [toPrefixText(cidr), hintedAt] as const)]) });
    return { cluster, blocks: claimed, hintedAt };
  }

  /**
   * Makes sure that claimed blocks are still named, and stay so.
   *
   * @returns why they may not be: then this process trusts no hint
   */
  async confirm({ cluster, blocks, hintedAt }: HintedClaim): Promise<NetplugError | undefined> {
    const tookSeconds = this.#now() - hintedAt;
    const named = this.#load(cluster)?.blocks;
    const isQuick = tookSeconds >= 0 && tookSeconds < LONG_CLAIM_S;
    if (isQuick && blocks.every((cidr) => named?.has(toPrefixText(cidr)) === true)) return undefined;
    try {
      await this.add(cluster, blocks);
      return undefined;
    } catch (thrown) {
      if (!(thrown instanceof NetplugError)) throw thrown;
      for (const cidr of blocks) this.#unwritten.add(toPrefixText(cidr));
      return thrown;
    }
  }

  /**
   * Finds out whether a block could be named, by writing the file once more as it is. One that cannot be read stays: the names of claims that
   * are under way would be lost.
   *
   * @returns why not; undefined also while another process writes it
   */
  async tryWrite(): Promise<NetplugError | undefined> {
    try {
      using lock = await this.#lock(0);
      if (lock === undefined) return undefined;
      const text = this.#ports.files.readText(this.#place.file) ?? "";
      this.#write(text === "" ? NO_HINT : text);
      return undefined;
    } catch (thrown) {
      if (thrown instanceof NetplugError) return thrown;
      throw thrown;
    }
  }

  get #lockFile(): string {
    return `${this.#place.file}.lock`;
  }

  #now(): number {
    return Math.floor(this.#ports.clock.now() / 1000);
  }

  /** @returns undefined when others had it all the time */
  async #lock(waitMs: number): Promise<Disposable | undefined> {
    return await this.#ports.takeLock(this.#lockFile, waitMs);
  }

  #isHeld(effect: string): NetplugError {
    return new NetplugError("tryAgainLater", `lock ${quote(this.#lockFile)}: others hold it all the time, so ${effect}`);
  }

  /** @param cluster the only one that counts; absent: any */
  #load(cluster?: string): Hint | undefined {
    const hint = parseHint(this.#tryRead());
    return hint?.node !== this.#place.node || (cluster !== undefined && hint.cluster !== cluster) ? undefined : hint;
  }

  #tryRead(): string | undefined {
    try {
      return this.#ports.files.readText(this.#place.file);
    } catch {
      return undefined; // as if it were not there
    }
  }

  /** Only under the lock. */
  #store({ blocks, ...rest }: Hint): void {
    const all = new Map(blocks);
    for (const cidr of this.#unwritten) all.set(cidr, this.#now());
    this.#write(toHintText({ ...rest, blocks: all }));
    this.#unwritten.clear();
  }

  /** Only under the lock. @throws NetplugError ioFailure */
  #write(text: string): void {
    this.#ports.files.writeAtomically(this.#place.file, text, FILE_MODE);
  }
}

/** A time in the future counts as recent: clocks can be set. */
function isRecent(hintedAt: number, now: number): boolean {
  return now - hintedAt < CLAIM_S;
}
