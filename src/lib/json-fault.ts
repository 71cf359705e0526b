/** Where text stops being JSON: the engine's own message shows the text, which may hold a secret, but no place. */

/** Place and expectation, e.g. `line 3, column 14: want "," or "}"`. Only for text that `JSON.parse` refused. */
export function describeJsonFault(text: string): string {
  if (text.trim() === "") return "got nothing, want JSON";
  const scanner = new Scanner(text);
  const wanted = scanner.value() ?? (scanner.isAtEnd() ? "JSON" : "nothing more");
  const before = text.slice(0, scanner.at);
  const line = before.split("\n").length;
  return `line ${line}, column ${scanner.at - before.lastIndexOf("\n")}: want ${wanted}`;
}

const SPACE = /[ \t\n\r]*/y;
const STRING = /"(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"/y;
const NUMBER_OR_WORD = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?(?![0-9A-Za-z.])|(?:true|false|null)(?![0-9A-Za-z])/y;

/** Each method takes one part and gives undefined, or stops at the fault and says what was wanted there. */
class Scanner {
  at = 0;
  readonly #text: string;

  constructor(text: string) {
    this.#text = text;
  }

  isAtEnd(): boolean {
    this.#take(SPACE);
    return this.at === this.#text.length;
  }

  value(): string | undefined {
    this.#take(SPACE);
    const first = this.#text[this.at];
    if (first === "{") return this.#list("}", () => this.#member());
    if (first === "[") return this.#list("]", () => this.value());
    if (first === '"') return this.#take(STRING) ? undefined : "a text that ends and has no raw control character";
    return this.#take(NUMBER_OR_WORD) ? undefined : "a value";
  }

  #member(): string | undefined {
    this.#take(SPACE);
    if (!this.#take(STRING)) return "a key in double quotes";
    return this.#takeChar(":") ? this.value() : '":"';
  }

  #list(end: string, entry: () => string | undefined): string | undefined {
    this.at++;
    if (this.#takeChar(end)) return undefined;
    for (;;) {
      const wanted = entry();
      if (wanted !== undefined) return wanted;
      if (this.#takeChar(end)) return undefined;
      if (!this.#takeChar(",")) return `"," or "${end}"`;
    }
  }

  #takeChar(char: string): boolean {
    this.#take(SPACE);
    if (this.#text[this.at] !== char) return false;
    this.at++;
    return true;
  }

  #take(pattern: RegExp): boolean {
    pattern.lastIndex = this.at;
    const found = pattern.exec(this.#text);
    if (found === null) return false;
    this.at += found[0].length;
    return true;
  }
}
