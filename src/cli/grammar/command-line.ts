/** Brings the command line into the form that the parser of commands understands. */

import { UsageError } from "../failures/failure.ts";
import type { GlobalOptions } from "../io.ts";
import { optionsOfAllCommands } from "./app.ts";
import { GLOBAL_OPTIONS } from "./flags.ts";

/** The options that count for every command, and what is left for the parser of commands. */
interface CommandLine {
  readonly options: GlobalOptions;
  /**
   * The rest, with each value apart from its option: `-ojson` becomes `-o json`, and `-Ao json` `-A -o json`. Only a value that begins with a dash is
   * attached: `-o -x` becomes `-o=-x`. So is what an option without a value is given: `-Aw=false` becomes `-A -w=false`. What asks for help stands
   * alone: `-hA` becomes `-A -h`.
   */
  readonly words: readonly string[];
  /** Of these words the ones that stand where an option does, and that the parser takes for arguments: `--f`, `-1`. */
  readonly strays: readonly string[];
}

const GLOBAL_FLAGS: ReadonlyMap<string, keyof GlobalOptions> = new Map(
  GLOBAL_OPTIONS.flatMap(({ name, letter }) => [
    [`--${name}`, name] as const,
    ...(letter === undefined ? [] : [[`-${letter}`, name] as const]),
  ]),
);

/** What the parser of commands takes for an option; if there is none of that name, it says so. */
const OPTION = /^-([a-z]+|[a-z]=.+|-[a-z][a-z\d._-]+(=.+)?)$/i;

const { withValue, withoutValue } = optionsOfAllCommands();

/** Options that have a value. */
export const VALUE_FLAGS: ReadonlySet<string> = withValue;

const LETTERS_WITHOUT_VALUE = lettersOf(withoutValue);

const HELP = "h";

/** As with kubectl; the parser of commands knows it without a value only. */
const ASKED_HELP = new RegExp(`^(-[${LETTERS_WITHOUT_VALUE}${HELP}]*${HELP}|--help)=(?:true|True|TRUE)$`);

/** Letters together, as with kubectl: the last one has a value, which may be attached. */
const LETTERS = new RegExp(
  `^-([${LETTERS_WITHOUT_VALUE}${HELP}]*)([${lettersOf([...withValue, ...GLOBAL_FLAGS.keys()])}])(?:=(.*)|(.+))?$`,
  "s",
);

/** Letters together of which none has a value; the last one may say true or false. */
const LETTERS_ONLY = new RegExp(`^-([${LETTERS_WITHOUT_VALUE}${HELP}]+)([${LETTERS_WITHOUT_VALUE}]=.*)?$`, "s");

function lettersOf(options: Iterable<string>): string {
  return [...options].flatMap((option) => /^-(\w)$/.exec(option)?.[1] ?? []).join("");
}

/**
 * Takes out the options that may be given anywhere, up to a `--`.
 *
 * @throws {UsageError} an option without its value, or twice
 */
export function parseCommandLine(argv: readonly string[]): CommandLine {
  const options: { config?: string; kubeconfig?: string; context?: string } = {};
  const words: string[] = [];
  const early: string[] = [];
  const strays: string[] = [];
  for (let i = 0; i < argv.length; i++) {
    const word = (argv[i] ?? "").replace(ASKED_HELP, "$1");
    if (word === "--") return { options, words: [...words, ...early, ...argv.slice(i)], strays };
    const { letters, flag, attached } = splitFlag(word);
    if (letters !== undefined) words.push(...takeApart(letters));
    if (flag === undefined) {
      const parts = takeApart(word);
      words.push(...parts);
      strays.push(...parts.filter((part) => /^-./s.test(part) && !OPTION.test(part)));
      continue;
    }
    const value = attached ?? argv[++i];
    const option = GLOBAL_FLAGS.get(flag);
    if (option !== undefined) {
      if (value === undefined || value === "") throw new UsageError(`read option "${flag}": its value is missing`);
      if (options[option] !== undefined) throw new UsageError(`read option "${flag}": got it twice, want it once`);
      options[option] = value;
      continue;
    }
    const flagWords = value === undefined ? [flag] : toFlagWords(flag, value);
    // As with kubectl, the namespace may come before the command.
    if (words.length === 0 && /^(-n|--namespace)$/.test(flag)) early.push(...flagWords);
    else words.push(...flagWords);
  }
  return { options, words: [...words, ...early], strays };
}

/** The parser of commands knows only apart from other letters what asks for help, and a letter that says true or false. */
function takeApart(word: string): readonly string[] {
  const [, letters, last] = LETTERS_ONLY.exec(word) ?? [];
  if (letters === undefined) return [word];
  const others = letters.replaceAll(HELP, "");
  return [others, others === letters ? "" : HELP, last ?? ""].filter((part) => part !== "").map((part) => `-${part}`);
}

/** The parser of commands takes a value that begins with a dash for an option, unless it is attached. One of several lines it takes only unattached. */
function toFlagWords(flag: string, value: string): readonly string[] {
  return /^-.+$/.test(value) ? [`${flag}=${value}`] : [flag, value];
}

/** An option that has a value, and what is written in one word with it: `--a=b`, `-a=b`, `-ab`, `-Aa`. */
interface SplitFlag {
  /** What stands before it, and has no value. */
  readonly letters?: string | undefined;
  readonly flag?: string;
  readonly attached?: string | undefined;
}

/** Takes a word apart in which there is an option that has a value. */
export function splitFlag(word: string): SplitFlag {
  const [, long = "", longValue] = /^(--[a-z0-9-]+)(?:=(.*))?$/is.exec(word) ?? [];
  if (VALUE_FLAGS.has(long) || GLOBAL_FLAGS.has(long)) return { flag: long, attached: longValue };
  const [, before, last, equalled, attached = equalled] = LETTERS.exec(word) ?? [];
  if (last === undefined) return {};
  return { letters: before === "" ? undefined : `-${before}`, flag: `-${last}`, attached };
}
