/** Flags that several commands share. */

import { quote } from "../../lib/quote.ts";
import type { CliContext } from "./context.ts";
import type { GlobalOptions } from "../io.ts";
import { UsageError } from "../failures/failure.ts";
import { FORMAT_NAMES, type Format, parseFormat, parseReportFormat, type ReportFormat } from "../output/format.ts";
import { parseLabelSelector } from "../arguments/label-selector.ts";

/** Options that may be given anywhere: taken out before the parser of commands sees them. */
export const GLOBAL_OPTIONS: readonly { readonly name: keyof GlobalOptions; readonly letter?: string; readonly brief: string }[] = [
  { name: "config", letter: "c", brief: "datastore access" },
  { name: "kubeconfig", brief: "access to Kubernetes" },
  { name: "context", brief: "context of the kubeconfig" },
];

/** Every command has it; the parser of commands adds it. */
export const HELP_OPTION = { name: "help", letter: "h" } as const;

/** `-f` of commands that want files: `create`, `apply`, `diff`, `replace`, `validate`. */
export const filenames = {
  kind: "parsed",
  parse: String,
  brief: "file or folder with YAML or JSON, - for stdin; may be given several times",
  placeholder: "FILE",
  variadic: true,
} as const;

/** `-f` of `get` and `delete`, which otherwise take words that name objects. */
export const optionalFilenames = { ...filenames, optional: true } as const;

/** `-n` of `validate`, which asks no datastore, and so does not know the context's namespace. */
export const namespaceUnasked = {
  kind: "parsed",
  parse: String,
  brief: "namespace of what is namespaced (default: default)",
  placeholder: "NAMESPACE",
  optional: true,
} as const;

/** `-n` of commands that ask the datastore. When it is absent, `defaultNamespaceOf()` says which namespace is meant. */
export const namespace = {
  ...namespaceUnasked,
  brief: "namespace of what is namespaced (default: that of the context, else default)",
  proposeCompletions(this: CliContext) {
    return this.propose.namespaces();
  },
} as const;

/** A flag that is given or not. */
export function withoutValue(brief: string) {
  return { kind: "boolean", brief, optional: true, withNegated: false } as const;
}

/** `-A` of `get`, which refuses it together with `-n`. */
export const allNamespaces = withoutValue("all namespaces");

/** `-o` of `get`, which prints resources. @throws {UsageError} when it is parsed */
export const output = {
  kind: "parsed",
  parse: (text: string): Format => parseFormat(text),
  brief: "json, yaml, wide, name or custom-columns=HEADING:PATH,…",
  placeholder: "FORMAT",
  optional: true,
  proposeCompletions: () => FORMAT_NAMES,
} as const;

/** `-o` of commands that print a report. @throws {UsageError} when it is parsed */
export const reportOutput = {
  kind: "parsed",
  parse: (text: string): ReportFormat => parseReportFormat(text),
  brief: "json or yaml instead of a table",
  placeholder: "FORMAT",
  optional: true,
  proposeCompletions: () => ["json", "yaml"],
} as const;

/** `-l` of `get`: kubectl's language for labels, which is not that of policies and pools. */
export const selector = {
  kind: "parsed",
  parse: parseLabelSelector,
  brief: "only objects with these labels, as kubectl has it",
  placeholder: "SELECTOR",
  optional: true,
  proposeCompletions(this: CliContext, partial: string) {
    return this.propose.labels(partial);
  },
} as const;

/** Exactly `true` or `false`, in any case. */
export function parseBoolean(text: string): boolean {
  if (/^true$/i.test(text)) return true;
  if (/^false$/i.test(text)) return false;
  throw new UsageError(`got ${quote(text)}, want true or false`);
}

/** Larger ones are not all exact. */
const MOST_DIGITS = 15;

/** A whole number without sign. */
export function parseCount(text: string): number {
  if (!/^[0-9]+$/.test(text)) throw new UsageError(`got ${quote(text)}, want a whole number without sign`);
  if (text.length > MOST_DIGITS) throw new UsageError(`got ${quote(text)}, want at most ${MOST_DIGITS} digits`);
  return Number(text);
}

/** 2, 4, 8 and so on. */
export function parsePowerOfTwo(text: string): number {
  const count = parseCount(text);
  // Of large numbers the logarithm alone is rounded to a whole one.
  if (count < 2 || 2 ** Math.round(Math.log2(count)) !== count) throw new UsageError(`got ${quote(text)}, want a power of two: 2, 4, 8, …`);
  return count;
}
