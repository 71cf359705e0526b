/** The text of a source file without what is no code, each character where it was. */

const COMMENT = String.raw`\/\*[\s\S]*?\*\/|\/\/[^\n]*`;
const QUOTED = String.raw`"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'`;
/** A slash behind a value divides it. */
const PATTERN = String.raw`\/(?<=(?:[=(,:;!&|?{[>]|\breturn)\s*\/)(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\[\n])+\/`;
const IN_CODE = new RegExp(`${COMMENT}|${QUOTED}|${PATTERN}|[\`{}]`, "g");
const IN_TEMPLATE = /\\[\s\S]|`|\$\{/g;

/**
 * The text with comments and the content of literals blanked out, line breaks kept, so that a rule about code does not trip over
 * prose. Of a template the `${…}` parts are code.
 */
export function codeOnly(text: string): string {
  return blank(
    text,
    (piece) => (isComment(piece) ? toBlanks(piece) : `${piece[0]}${toBlanks(piece.slice(1, -1))}${piece.at(-1)}`),
    toBlanks,
  );
}

/** The text with comments alone blanked out. */
export function withoutComments(text: string): string {
  return blank(
    text,
    (piece) => (isComment(piece) ? toBlanks(piece) : piece),
    (prose) => prose,
  );
}

function blank(text: string, ofPiece: (piece: string) => string, ofTemplate: (prose: string) => string): string {
  let result = "";
  const around: ("`" | "{")[] = [];
  for (let at = 0; at < text.length;) {
    const isTemplate = around.at(-1) === "`";
    const pattern = isTemplate ? IN_TEMPLATE : IN_CODE;
    pattern.lastIndex = at;
    const match = pattern.exec(text);
    const before = text.slice(at, match?.index);
    const piece = match?.[0] ?? "";
    at += before.length + piece.length;
    result += isTemplate ? ofTemplate(before) : before;
    if (piece === "}" || (isTemplate && piece === "`")) around.pop();
    else if (piece === "`") around.push("`");
    else if (piece.endsWith("{")) around.push("{");
    if (/^(?:[`{}]|\$\{|)$/.test(piece)) result += piece;
    else result += isTemplate ? ofTemplate(piece) : ofPiece(piece);
  }
  return result;
}

function isComment(piece: string): boolean {
  return piece.startsWith("//") || piece.startsWith("/*");
}

function toBlanks(text: string): string {
  return text.replace(/[^\n]/g, " ");
}
