/** Flags that several commands share. */

import { kindOf, type KindInfo, ALL_KINDS } from "../api/registry.ts";
import { nearestName } from "../lib/nearest.ts";
import { quote } from "../lib/quote.ts";
import { UsageError } from "./failure.ts";
import { FORMAT_NAMES, type Format, parseFormat, parseReportFormat } from "./output/format.ts";

export const filenames = {
  kind: "parsed",
  parse: String,
  brief: "file or folder with YAML or JSON, - for stdin; may be given several times",
  placeholder: "FILE",
  variadic: true,
} as const;

export const optionalFilenames = { ...filenames, optional: true } as const;

export const namespace = {
  kind: "parsed",
  parse: String,
  brief: "namespace of what is namespaced (default: default)",
  placeholder: "NAMESPACE",
  optional: true,
} as const;

export const allNamespaces = { kind: "boolean", brief: "all namespaces", optional: true, withNegated: false } as const;

export const output = {
  kind: "parsed",
  parse: (text: string): Format => parseFormat(text),
  brief: "json, yaml, wide, name or custom-columns=HEADING:PATH,…",
  placeholder: "FORMAT",
  optional: true,
  proposeCompletions: () => FORMAT_NAMES,
} as const;

export const reportOutput = {
  kind: "parsed",
  parse: (text: string): "json" | "yaml" => parseReportFormat(text),
  brief: "json or yaml instead of a table",
  placeholder: "FORMAT",
  optional: true,
  proposeCompletions: () => ["json", "yaml"],
} as const;

/** A kind as people write it: kind, singular, plural or short name. */
export function parseKind(word: string): KindInfo {
  const info = kindOf(word);
  if (info !== undefined) return info;
  const meant = nearestName(
    word,
    ALL_KINDS.flatMap(({ kind, plural, shortNames }) => [kind.toLowerCase(), plural, ...shortNames]),
  );
  const hint = meant === undefined ? ";" : `, did you mean ${meant}?`;
  throw new UsageError(`find kind ${quote(word)}: there is none${hint} kinds are ${ALL_KINDS.map(({ plural }) => plural).join(", ")}`);
}

/** Every kind with its short names, a line each, for help. */
export function describeKinds(): string {
  const width = Math.max(...ALL_KINDS.map(({ plural }) => plural.length));
  return ALL_KINDS.map(({ plural, shortNames }) => `  ${plural.padEnd(width)}  ${shortNames.join(", ")}`.trimEnd()).join("\n");
}

export function proposeKinds(): readonly string[] {
  return ALL_KINDS.map(({ plural }) => plural);
}

/** Exactly `true` or `false`, in any case. */
export function parseBoolean(text: string): boolean {
  if (/^true$/i.test(text)) return true;
  if (/^false$/i.test(text)) return false;
  throw new UsageError(`got ${quote(text)}, want true or false`);
}

/** A whole number without sign. */
export function parseCount(text: string): number {
  if (/^[0-9]{1,15}$/.test(text)) return Number(text);
  throw new UsageError(`got ${quote(text)}, want a whole number`);
}
