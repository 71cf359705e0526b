/** Kinds as people write them on a command line. */

import { ALL_KINDS, type KindInfo, kindOf } from "../api/registry.ts";
import { nearestName } from "../lib/nearest.ts";
import { quote } from "../lib/quote.ts";
import { UsageError } from "./failure.ts";
import { kindMeantBy } from "./habits.ts";

/** The kind that a word names: by kind, singular, plural or short name. @throws {UsageError} */
export function parseKind(word: string): KindInfo {
  const info = kindOf(word);
  if (info !== undefined) return info;
  const words = ALL_KINDS.flatMap(({ kind, plural, shortNames }) => [kind.toLowerCase(), plural, ...shortNames]);
  const meant = kindMeantBy(word) ?? nearestName(word, words);
  const hint = meant === undefined ? ";" : `, did you mean ${meant}?`;
  throw new UsageError(`find kind ${quote(word)}: there is none${hint} kinds are ${ALL_KINDS.map(({ plural }) => plural).join(", ")}`);
}

/** Every kind with its short names, a line each, for help. */
export function describeKinds(): string {
  const width = Math.max(...ALL_KINDS.map(({ plural }) => plural.length));
  return ALL_KINDS.map(({ plural, shortNames }) => `  ${plural.padEnd(width)}  ${shortNames.join(", ")}`.trimEnd()).join("\n");
}

/** The word for each kind, for completion. */
export function proposeKinds(): readonly string[] {
  return ALL_KINDS.map(({ plural }) => plural);
}
