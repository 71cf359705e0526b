/** Kinds as people write them on a command line. */

import { ALL_KINDS, type KindInfo, kindOf, KINDS } from "../../api/registry.ts";
import { API_GROUP, API_GROUP_VERSION } from "../../api/resource.ts";
import { nearestName } from "../../lib/nearest.ts";
import { quote } from "../../lib/quote.ts";
import { UsageError } from "../failures/failure.ts";
import { kindMeantBy } from "./other-tools.ts";

/** What kubectl calls a kind in full has the group behind it: `ippools.netplug.io`, `ippools.v3.netplug.io`. */
const SUFFIXES = [`.${API_GROUP_VERSION}.${API_GROUP}`, `.${API_GROUP}`];

/** @returns undefined for a word that names no kind */
export function findKind(word: string): KindInfo | undefined {
  const suffix = SUFFIXES.find((one) => word.toLowerCase().endsWith(one)) ?? "";
  return kindOf(word.slice(0, word.length - suffix.length));
}

/** The kind that a word names: by kind, singular, plural or short name. @throws {UsageError} */
export function parseKind(word: string): KindInfo {
  const info = findKind(word);
  if (info !== undefined) return info;
  const words = ALL_KINDS.flatMap(({ kind, plural, shortNames }) => [kind.toLowerCase(), plural, ...shortNames]);
  const meant = kindMeantBy(word) ?? nearestName(word, words);
  const hint = meant === undefined ? ";" : `, did you mean ${meant}?`;
  throw new UsageError(`find kind ${quote(word)}: there is none${hint} kinds are ${ALL_KINDS.map(({ plural }) => plural).join(", ")}`);
}

/** What a command does with kinds: some are only shown. */
export type KindUse = "shown" | "written";

const kindsFor = (use: KindUse): readonly KindInfo[] => (use === "shown" ? ALL_KINDS : Object.values(KINDS));

/** Every kind that may be shown or written, with its short names, a line each, for help. */
export function describeKinds(use: KindUse): string {
  const kinds = kindsFor(use);
  const width = Math.max(...kinds.map(({ plural }) => plural.length));
  return kinds.map(({ plural, shortNames }) => `  ${plural.padEnd(width)}  ${shortNames.join(", ")}`.trimEnd()).join("\n");
}

/** The word for each kind, for completion. */
export function proposeKinds(use: KindUse): readonly string[] {
  return kindsFor(use).map(({ plural }) => plural);
}
