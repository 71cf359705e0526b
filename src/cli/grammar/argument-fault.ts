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
import { toChoice } from "../../lib/choice.ts";
import { messageOf } from "../../lib/errors.ts";
import { nearestName } from "../../lib/nearest.ts";
import { quote } from "../../lib/quote.ts";

/** What a message about a command line may propose. */
export interface NamedCommand {
  /** The words at the beginning that name a command. */
  readonly words: readonly string[];
  /** Whether these words want another one behind them. */
  readonly isGroup: boolean;
  /** The options that it may have, in kebab case. */
  readonly flags: readonly string[];
  /** Those of them that have no value. */
  readonly flagsWithoutValue: readonly string[];
  /** The letters that some of them have. */
  readonly letters: readonly string[];
}

/**
 * Why the command line was not understood, in one line. Classes are told apart by themselves: bundling changes their names.
 *
 * @param command the one that is called
 */
export function toArgumentFault(thrown: unknown, command: NamedCommand): string {
  if (thrown instanceof ArgumentParseError) {
    const name = thrown.externalFlagNameOrPlaceholder;
    // An option without a value is read by the parser of commands itself, whose message shows control characters as they are.
    const reason = command.flagsWithoutValue.includes(name) ? toNoBoolean(thrown.input) : messageOf(thrown.exception);
    return `read ${toArgumentName(name)}: ${reason}`;
  }
  // The parser compares with the names in camel case, which are farther from what people type.
  if (thrown instanceof FlagNotFoundError)
    return toNoOption(
      `--${thrown.input}`,
      optionMeantBy(thrown.input, command) ?? toChoice(thrown.corrections.map((one) => `--${toKebab(one)}`)),
    );
  if (thrown instanceof AliasNotFoundError) return `read option ${quote(`-${thrown.input}`)}: there is none`;
  if (thrown instanceof EnumValidationError)
    return `read option "--${thrown.externalFlagName}": got ${quote(thrown.input)}, want ${toChoice(thrown.values)}`;
  if (thrown instanceof UnsatisfiedFlagError) return `read option "--${thrown.externalFlagName}": got none, want it with a value`;
  if (thrown instanceof UnexpectedPositionalError)
    return `read arguments: got ${quote(thrown.input)}, want ${thrown.expectedCount === 0 ? "options only" : `no more than ${thrown.expectedCount}`}`;
  if (thrown instanceof UnsatisfiedPositionalError) return `read arguments: ${thrown.placeholder} is missing`;
  if (thrown instanceof UnexpectedFlagError) return `read option "--${thrown.externalFlagName}": got it twice, want it once`;
  if (thrown instanceof InvalidNegatedFlagSyntaxError) return `read option "--${thrown.externalFlagName}": want no value`;
  return messageOf(thrown);
}

/** Why a word is refused that stands where an option does. @param missing what is said of one that there is not */
export function toStrayFault(word: string, command: NamedCommand, missing?: string): string {
  const [option = "", name = ""] = /^-+([^=]*)/.exec(word) ?? [];
  const isThere = command.flags.some((flag) => option === `--${flag}`) || command.letters.some((letter) => option === `-${letter}`);
  // One that has a value is none of these words.
  if (isThere) return `read option ${quote(option)}: ${toNoBoolean(word.slice(option.length + 1))}`;
  return toNoOption(option, optionMeantBy(name, command), missing);
}

function toNoBoolean(value: string): string {
  return `got ${quote(value)}, want true or false`;
}

function toNoOption(option: string, meant = "", missing = "there is none"): string {
  return `read option ${quote(option)}: ${missing}${meant === "" ? "" : `, did you mean ${meant}?`}`;
}

/** The one that is misspelt by a letter, the only one that begins so, or the one that has this letter. */
function optionMeantBy(name: string, { flags, letters }: NamedCommand): string | undefined {
  const near = nearestName(name, flags);
  const beginning = flags.filter((flag) => flag.startsWith(name));
  const meant = near ?? (beginning.length === 1 ? beginning[0] : undefined);
  if (meant !== undefined) return `--${meant}`;
  return letters.includes(name) ? `-${name}` : undefined;
}

/** Options are kept in camel case and written in kebab case. */
export function toKebab(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}

function toArgumentName(name: string): string {
  return /^[a-z]/.test(name) ? `option "--${name}"` : name;
}
