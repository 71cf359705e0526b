/** For tests: files that are only texts. */

import { NetplugError } from "../../src/lib/errors.ts";
import type { Files } from "../../src/lib/ports.ts";

/** Changing `contents` changes the files; a path under which `null` stands exists and cannot be read. */
export function memoryFiles(contents: Record<string, string | null>): Files {
  return {
    readText(path) {
      const text = contents[path];
      if (text === null) throw new NetplugError("ioFailure", `open "${path}": permission denied`);
      return text;
    },
    exists: (path) => contents[path] !== undefined,
    isExecutableFile: (path) => contents[path] !== undefined,
    writeAtomically: (path, content) => {
      contents[path] = content;
    },
    append: (path, text) => {
      if (contents[path] !== undefined) contents[path] += text;
    },
    remove: (path) => delete contents[path],
    list: () => undefined,
  };
}
