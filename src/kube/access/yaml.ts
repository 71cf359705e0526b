/** YAML, loaded only where a file is no JSON. */

/** @returns undefined for what is no YAML; the parser's own message is left out, for it may show the text */
export function parseYaml(text: string): { readonly value: unknown } | undefined {
  try {
    return { value: Bun.YAML.parse(text) };
  } catch {
    return undefined;
  }
}
