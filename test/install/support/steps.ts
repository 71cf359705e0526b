/** A run that dies at one of its steps: from then on nothing that it asks of the files is done, as if the process were gone. */

import { writeFileSync } from "node:fs";
import type { DurableFiles } from "../../../src/install-cni/files/durable-files.ts";
import { durableFiles } from "../../../src/linux/durable-files.ts";

/** Where death comes: before the step, after it, or in the middle of writing. */
export type Moment = "before" | "half" | "after";

export interface DyingFiles {
  readonly disk: DurableFiles;
  /** The step at which it died; undefined: it never came there. */
  readonly diedAt: () => string | undefined;
  /** Whether that step writes, so that it can be done by half. */
  readonly hasHalf: () => boolean;
}

/** @param at from 1 */
export function filesThatDie(at: number, moment: Moment): DyingFiles {
  let count = 0;
  let diedAt: string | undefined;
  let hasHalf = false;
  const disk = new Proxy<DurableFiles>(durableFiles, {
    get(_, key: keyof DurableFiles) {
      const real = durableFiles[key] as (...args: unknown[]) => unknown;
      return (...args: unknown[]): unknown => {
        if (diedAt !== undefined) throw new Error("dead");
        if (++count !== at) return real(...args);
        diedAt = `${key} ${args.map(String).join(" ").slice(0, 200)}`;
        hasHalf = key === "create" || key === "copy";
        if (moment === "after") {
          const result = real(...args);
          // The kernel ends the locks of a process with it.
          if (key === "tryLock") (result as Disposable | undefined)?.[Symbol.dispose]();
        }
        if (moment === "half" && hasHalf) writeHalf(key, args as [string, string]);
        throw new Error("killed");
      };
    },
  });
  return { disk, diedAt: () => diedAt, hasHalf: () => hasHalf };
}

function writeHalf(key: string, [first, second]: [string, string]): void {
  const text = key === "copy" ? (durableFiles.readText(first) ?? "") : second;
  writeFileSync(key === "copy" ? second : first, text.slice(0, Math.floor(text.length / 2)), { mode: 0o600 });
}
