/** For tests: what a document for users shows, so that it is played as it stands. */

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { repositoryRoot } from "../../tools/repository.ts";

/** A document of the repository. */
export class ShownDocument {
  readonly path: string;
  readonly text: string;

  /** @param path from the repository's root */
  constructor(path: string) {
    this.path = path;
    this.text = readFileSync(join(repositoryRoot, path), "utf8");
  }

  /** The blocks of code of a language; "" is that of commands. */
  blocks(language: string): readonly string[] {
    return [...this.text.matchAll(/^```(\w*)\n([\s\S]*?)^```$/gm)].filter(([, name]) => name === language).map(([, , code = ""]) => code);
  }

  /** The first of them that holds a text. @throws Error when none does */
  block(language: string, containing: string): string {
    const found = this.blocks(language).find((code) => code.includes(containing));
    if (found === undefined) throw new Error(`${this.path}: no block with "${containing}"`);
    return found;
  }

  /** What is shown between backticks and begins with one of these words; in a table the bar of a pipe has a backslash. Each once. */
  inline(...programs: readonly string[]): readonly string[] {
    const prose = this.text.replace(/^```\w*\n[\s\S]*?^```$/gm, "");
    const shown = [...prose.matchAll(/`([^`\n]+)`/g)].map(([, code = ""]) => code.replaceAll("\\|", "|"));
    return [...new Set(shown.filter((code) => programs.some((program) => code.startsWith(`${program} `))))];
  }
}
