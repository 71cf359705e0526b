/** For tests: what a document for users shows, so that it is played as it stands. */

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { repositoryRoot } from "../../../tools/repository.ts";

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

  /**
   * What is shown between backticks, each once, on one line wherever the document breaks it; in a table the bar of a pipe has a backslash.
   *
   * @throws Error when a paragraph has a backtick without another one
   */
  inline(): readonly string[] {
    const prose = this.text.replace(/^```\w*\n[\s\S]*?^```$/gm, "");
    const shown = prose.split(/\n\s*\n/).flatMap((paragraph) => {
      const pieces = paragraph.split("`");
      if (pieces.length % 2 === 0) throw new Error(`${this.path}: a backtick without another one in "${paragraph}"`);
      return pieces.filter((_, index) => index % 2 === 1);
    });
    return [...new Set(shown.map((code) => code.replaceAll(/\s+/g, " ").replaceAll("\\|", "|")))];
  }

  /** What of it begins with one of these, and goes on. */
  inlineWith(...beginnings: readonly string[]): readonly string[] {
    return this.inline().filter((code) => beginnings.some((beginning) => code.startsWith(`${beginning} `)));
  }

  /** The first of those. @throws Error when there is none */
  one(beginning: string): string {
    const [found] = this.inlineWith(beginning);
    if (found === undefined) throw new Error(`${this.path}: no code that begins with "${beginning}"`);
    return found;
  }
}
