/** Reads the JUnit report that `bun test` writes. */

export interface TestCase {
  readonly file: string;
  /** With the names of the groups around it. */
  readonly name: string;
  readonly outcome: "passed" | "failed" | "skipped";
}

const CASE = /<testcase\s([^>]*?)(?:\/>|>([\s\S]*?)<\/testcase>)/g;

/** The test cases of a report, in its order. */
export function parseJunit(xml: string): TestCase[] {
  return [...xml.matchAll(CASE)].map(([, attributes = "", body = ""]) => {
    const group = attribute(attributes, "classname");
    const name = attribute(attributes, "name");
    return {
      file: attribute(attributes, "file"),
      name: group === "" ? name : `${group} > ${name}`,
      outcome: /<skipped\b/.test(body) ? "skipped" : /<(?:failure|error)\b/.test(body) ? "failed" : "passed",
    };
  });
}

function attribute(attributes: string, name: string): string {
  const match = new RegExp(`(?:^|\\s)${name}="([^"]*)"`).exec(attributes);
  return unescapeXml(match?.[1] ?? "");
}

function unescapeXml(text: string): string {
  const named: Readonly<Record<string, string>> = { lt: "<", gt: ">", quot: '"', apos: "'", amp: "&" };
  return text.replace(/&(?:#(\d+)|#x([0-9a-fA-F]+)|(\w+));/g, (whole, decimal?: string, hex?: string, word?: string) => {
    if (decimal !== undefined) return String.fromCodePoint(Number(decimal));
    if (hex !== undefined) return String.fromCodePoint(Number.parseInt(hex, 16));
    return named[word ?? ""] ?? whole;
  });
}
