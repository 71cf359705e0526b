/** Reads a selector's characters. The parser says what may come next, because a label may be named like a keyword. */

import { quote } from "../../lib/quote.ts";

/** Longest label key. */
const MAX_LABEL_LENGTH = 512;

/** Text that is no selector; the message says where, what was found and what was wanted. */
export class SelectorError extends SyntaxError {
  override readonly name = "SelectorError";
  /** Character where it went wrong, counted from 0. */
  readonly position: number;
  /** The message without the text. */
  readonly detail: string;

  constructor(text: string, position: number, got: string, want: string) {
    const detail = `at character ${position + 1} got ${got}, want ${want}`;
    super(`parse selector ${quote(text)}: ${detail}`);
    this.position = position;
    this.detail = detail;
  }
}

const LABEL = /[A-Za-z0-9_./-]+/y;
const BLANKS = /[ \t]*/y;

/** A position in a text that moves forward as things are taken. */
export class Scanner {
  readonly text: string;
  #position = 0;

  constructor(text: string) {
    this.text = text;
  }

  /** Takes exactly this text, after blanks. */
  take(text: string): boolean {
    this.#skipBlanks();
    if (!this.text.startsWith(text, this.#position)) return false;
    this.#position += text.length;
    return true;
  }

  /** Takes words with any number of blanks between them, or none, unless a label character follows. */
  takeWords(...words: readonly string[]): boolean {
    this.#skipBlanks();
    const pattern = new RegExp(`${words.join("[ \\t]*")}(?![A-Za-z0-9_./-])`, "y");
    return this.#takePattern(pattern) !== undefined;
  }

  takeLabel(): string | undefined {
    this.#skipBlanks();
    const start = this.#position;
    const label = this.#takePattern(LABEL);
    if (label !== undefined && label.length > MAX_LABEL_LENGTH) {
      throw new SelectorError(this.text, start, `a label of ${label.length} characters`, `at most ${MAX_LABEL_LENGTH}`);
    }
    return label;
  }

  /** Takes a text in single or double quotes; there are no escapes. */
  takeString(): string | undefined {
    this.#skipBlanks();
    const mark = this.text.charAt(this.#position);
    if (mark !== '"' && mark !== "'") return undefined;
    const end = this.text.indexOf(mark, this.#position + 1);
    if (end < 0) throw new SelectorError(this.text, this.#position, "a string without an end", `a closing ${mark}`);
    const value = this.text.slice(this.#position + 1, end);
    this.#position = end + 1;
    return value;
  }

  isAtEnd(): boolean {
    this.#skipBlanks();
    return this.#position === this.text.length;
  }

  /** What to throw when none of what is allowed here follows. */
  unexpected(want: string): SelectorError {
    this.#skipBlanks();
    return new SelectorError(this.text, this.#position, this.#describeNext(), want);
  }

  #describeNext(): string {
    if (this.#position === this.text.length) return "the end";
    LABEL.lastIndex = this.#position;
    const word = LABEL.exec(this.text)?.[0] ?? String.fromCodePoint(this.text.codePointAt(this.#position) ?? 0);
    return word.length > 40 ? quote(`${word.slice(0, 40)}…`) : quote(word);
  }

  #skipBlanks(): void {
    this.#takePattern(BLANKS);
  }

  #takePattern(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.#position;
    const found = pattern.exec(this.text)?.[0];
    if (found !== undefined) this.#position += found.length;
    return found;
  }
}
