/**
 * Requests of waiting processes: one file for each place in the queue. The process that has the turn reads the files, serves what it can
 * together with its own work, and tells those it has served: they need no turn then.
 *
 * A process may die after its request was read and before it is served. A DEL that looks for what was done for it must not look too early just
 * because it finds the lock free: so a file counts how often such work has begun or ended.
 */

import { orNothing } from "../../lib/errors.ts";
import { O_EXCL, O_WRONLY } from "../constants.ts";
import { linuxFiles, openOrMake, writeAll } from "../files.ts";
import { listFolder } from "../folders.ts";
import { rareLibc, toCString } from "../libc.ts";
import { queueOf, requestsOf, workFileOf } from "./queue-files.ts";
import { isPlaceTaken } from "./place.ts";

const FILE_MODE = 0o600;
/** Ends the file name of a request that was served. It must stay as it is: older versions beside us look for it. */
const SERVED = ".met";
/** More would make the turn too long. */
const MAX_REQUESTS = 32;

/** The requests of waiting processes, as the process that has the turn sees them. */
export interface QueuedRequests {
  /**
   * Those of living processes, in the order of the queue. From now until the turn is over, work for them counts as under way.
   *
   * @param onDead gets each request of a process that has died, before it is removed: it may have been served
   */
  read(onDead?: (text: string) => void): readonly QueuedRequest[];
  /** Tells processes that their requests were served. */
  tellServed(requests: readonly QueuedRequest[]): void;
}

/** What a waiting process asks of the process whose turn it is. */
export interface QueuedRequest {
  /** The place of the waiting process. */
  readonly place: string;
  readonly text: string;
}

/** Our request, until we leave the queue. */
export interface PostedRequest extends Disposable {
  isServed(): boolean;
}

/** Posts a request for a place in the queue. @returns undefined when it cannot be written: then nobody serves it */
export function postRequest(path: string, place: string, text: string): PostedRequest | undefined {
  const file = fileOf(path, place);
  // A process that reads only a part of it rejects it.
  if (orNothing(() => writeNew(file, text)) === undefined) return undefined;
  return {
    isServed: () => linuxFiles.exists(file + SERVED),
    [Symbol.dispose]: () => {
      for (const name of [file, file + SERVED]) rareLibc().unlink(toCString(name));
    },
  };
}

/**
 * The requests of those who wait for the lock on a file, until the turn is over.
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

/** Notes that work is over. @returns the new count */
export function endWork(path: string, workCount: number): number {
  orNothing(() => noteWork(path, workCount + 1));
  return workCount + 1;
}

/** Also removes the files of dead processes. */
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

function writeNew(file: string, text: string): true {
  using fd = openOrMake(file, O_WRONLY | O_EXCL, FILE_MODE);
  writeAll(fd, new TextEncoder().encode(text), file);
  return true;
}

function fileOf(path: string, name: string): string {
  return `${requestsOf(path)}/${name}`;
}
