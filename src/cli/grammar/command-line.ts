/** Brings the command line into the form that the parser of commands understands. */

import { looseBooleanParser } from "@stricli/core";
import { UsageError } from "../failures/failure.ts";
import type { GlobalOptions } from "../io.ts";
import { optionsOfAllCommands } from "./app.ts";
import { GLOBAL_OPTIONS, HELP_OPTION } from "./flags.ts";

/** The options that count for every command, and what is left for the parser of commands. */
interface CommandLine {
  readonly options: GlobalOptions;
  /**
   * The rest, with each value apart from its option: `-ojson` becomes `-o json`, and `-Ao json` `-A -o json`. Only a value that begins with a dash is
   * attached: `-o -x` becomes `-o=-x`. So is what an option without a value is given: `-Aw=false` becomes `-A -w=false`. What asks for help stands
   * alone: `-hA` becomes `-A -h`, and so does `-Ah=true`; what says that none is wanted, `-h=false`, is left out.
   */
  readonly words: readonly string[];
  /**
   * Of these words the ones that stand where an option does, and that the parser takes for arguments, or misunderstands: `--f`, `-1`, `-h=maybe`. None
   * where help is asked for: a command shows it whatever else is on its line.
   */
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

const { name: HELP_NAME, letter: HELP } = HELP_OPTION;

const ASKED_HELP: readonly string[] = [`-${HELP}`, `--${HELP_NAME}`];

/** To the parser of commands, help has no value. */
const HELP_WITH_VALUE = new RegExp(`^(-${HELP}|--${HELP_NAME})=(.+)$`, "s");

/** Letters together, as with kubectl: the last one has a value, which may be attached. */
const LETTERS = new RegExp(
  `^-([${LETTERS_WITHOUT_VALUE}${HELP}]*)([${lettersOf([...withValue, ...GLOBAL_FLAGS.keys()])}])(?:=(.*)|(.+))?$`,
  "s",
);

/** Letters together of which none has a value, and what may follow: one that says true or false, or something that is none of them. */
const LETTERS_AND_REST = new RegExp(`^-([${LETTERS_WITHOUT_VALUE}${HELP}]*?)(.=.*|[^=${LETTERS_WITHOUT_VALUE}${HELP}].*)?$`, "s");

function lettersOf(options: Iterable<string>): string {
  return [...options].flatMap((option) => /^-(\w)$/.exec(option)?.[1] ?? []).join("");
}

/**
 * Takes out the options that may be given anywhere, up to a `--`.
 *
 * @throws {UsageError} an option without its value, or twice, unless help is asked for
 */
export function parseCommandLine(argv: readonly string[]): CommandLine {
  const options: { config?: string; kubeconfig?: string; context?: string } = {};
  const words: string[] = [];
  const early: string[] = [];
  const strays: string[] = [];
  const faults: UsageError[] = [];
  let rest: readonly string[] = [];
  for (let i = 0; i < argv.length; i++) {
    const word = argv[i] ?? "";
    if (word === "--") {
      rest = argv.slice(i);
      break;
    }
    const { letters, flag, attached } = splitFlag(word);
    if (letters !== undefined) words.push(...takeApart(letters));
    if (flag === undefined) {
      const parts = takeApart(word);
      words.push(...parts);
      strays.push(...parts.filter((part) => /^-./s.test(part) && (!OPTION.test(part) || HELP_WITH_VALUE.test(part))));
      continue;
    }
    const value = attached ?? argv[++i];
    const option = GLOBAL_FLAGS.get(flag);
    if (option !== undefined) {
      if (value === undefined || value === "") faults.push(new UsageError(`read option "${flag}": its value is missing`));
      else if (options[option] !== undefined) faults.push(new UsageError(`read option "${flag}": got it twice, want it once`));
      else options[option] = value;
      continue;
    }
    const flagWords = value === undefined ? [flag] : toFlagWords(flag, value);
    // As with kubectl, the namespace may come before the command.
    if (words.length === 0 && /^(-n|--namespace)$/.test(flag)) early.push(...flagWords);
    else words.push(...flagWords);
  }
  const isHelpWanted = words.some((word) => ASKED_HELP.includes(word));
  const [fault] = faults;
  if (fault !== undefined && !isHelpWanted) throw fault;
  return { options, words: [...words, ...early, ...rest], strays: isHelpWanted ? [] : strays };
}

/** The parser of commands knows only apart from other letters what asks for help, and a letter that says true or false. */
function takeApart(word: string): readonly string[] {
  const [, letters = "", rest = ""] = LETTERS_AND_REST.exec(word) ?? [];
  const others = letters.replaceAll(HELP, "");
  const asksForHelp = others !== letters;
  if (!asksForHelp && rest[1] !== "=") return readHelp(word);
  const parts = [`-${others}`, asksForHelp ? `-${HELP}` : "-", ...readHelp(`-${rest}`)];
  return [...new Set(parts)].filter((part) => part !== "-");
}

/** What asks for help as the parser of commands knows it, and nothing of what says that none is wanted. Other words stay as they are. */
function readHelp(word: string): readonly string[] {
  const [, option, said = ""] = HELP_WITH_VALUE.exec(word) ?? [];
  if (option === undefined) return [word];
  try {
    return looseBooleanParser(said) ? [option] : [];
  } catch {
    return [word];
  }
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
