/** What the parser of commands says, in our words. */

import {
  AliasNotFoundError,
  ArgumentParseError,
  EnumValidationError,
  FlagNotFoundError,
  InvalidNegatedFlagSyntaxError,
  UnexpectedFlagError,
  UnexpectedPositionalError,
  UnsatisfiedFlagError,
  UnsatisfiedPositionalError,
} from "@stricli/core";
import { messageOf } from "../../lib/errors.ts";
import { nearestName } from "../../lib/nearest.ts";
import { quote } from "../../lib/quote.ts";

/**
 * Why the command line was not understood, in one line. Classes are told apart by themselves: bundling changes their names.
 *
 * @param flags those that the command has, in kebab case
 */
export function toArgumentFault(thrown: unknown, flags: readonly string[]): string {
  if (thrown instanceof ArgumentParseError)
    return `read ${toArgumentName(thrown.externalFlagNameOrPlaceholder)}: ${messageOf(thrown.exception)}`;
  // The parser compares with the names in camel case, which are farther from what people type.
  if (thrown instanceof FlagNotFoundError)
    return toNoOption(thrown.input, flagMeantBy(thrown.input, flags) ?? thrown.corrections.map((one) => `--${toKebab(one)}`).join(" or "));
  // To the parser one letter is no name of an option.
  const [, word] = (thrown instanceof UnexpectedPositionalError && /^--([^=]+)/.exec(thrown.input)) || [];
  if (word !== undefined) return toNoOption(word, flagMeantBy(word, flags));
  if (thrown instanceof AliasNotFoundError) return `read option ${quote(`-${thrown.input}`)}: there is none`;
  if (thrown instanceof EnumValidationError)
    return `read option "--${thrown.externalFlagName}": got ${quote(thrown.input)}, want ${thrown.values.join(", ")}`;
  if (thrown instanceof UnsatisfiedFlagError) return `read option "--${thrown.externalFlagName}": got none, want it with a value`;
  if (thrown instanceof UnexpectedPositionalError)
    return `read arguments: got ${quote(thrown.input)}, want ${thrown.expectedCount === 0 ? "options only" : `no more than ${thrown.expectedCount}`}`;
  if (thrown instanceof UnsatisfiedPositionalError) return `read arguments: ${thrown.placeholder} is missing`;
  if (thrown instanceof UnexpectedFlagError) return `read option "--${thrown.externalFlagName}": got it twice, want it once`;
  if (thrown instanceof InvalidNegatedFlagSyntaxError) return `read option "--${thrown.externalFlagName}": want no value`;
  return messageOf(thrown);
}

function toNoOption(word: string, meant = ""): string {
  return `read option ${quote(`--${word}`)}: there is none${meant === "" ? "" : `, did you mean ${meant}?`}`;
}

/** The flag that is misspelt by a letter, or the only one that begins so. */
function flagMeantBy(word: string, flags: readonly string[]): string | undefined {
  const near = nearestName(word, flags);
  const beginning = flags.filter((flag) => flag.startsWith(word));
  const meant = near ?? (beginning.length === 1 ? beginning[0] : undefined);
  return meant === undefined ? undefined : `--${meant}`;
}

/** Options are kept in camel case and written in kebab case. */
export function toKebab(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}

function toArgumentName(name: string): string {
  return /^[a-z]/.test(name) ? `option "--${name}"` : name;
}
