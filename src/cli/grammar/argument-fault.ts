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
import { UsageError } from "../failures/failure.ts";

/** What a message about a command line may propose. */
export interface NamedCommand {
  /** The words at the beginning that name a command. */
  readonly words: readonly string[];
  /** The options that it has, in kebab case. */
  readonly flags: readonly string[];
  /** The letters that some of them have. */
  readonly letters: readonly string[];
}

/**
 * Why the command line was not understood, in one line. Classes are told apart by themselves: bundling changes their names.
 *
 * @param command the one that is called
 */
export function toArgumentFault(thrown: unknown, command: NamedCommand): string {
  if (thrown instanceof ArgumentParseError)
    return `read ${toArgumentName(thrown.externalFlagNameOrPlaceholder)}: ${messageOf(thrown.exception)}`;
  // The parser compares with the names in camel case, which are farther from what people type.
  if (thrown instanceof FlagNotFoundError)
    return toNoOption(
      `--${thrown.input}`,
      optionMeantBy(thrown.input, command) ?? thrown.corrections.map((one) => `--${toKebab(one)}`).join(" or "),
    );
  const fault = thrown instanceof UnexpectedPositionalError ? toStrayOption(thrown.input, command) : undefined;
  if (fault !== undefined) return fault;
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

/**
 * Checks what the parser took for arguments, before they are taken for names of objects.
 *
 * @param given those arguments
 * @param words all of the command line; what stands behind `--` is an argument whatever it begins with
 * @throws {UsageError} an option that there is not
 */
export function requireArguments(given: readonly unknown[], words: readonly string[], command: NamedCommand): void {
  const dashes = words.indexOf("--");
  const escaped = dashes < 0 ? 0 : words.length - dashes - 1;
  for (const word of given.slice(0, given.length - escaped)) {
    const fault = typeof word === "string" ? toStrayOption(word, command) : undefined;
    if (fault !== undefined) throw new UsageError(fault);
  }
}

/** To the parser what has one letter behind two dashes is no option, nor what begins with anything but a letter. */
function toStrayOption(word: string, command: NamedCommand): string | undefined {
  const [, option, name = ""] = /^(-+([^-=][^=]*))/.exec(word) ?? [];
  return option === undefined ? undefined : toNoOption(option, optionMeantBy(name, command));
}

function toNoOption(option: string, meant = ""): string {
  return `read option ${quote(option)}: there is none${meant === "" ? "" : `, did you mean ${meant}?`}`;
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
