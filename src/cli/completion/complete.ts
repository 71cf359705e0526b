/** What may come next on a command line: asked by the shells' scripts as `__complete WORD… PARTIAL`. */

import { proposeCompletions } from "@stricli/core";
import { fileSettingsOf } from "../access/config-file.ts";
import { buildCli, commandOf, EARLY_OPTION } from "../grammar/app.ts";
import type { CliContext } from "../grammar/context.ts";
import { GLOBAL_OPTIONS, HELP_OPTION } from "../grammar/flags.ts";
import type { Cli } from "../io.ts";
import { proposalsOf } from "./proposals.ts";
import { parseCommandLine, splitFlag } from "../grammar/command-line.ts";

/** A word of a command line, and what is said about it. */
interface Proposal {
  readonly completion: string;
  readonly brief: string;
}

/**
 * Proposals, one a line: the word, a tab, what it is. Whatever goes wrong gives none.
 *
 * @param argv the words so far without the program, the one that is being written last
 */
export async function complete(
  argv: readonly string[],
  { io, program }: Pick<Cli, "io" | "program">,
  context: Omit<CliContext, "cli" | "propose">,
): Promise<string> {
  try {
    const { before, partial, attached } = splitPartial(argv);
    const { options, words: given } = parseCommandLine(before);
    const isHelpWanted = given.at(-1) === `-${HELP_OPTION.letter}`;
    const words = isHelpWanted ? given.slice(0, -1) : withCommandOfEarly(given);
    const command = commandOf(words);
    // Behind `help` come commands alone.
    if (isHelpWanted && !command.isGroup) return "";
    const silent = { ...io, stderr: { isTerminal: false, write: () => undefined, drained: async () => true } };
    const settingsOfFile = fileSettingsOf(silent, options.config);
    const cli: Cli = { io: silent, options, program, role: "netplug-view", settingsOfFile };
    const propose = proposalsOf(cli, words);
    const proposals: readonly Proposal[] = await proposeCompletions(buildCli("netplugctl", command), [...words, partial], {
      ...context,
      cli,
      propose,
    });
    const isFlag = partial.startsWith("-");
    const globals = isFlag && attached === "" ? GLOBAL_OPTIONS.map(({ name, brief }) => ({ completion: `--${name}`, brief })) : [];
    return [...proposals, ...globals.filter(({ completion }) => completion.startsWith(partial))]
      .filter(({ completion }) => completion.startsWith("-") === isFlag)
      .map(({ completion, brief }) => `${attached}${completion}\t${brief}\n`)
      .join("");
  } catch {
    return "";
  }
}

/** A namespace that stands before a command which is not named yet is passed over; one that is being written is proposed as of a command that takes one. */
function withCommandOfEarly(words: readonly string[]): readonly string[] {
  const { words: named, isGroup } = commandOf(words);
  const [first = "", ...rest] = words.slice(named.length);
  if (!isGroup || !EARLY_OPTION.test(first)) return words;
  if (rest.length === 0 && !first.includes("=")) return ["get", first];
  return [...named, ...(first.includes("=") ? rest : rest.slice(1))];
}

/** The last word apart from the flag that it is attached to: `--output=j` and `-oj` ask for a value `j`. */
function splitPartial(argv: readonly string[]): {
  readonly before: readonly string[];
  readonly partial: string;
  readonly attached: string;
} {
  const word = argv.at(-1) ?? "";
  const before = argv.slice(0, -1);
  const { letters, flag, attached: value } = splitFlag(word);
  if (flag === undefined || value === undefined) return { before, partial: word, attached: "" };
  const flags = letters === undefined ? [flag] : [letters, flag];
  return { before: [...before, ...flags], partial: value, attached: word.slice(0, word.length - value.length) };
}
