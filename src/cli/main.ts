/** One call of netplugctl, from arguments to exit status. */

import { run } from "@stricli/core";
import { VERSION } from "../lib/version.ts";
import { fileSettingsOf } from "./access/config-file.ts";
import { buildCli, commandOf } from "./grammar/app.ts";
import { toStrayFault } from "./grammar/argument-fault.ts";
import { type CliContext, NO_PROPOSALS } from "./grammar/context.ts";
import { EXIT, statusOf, toFailureText, UsageError, usageErrorIn } from "./failures/failure.ts";
import { type Invocation, toCommandLine } from "./failures/suggested-commands.ts";
import type { CliIo, GlobalOptions, Output } from "./io.ts";
import { red } from "./output/table.ts";
import { withoutPipes, withPipesOnce } from "./streams/pipes-once.ts";
import { withProgress } from "./streams/progress.ts";
import { withStdinOnce } from "./streams/stdin-once.ts";
import { parseCommandLine } from "./grammar/command-line.ts";
import { commandMeantBy } from "./arguments/other-tools.ts";

/**
 * Runs one command.
 *
 * @param argv without the program's own name
 * @param program what a person types to call it, for messages
 * @returns 0 done, 1 refused or failed, 2 wrong usage; of `diff` 0 nothing to change, 1 something, 2 the rest
 */
export async function runCli(argv: readonly string[], givenIo: CliIo, program = "netplugctl"): Promise<number> {
  // Who completes a word is typing it.
  const io = argv[0] === "__complete" ? withoutPipes(givenIo) : withPipesOnce(withStdinOnce(withProgress(givenIo)));
  let command: readonly string[] = [];
  let options: GlobalOptions = {};
  const report = (failure: unknown): number => {
    const thrown = usageErrorIn(failure) ?? failure;
    const text = toFailureText(thrown, { program, options }, command);
    io.stderr.write(io.stderr.isTerminal ? text.replace(/^[^\n]*/, red) : text);
    return statusOf(thrown, command);
  };
  let status: number | undefined;
  const base = {
    process: { stdout: toStream(io.stdout), stderr: toStream(io.stderr), exitCode: null as number | string | null },
    finish: (ended: number): void => void (status = ended),
    fail: (thrown: unknown): void => void (status = report(thrown)),
  };
  if (argv[0] === "__complete") {
    const { complete } = await import("./completion/complete.ts");
    io.stdout.write(await complete(argv.slice(1), { io, program }, base));
    return EXIT.done;
  }
  let words: readonly string[];
  let strays: readonly string[];
  try {
    ({ options, words, strays } = parseCommandLine(argv));
  } catch (error) {
    if (error instanceof UsageError) return report(error);
    throw error;
  }
  if (words[0] === "--version") {
    io.stdout.write(`netplug ${VERSION}\n`);
    return EXIT.done;
  }
  const named = commandOf(words);
  command = named.words;
  const [stray] = strays;
  if (stray !== undefined && !named.isGroup) return report(new UsageError(toStrayFault(stray, named)));
  const context: CliContext = {
    ...base,
    propose: NO_PROPOSALS,
    cli: { io, options, program, settingsOfFile: fileSettingsOf(io, options.config) },
  };
  await run(buildCli(program, named), words, context);
  if (status !== undefined) return status;
  // Only help, and what the parser refused, end without a command that ran.
  if (base.process.exitCode === 0) return EXIT.done;
  io.stderr.write(`next: ${proposeNext(words, command, { program, options })}\n`);
  return EXIT.usage;
}

/** The exit status of a call that fails before its command runs, or after. */
export function failureStatusOf(argv: readonly string[]): number {
  try {
    return statusOf(undefined, commandOf(parseCommandLine(argv).words).words);
  } catch {
    return EXIT.usage;
  }
}

/** What to type instead of words that the parser refused. @param command those of them that name a command */
function proposeNext(words: readonly string[], command: readonly string[], invocation: Invocation): string {
  const meant = commandMeantBy(words.slice(0, command.length + 1), words.slice(command.length + 1));
  return meant === undefined ? [invocation.program, ...command, "--help"].join(" ") : toCommandLine(invocation, meant);
}

/** Colour depth as the parser of commands asks for it. */
function toStream(output: Output) {
  return { write: (text: string) => output.write(text), getColorDepth: () => (output.isTerminal ? 8 : 1) };
}
