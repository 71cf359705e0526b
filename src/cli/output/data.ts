/** JSON and YAML for programs; numbers are exact however large they are. */

/** Makes the digits of a text stand in JSON as a number; newer than the compiler's library. */
const { rawJSON } = JSON as typeof JSON & { rawJSON(text: string): unknown };

/** Characters that JSON may hold as they are, and that move the cursor of a terminal or turn the direction of what it shows. */
const UNSEEN = /[\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g;

/** Indented JSON, a line break at the end. A bigint becomes a plain number with all its digits. */
export function toJsonText(value: unknown): string {
  const text = JSON.stringify(value, (_, item: unknown) => (typeof item === "bigint" ? rawJSON(item.toString()) : item), 2);
  return `${escapeUnseen(text)}\n`;
}

/** YAML in block style, a line break at the end. */
export function toYamlText(value: unknown): string {
  const originals: string[] = [];
  const keep = (text: string): string => toMark(originals.push(text));
  const withMarks: unknown = JSON.parse(
    JSON.stringify(value, (_, item: unknown) => {
      if (typeof item === "bigint") return keep(item.toString());
      return typeof item === "string" && item.search(UNSEEN) >= 0 ? keep(escapeUnseen(JSON.stringify(item))) : item;
    }),
  );
  const text = Bun.YAML.stringify(withMarks, null, 2);
  return `${originals.reduce((done, original, index) => done.replace(toMark(index + 1), () => original), text)}\n`;
}

/** Inside the quotes of JSON, which are those of YAML too. */
function escapeUnseen(text: string): string {
  return text.replace(UNSEEN, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

/** Stands for what the writer of YAML does not do: integers beyond a double, and escapes. YAML needs no quotes around it. */
function toMark(number: number): string {
  return `__kept_as_it_is_${number}__`;
}
