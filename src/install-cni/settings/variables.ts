/** Reading variables of the environment: one that is empty is absent, one that makes no sense is refused. */

import { hasControlCharacter } from "../../lib/characters.ts";
import { toChoice } from "../../lib/choice.ts";
import { NetplugError } from "../../lib/errors.ts";
import { quote } from "../../lib/quote.ts";

/** The variables of the process, handed in. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** Empty counts as unset, as in a manifest that leaves a value blank. */
export function readText(env: Environment, name: string): string | undefined {
  const text = env[name];
  return text === undefined || text === "" ? undefined : text;
}

/** @throws NetplugError invalidConfig unless it is absolute */
export function readPath(env: Environment, name: string): string | undefined {
  const text = readText(env, name);
  if (text === undefined) return undefined;
  if (!text.startsWith("/") || hasControlCharacter(text)) throw fault(name, text, "an absolute path");
  return text;
}

/** A folder's path in the form to which `/` and a name are added. */
export function withoutSlash(path: string): string {
  return path.length > 1 && path.endsWith("/") ? path.slice(0, -1) : path;
}

/** `true` and `false`, in any case, and their digits. @throws NetplugError invalidConfig */
export function readFlag(env: Environment, name: string, otherwise: boolean): boolean {
  const text = readText(env, name);
  switch (text?.toLowerCase()) {
    case undefined:
      return otherwise;
    case "true":
    case "1":
      return true;
    case "false":
    case "0":
      return false;
    default:
      throw fault(name, text ?? "", '"true" or "false"');
  }
}

/** A whole number from 0 to `max`. @throws NetplugError invalidConfig */
export function readNumber(env: Environment, name: string, max: number): number | undefined {
  const text = readText(env, name);
  if (text === undefined) return undefined;
  const number = /^[0-9]{1,9}$/.test(text) ? Number(text) : Number.NaN;
  if (!(number <= max)) throw fault(name, text, `a whole number 0..${max}`);
  return number;
}

const UNIT_MS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000 };

/** `90s`, `5m`, `12h`; a bare number is seconds. @returns milliseconds, at least those of a second @throws NetplugError invalidConfig */
export function readDuration(env: Environment, name: string): number | undefined {
  const text = readText(env, name);
  if (text === undefined) return undefined;
  const [, digits = "0", unit = "s"] = /^([0-9]{1,6})([smh]?)$/.exec(text) ?? [];
  const ms = Number(digits) * (UNIT_MS[unit === "" ? "s" : unit] ?? 0);
  if (ms === 0) throw fault(name, text, 'a time such as "90s", "5m" or "12h"');
  return ms;
}

/** One of the values, in any case. @throws NetplugError invalidConfig */
export function readChoice<W extends string>(env: Environment, name: string, values: readonly W[]): W | undefined {
  const text = readText(env, name);
  if (text === undefined) return undefined;
  const found = values.find((value) => value.toLowerCase() === text.toLowerCase());
  if (found === undefined) throw fault(name, text, toChoice(values.map((value) => quote(value))));
  return found;
}

/** What is wrong with a variable. */
export function fault(name: string, got: string, want: string): NetplugError {
  return new NetplugError("invalidConfig", `read ${name}: got ${quote(got)}, want ${want}`);
}
