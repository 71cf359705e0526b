/** JSON and YAML for programs; numbers are exact however large they are. */

/** Makes the digits of a text stand in JSON as a number; newer than the compiler's library. */
const { rawJSON } = JSON as typeof JSON & { rawJSON(text: string): unknown };

/** Indented JSON, a line break at the end. A bigint becomes a plain number with all its digits. */
export function toJsonText(value: unknown): string {
  return `${JSON.stringify(value, (_, item: unknown) => (typeof item === "bigint" ? rawJSON(item.toString()) : item), 2)}\n`;
}

/** YAML in block style, a line break at the end. */
export function toYamlText(value: unknown): string {
  const integers: string[] = [];
  const withMarks: unknown = JSON.parse(
    JSON.stringify(value, (_, item: unknown) => (typeof item === "bigint" ? toMark(integers.push(item.toString())) : item)),
  );
  const text = Bun.YAML.stringify(withMarks, null, 2);
  return `${integers.reduce((exact, digits, index) => exact.replace(toMark(index + 1), digits), text).trimEnd()}\n`;
}

/** Stands for an integer while the text is made, because the writer knows doubles only; YAML needs no quotes around it. */
function toMark(number: number): string {
  return `__exact_integer_${number}__`;
}
