/** Brings the command line into the form that the parser of commands understands. */

import { looseBooleanParser } from "@stricli/core";
import { quote } from "../../lib/quote.ts";
import { UsageError } from "../failures/failure.ts";
import type { GlobalOptions } from "../io.ts";
import { commandOf, optionsOfAllCommands } from "./app.ts";
import { GLOBAL_OPTIONS, HELP_OPTION } from "./flags.ts";

/** The options that count for every command, and what is left for the parser of commands. */
interface CommandLine {
  readonly options: GlobalOptions;
  /**
   * The rest, with each value apart from its option: `-ojson` becomes `-o json`, and `-Ao json` `-A -o json`. Only a value that begins with a dash is
   * attached: `-o -x` becomes `-o=-x`. So is what an option without a value is given: `-Aw=false` becomes `-A -w=false`.
   *
   * Where help is asked for, it is that of the command before, and whatever else is on the line is left out: of `ipam -o json show -h` all but
   * `ipam show -h`. What says that none is wanted, `-h=false`, is left out, too. Of several the last one counts, as with kubectl.
   *
   * `help` in the place of a command asks for help, too, with the command that follows it: `help ipam show`, `ipam help`.
   */
  readonly words: readonly string[];
  /** Of these words the ones that stand where an option does, and that the parser takes for arguments, or misunderstands: `--f`, `-1`, `-h=maybe`, `-file`. */
  readonly strays: readonly string[];
}

/** A namespace that stands before the command. */
interface EarlyOption {
  readonly flag: string;
  readonly value: string;
  /** The commands before it: none, or a group of them. */
  readonly group: readonly string[];
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

const HELP_WITH_VALUE = new RegExp(`^(?:-${HELP}|--${HELP_NAME})(?:=(.+))?$`, "s");

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
  const early: EarlyOption[] = [];
  const strays: string[] = [];
  /** The last one, where its value is missing: only completion is still to ask for it. */
  const unfinished: string[] = [];
  const faults: UsageError[] = [];
  let rest: readonly string[] = [];
  for (let i = 0; i < argv.length; i++) {
    const word = argv[i] ?? "";
    if (word === "--") {
      rest = argv.slice(i);
      break;
    }
    if (isLongWithOneDash(word)) {
      words.push(word);
      strays.push(word);
      continue;
    }
    const { letters, flag, attached } = splitFlag(word);
    if (letters !== undefined) words.push(...takeApart(letters));
    if (flag === undefined) {
      const parts = takeApart(word);
      words.push(...parts);
      strays.push(...parts.filter(isStray));
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
    // As with kubectl, the namespace may come before the command, or in it: `ipam -n shop explain`.
    if (value === undefined) unfinished.push(flag);
    else if (/^(-n|--namespace)$/.test(flag) && isCommandToCome(words)) early.push({ flag, value, group: commandOf(words).words });
    else words.push(...toFlagWords(flag, value));
  }
  const asking = withoutHelpCommand(words);
  const isHelpWanted = asking.flatMap((word) => readHelp(word) ?? []).at(-1);
  const { words: group, isGroup } = commandOf(asking);
  const taken = isGroup ? early.findLast((option) => option.group.length === group.length && isInPlaceOfCommand(option)) : undefined;
  if (isHelpWanted === true) {
    const named = taken === undefined ? asking : asking.toSpliced(group.length, 0, taken.value);
    return { options, words: [...askedAbout(named), `-${HELP}`], strays: [] };
  }
  if (taken !== undefined && words.slice(group.length).some((word) => !isOption(word)))
    faults.push(new UsageError(`read option ${quote(taken.flag)}: got the command ${quote(taken.value)}, want a namespace before it`));
  const [fault] = faults;
  if (fault !== undefined) throw fault;
  const behind = early.flatMap(({ flag, value }) => toFlagWords(flag, value));
  return { options, words: [...words.filter((word) => readHelp(word) === undefined), ...behind, ...unfinished, ...rest], strays };
}

/** Whether its value is one, as in `-n ipam show`, or one of the group before it, as in `ipam -n show -o json`. */
function isInPlaceOfCommand({ group, value }: EarlyOption): boolean {
  return commandOf([...group, value]).words.length > group.length;
}

/** Whether nothing stands there but options, or a group of commands. */
function isCommandToCome(words: readonly string[]): boolean {
  const { words: named, isGroup } = commandOf(words);
  return words.every(isOption) || (isGroup && named.length === words.length);
}

/** The same with `-h` for each `help` that stands where a command does. */
function withoutHelpCommand(words: readonly string[]): readonly string[] {
  const { words: named, isGroup } = commandOf(words);
  if (!isGroup || words[named.length] !== HELP_NAME) return words;
  return withoutHelpCommand([...named, ...words.slice(named.length + 1), `-${HELP}`]);
}

/**
 * What help is wanted of: the command that is named before the word that asks for it, whatever options are between. Where that is no more than the words
 * before the first option say, all of these: one among them that names no command is told.
 */
function askedAbout(words: readonly string[]): readonly string[] {
  const others = words.filter((word) => readHelp(word) !== false);
  const first = others.slice(0, others.findIndex(isOption));
  const before = others.slice(
    0,
    others.findLastIndex((word) => readHelp(word) === true),
  );
  // A value that begins with a dash is attached.
  const { words: named } = commandOf(before.filter((word, at) => !isOption(word) && !VALUE_FLAGS.has(before[at - 1] ?? "")));
  return named.length > first.length ? named : first;
}

/** To the parser of commands, letters that ask for help, or that say true or false, stand apart from others. */
function takeApart(word: string): readonly string[] {
  const [, letters = "", rest = ""] = LETTERS_AND_REST.exec(word) ?? [];
  const others = letters.replaceAll(HELP, "");
  const asksForHelp = others !== letters;
  if (!asksForHelp && rest[1] !== "=") return [word];
  return [`-${others}`, asksForHelp ? `-${HELP}` : "-", `-${rest}`].filter((part) => part !== "-");
}

/** Whether help is wanted. @returns undefined for a word that does not say so */
function readHelp(word: string): boolean | undefined {
  const [asked, said = "true"] = HELP_WITH_VALUE.exec(word) ?? [];
  if (asked === undefined) return undefined;
  try {
    return looseBooleanParser(said);
  } catch {
    return undefined;
  }
}

function isOption(word: string): boolean {
  return /^-./s.test(word);
}

/** `-namespace shop` would otherwise be the namespace `amespace`, and an argument `shop`. */
function isLongWithOneDash(word: string): boolean {
  const [, name = ""] = /^-([a-z-]+)/i.exec(word) ?? [];
  return [VALUE_FLAGS, withoutValue, GLOBAL_FLAGS].some((options) => options.has(`--${name}`));
}

/** Whether the parser of commands takes it for an argument although it stands where an option does, or misunderstands it. */
function isStray(word: string): boolean {
  return isOption(word) && readHelp(word) === undefined && (!OPTION.test(word) || HELP_WITH_VALUE.test(word));
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
