/** YAML, loaded only where a text is no JSON. */

/** What a text holds, or the line at which it stops being YAML, from 1; undefined: it is too long to find out. */
export type ParsedYaml = { readonly value: unknown } | { readonly faultLine: number | undefined };

/** Longest text in which the line is looked for: to find it, parts of the text are parsed again. No kubeconfig is near this. */
const MAX_LENGTH = 1024 * 1024;
/** More lines than a value takes that is not YAML before its end, as a text in quotes or a list in brackets. */
const LONGEST_VALUE = 20;

/** The parser's own message is left out, for it may show the text. */
export function parseYaml(text: string): ParsedYaml {
  return tryParseYaml(text) ?? { faultLine: findFaultLine(text) };
}

/** The first of several documents counts, as for kubectl: tools that join such files leave a line of dashes at the end. */
export function tryParseYaml(text: string): { readonly value: unknown } | undefined {
  try {
    const value: unknown = Bun.YAML.parse(text);
    return { value: Array.isArray(value) && /^---/m.test(text) ? (value as readonly unknown[])[0] : value };
  } catch {
    return undefined;
  }
}

/**
 * The parser names no place. So the fault is on the line behind the longest beginning of the text that is YAML by itself: first looked for by
 * halves, then behind a value that made a half no YAML.
 */
function findFaultLine(text: string): number | undefined {
  if (text.length > MAX_LENGTH) return undefined;
  const lines = text.split("\n");
  const isYaml = (count: number): boolean => tryParseYaml(lines.slice(0, count).join("\n")) !== undefined;
  let good = 0;
  for (let next: number | undefined = 0; next !== undefined; next = findNext(good, lines.length, isYaml)) {
    good = next;
    for (let bad = lines.length; bad - good > 1;) {
      const half = Math.floor((good + bad) / 2);
      if (isYaml(half)) good = half;
      else bad = half;
    }
  }
  return good + 1;
}

function findNext(good: number, end: number, isYaml: (count: number) => boolean): number | undefined {
  for (let count = good + 1; count < Math.min(end, good + LONGEST_VALUE); count++) if (isYaml(count)) return count;
  return undefined;
}
