/** Where text stops being JSON: the engine's own message shows the text, which may hold a secret, but no place. */

/** Place and expectation, e.g. `line 3, column 14: want "," or "}"`. Only for text that `JSON.parse` refused. */
export function describeJsonFault(text: string): string {
  if (text.trim() === "") return "got nothing, want JSON";
  const scanner = scan(text);
  const wanted = scanner.takeValue() ?? (scanner.isAtEnd() ? "JSON" : "nothing more");
  const before = text.slice(0, scanner.offset());
  const line = before.split("\n").length;
  return `line ${line}, column ${scanner.offset() - before.lastIndexOf("\n")}: want ${wanted}`;
}

interface Scanner {
  /** Takes one value and gives undefined, or stops at the fault and says what was wanted there. */
  takeValue(): string | undefined;
  isAtEnd(): boolean;
  offset(): number;
}

/** What is below is a control character. */
const SPACE = 0x20;

/** A function, not a class with patterns beside it: only a failing call pays for them. */
function scan(text: string): Scanner {
  const space = /[ \t\n\r]*/y;
  const escape = /\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/y;
  const numberOrWord = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?(?![0-9A-Za-z.])|(?:true|false|null)(?![0-9A-Za-z])/y;
  let at = 0;

  const take = (pattern: RegExp): boolean => {
    pattern.lastIndex = at;
    const found = pattern.exec(text);
    at += found?.[0].length ?? 0;
    return found !== null;
  };
  /** Character by character: a pattern for all of a long text runs out of room, and takes that for a fault. */
  const takeString = (): boolean => {
    const start = at++;
    while (at < text.length && text.charCodeAt(at) >= SPACE) {
      if (text[at] === "\\") {
        if (!take(escape)) break;
      } else if (text[at++] === '"') return true;
    }
    at = start;
    return false;
  };
  const takeChar = (char: string): boolean => {
    take(space);
    if (text[at] !== char) return false;
    at++;
    return true;
  };
  const takeValue = (): string | undefined => {
    if (takeChar("{")) return takeList("}", takeMember);
    if (takeChar("[")) return takeList("]", takeValue);
    if (text[at] === '"') return takeString() ? undefined : "a text that ends and has no raw control character";
    if (take(numberOrWord)) return undefined;
    return /[^\]},]/.test(text[at] ?? "") ? "a value, in double quotes if it is text" : "a value";
  };
  const takeMember = (): string | undefined => {
    take(space);
    if (text[at] !== '"' || !takeString()) return "a key in double quotes";
    return takeChar(":") ? takeValue() : '":"';
  };
  const takeList = (end: string, takeEntry: () => string | undefined): string | undefined => {
    if (takeChar(end)) return undefined;
    for (;;) {
      const wanted = takeEntry();
      if (wanted !== undefined) return wanted;
      if (takeChar(end)) return undefined;
      if (!takeChar(",")) return `"," or "${end}"`;
    }
  };
  return {
    takeValue,
    isAtEnd: () => {
      take(space);
      return at === text.length;
    },
    offset: () => at,
  };
}
