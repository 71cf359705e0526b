/**
 * What those in the queue ask of whoever has the turn: a file for each place. Whoever has the turn reads the files, does what it can do together
 * with its own work, and tells those whose requests it served; these then need no turn.
 *
 * A process whose request was read may die before it is served. A DEL that looks for what was done for it must not look too early only because
 * it finds the lock free: so a file counts how often such work began and ended.
 */

import { orNothing } from "../../lib/errors.ts";
import { O_CREAT, O_EXCL, O_WRONLY } from "../constants.ts";
import { ENOENT } from "../errno.ts";
import { linuxFiles, openFile, writeAll } from "../files.ts";
import { listFolder, makeFolders } from "../folders.ts";
import { KernelError } from "../kernel-error.ts";
import { rareLibc, toCString } from "../libc.ts";
import { queueOf, requestsOf, workFileOf } from "./queue-files.ts";
import { isPlaceTaken } from "./place.ts";

const FILE_MODE = 0o600;
/** Ends the name of the file of a request that was served. The text stays: older versions beside us look for it. */
const SERVED = ".met";
/** More would make the turn of whoever serves them too long. */
const MAX_REQUESTS = 32;

/** What those who wait want done. */
export interface QueuedRequests {
  /**
   * Of the living, the first in the queue first. From now on until the turn is over work for them may be under way.
   *
   * @param onDead gets what somebody wanted who has died since, before it is cleared away: it may have been done
   */
  read(onDead?: (text: string) => void): readonly QueuedRequest[];
  /** Tells those who have what they want. */
  tellServed(requests: readonly QueuedRequest[]): void;
}

/** What a process in the queue asks of whoever has the turn. */
export interface QueuedRequest {
  /** The place of whoever wants it. */
  readonly place: string;
  readonly text: string;
}

/** Our request, until we leave the queue. */
export interface LeftRequest extends Disposable {
  isServed(): boolean;
}

/** Leaves a request beside a place in the queue. @returns undefined when it cannot be written: then nobody serves it */
export function leaveRequest(path: string, place: string, text: string): LeftRequest | undefined {
  const file = fileOf(path, place);
  // Whoever reads a part of it finds that it is no request.
  if (orNothing(() => writeNew(path, file, text)) === undefined) return undefined;
  return {
    isServed: () => linuxFiles.exists(file + SERVED),
    [Symbol.dispose]: () => {
      for (const name of [file, file + SERVED]) rareLibc().unlink(toCString(name));
    },
  };
}

/**
 * The requests of those who wait for the lock on a file; for the one whose turn it is, until the turn is over.
 *
 * @param workCount before any of the work is done
 */
export function requestsIn(path: string, workCount: number): QueuedRequests & Disposable {
  let isUnderWay = false;
  return {
    read: (onDead = () => undefined) =>
      orNothing(() => {
        const requests = readLiving(path, onDead);
        if (requests.length > 0 && !isUnderWay) noteWork(path, workCount + 1);
        isUnderWay ||= requests.length > 0;
        return requests;
      }) ?? [],
    tellServed(requests) {
      for (const { place } of requests) rareLibc().rename(toCString(fileOf(path, place)), toCString(fileOf(path, place) + SERVED));
    },
    [Symbol.dispose]() {
      if (isUnderWay) endWork(path, workCount + 1);
    },
  };
}

/** Notes that work is over. @returns how often any has begun or ended by now */
export function endWork(path: string, workCount: number): number {
  orNothing(() => noteWork(path, workCount + 1));
  return workCount + 1;
}

/** Also clears after the dead. */
function readLiving(path: string, onDead: (text: string) => void): readonly QueuedRequest[] {
  const requests: QueuedRequest[] = [];
  const textOf = (name: string): string => linuxFiles.readText(fileOf(path, name)) ?? "";
  for (const name of [...(listFolder(requestsOf(path)) ?? [])].sort()) {
    if (requests.length === MAX_REQUESTS) break;
    const isServed = name.endsWith(SERVED);
    const place = isServed ? name.slice(0, -SERVED.length) : name;
    if (!isPlaceTaken(queueOf(path), place)) {
      onDead(orNothing(() => textOf(name)) ?? "");
      linuxFiles.remove(fileOf(path, name));
    } else if (!isServed) requests.push({ place, text: textOf(name) });
  }
  return requests;
}

function noteWork(path: string, count: number): void {
  linuxFiles.writeAtomically(workFileOf(path), String(count), FILE_MODE);
}

function writeNew(path: string, file: string, text: string): true {
  const flags = O_WRONLY | O_CREAT | O_EXCL;
  using fd = openFile(file, flags, FILE_MODE) ?? (makeFolders(requestsOf(path)), openFile(file, flags, FILE_MODE));
  if (fd === undefined) throw new KernelError({ operation: "make", object: file, errno: ENOENT, kind: "ioFailure" });
  writeAll(fd, new TextEncoder().encode(text), file);
  return true;
}

function fileOf(path: string, name: string): string {
  return `${requestsOf(path)}/${name}`;
}
