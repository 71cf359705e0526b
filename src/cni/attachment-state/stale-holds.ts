/**
 * Holds that no DEL has ended, because it was killed at its beginning, or never called: containerd calls one DEL after an ADD that failed, and
 * no GC. Loaded by a DEL of which that may be true as well.
 */

import { LONGEST_ADD_MS } from "../../ipam/longest-add.ts";
import { randomInteger } from "../../lib/random.ts";
import type { LocalCall } from "../call.ts";
import { isNetnsGone } from "./gone-netns.ts";
import { type HoldNote, readHold } from "./hold.ts";
import { listHeld } from "./listed-files.ts";
import { attempt, hasNodeFile, removeNodeFile } from "./node-files.ts";
import { readPending, writePending } from "./pending-note.ts";

/** A node has some hundred pods at most; with more containers, later calls come to the others. */
const MAX_LOOKS = 256;

/** Makes pending releases of holds of the call's network whose ADD must be over, and whose namespace is gone. */
export function noteStaleHolds(call: LocalCall): void {
  const held = listHeld(call).filter(({ network }) => network === call.config.name);
  const first = randomInteger(call.host.random, held.length);
  for (const attachment of [...held.slice(first), ...held.slice(0, first)].slice(0, MAX_LOOKS)) {
    // One that cannot be read must not hide the others.
    attempt(call, () => noteIfStale({ ...call, environment: { ...call.environment, ...attachment } }));
  }
}

function noteIfStale(call: LocalCall): void {
  const hold = readHold(call, call.environment);
  if (hold === undefined || !isStale(call, hold)) return;
  const { path, id } = hold;
  if (!hasNodeFile(call, "unreleased")) writePending(call, { path, id, until: 0, addresses: [] });
  const there = readPending(call, call.environment);
  // One about another namespace waits for that one.
  if (there?.path !== path || there.id !== id) return;
  // An ADD that takes hold from now on finds the pending release.
  if (readHold(call, call.environment)?.takenAt === hold.takenAt) removeNodeFile(call, "attached");
}

function isStale({ host, config }: LocalCall, { path, id, plugin, takenAt }: HoldNote): boolean {
  const longestMs = LONGEST_ADD_MS + config.policySetupTimeoutMs;
  return plugin === "netplug" && id !== "" && host.sinceBoot() - takenAt > longestMs && isNetnsGone(host, path);
}
