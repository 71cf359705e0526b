/**
 * For tests: one process of a node that has a hint of its blocks, with the real lock and the real files. It says where it is, and stands
 * still there until a line comes on stdin: `bun hint-process.ts <file> add <cidr>` or `<file> replace <cidr>`.
 */

import { readSync } from "node:fs";
import { BlockHints } from "../../src/datastore/kubernetes/state/block-hints.ts";
import { systemClock } from "../../src/lib/clock.ts";
import { messageOf } from "../../src/lib/errors.ts";
import { parsePrefix } from "../../src/lib/ip/prefix.ts";
import type { Files } from "../../src/lib/ports.ts";
import { linuxFiles } from "../../src/linux/files.ts";
import { takeLock } from "../../src/linux/flock.ts";

/** Where it stands still. */
export const STAGES = ["found", "locked", "loaded", "stored"] as const;

const [file = "", action = "", cidr = "", ...stages] = process.argv.slice(2);

function stand(stage: (typeof STAGES)[number]): void {
  if (!stages.includes(stage)) return;
  console.log(stage);
  readSync(0, new Uint8Array(1));
}

const files: Files = {
  ...linuxFiles,
  writeAtomically(...args) {
    stand("loaded");
    linuxFiles.writeAtomically(...args);
    stand("stored");
  },
};

const hints = new BlockHints(
  { file, node: "n1" },
  {
    clock: systemClock,
    files,
    async takeLock(path, waitMs) {
      const lock = await takeLock(path, { waitMs, clock: systemClock });
      if (lock !== undefined) stand("locked");
      return lock;
    },
  },
);

if (import.meta.main) {
  const blocks = cidr === "" ? [] : [parsePrefix(cidr)];
  const found = hints.read();
  stand("found");
  const work = action === "add" ? hints.add("u1", blocks) : hints.replace(found, "u1", blocks);
  console.log(
    await work.then(
      () => "done",
      (thrown: unknown) => `refused: ${messageOf(thrown)}`,
    ),
  );
}
