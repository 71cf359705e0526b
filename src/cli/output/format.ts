/** What `-o` may say. */

import { quote } from "../../lib/quote.ts";
import { UsageError } from "../failures/failure.ts";

/** How `get` prints resources: what `-o` said, or a table that is not wide. */
export type Format =
  | { readonly type: "table"; readonly wide: boolean }
  | { readonly type: "json" | "yaml" | "name" }
  | { readonly type: "custom-columns"; readonly spec: string };

/** The forms of a report for programs; without one a command prints a table. */
export type ReportFormat = "json" | "yaml";

/** What `-o` takes, as completion proposes it. */
export const FORMAT_NAMES = ["json", "yaml", "wide", "name", "custom-columns="] as const;

/** @throws {UsageError} */
export function parseFormat(text: string): Format {
  if (text === "wide") return { type: "table", wide: true };
  if (text === "json" || text === "yaml" || text === "name") return { type: text };
  const custom = /^custom-columns=(.+)$/s.exec(text);
  if (custom !== null) return { type: "custom-columns", spec: custom[1] ?? "" };
  throw new UsageError(`got ${quote(text)}, want json, yaml, wide, name or custom-columns=HEADING:PATH,…`);
}

/** Reads `-o` of commands that print a report rather than resources. @throws {UsageError} */
export function parseReportFormat(text: string): ReportFormat {
  if (text === "json" || text === "yaml") return text;
  throw new UsageError(`got ${quote(text)}, want json or yaml`);
}
