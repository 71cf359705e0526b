/** Brings the command line into the form that the parser of commands understands. */

import { UsageError } from "../failures/failure.ts";
import type { GlobalOptions } from "../io.ts";

/** The options that count for every command, and what is left for the parser of commands. */
interface CommandLine {
  readonly options: GlobalOptions;
  /** The rest, with values split from their short flags, and empty ones from any: `-ojson` becomes `-o json`, and `-Ao json` `-A -o json`. */
  readonly words: readonly string[];
}

const GLOBAL_FLAGS: ReadonlyMap<string, keyof GlobalOptions> = new Map([
  ["--config", "config"],
  ["-c", "config"],
  ["--kubeconfig", "kubeconfig"],
  ["--context", "context"],
]);

/** Flags whose value is the next word, which must not be taken for a flag. */
export const VALUE_FLAGS: ReadonlySet<string> = new Set(
  "-o -f -n -p -l --output --filename --namespace --patch --selector --type".split(" "),
);

/**
 * Takes out the options that may be given anywhere, up to a `--`.
 *
 * @throws {UsageError} an option without its value, or twice
 */
export function parseCommandLine(given: readonly string[]): CommandLine {
  const argv = [...given];
  const options: { config?: string; kubeconfig?: string; context?: string } = {};
  const words: string[] = [];
  const early: string[] = [];
  for (let i = 0; i < argv.length; i++) {
    // As with kubectl, `-Ao wide`; the parser of commands takes letters together only where none has a value.
    const [, without, last] = /^(-[Aw]+)([cflnop].*)$/s.exec(argv[i] ?? "") ?? [];
    if (without !== undefined) argv.splice(i, 1, without, `-${last}`);
    const word = argv[i] ?? "";
    if (word === "--") return { options, words: [...words, ...early, ...argv.slice(i)] };
    const [flag, attached] = splitFlag(word);
    const option = GLOBAL_FLAGS.get(flag);
    if (option !== undefined) {
      const value = attached ?? argv[++i];
      if (value === undefined || value === "") throw new UsageError(`read option "${flag}": its value is missing`);
      if (options[option] !== undefined) throw new UsageError(`read option "${flag}": got it twice, want it once`);
      options[option] = value;
      continue;
    }
    // The parser of commands takes `--flag=` with nothing behind it for an argument: as a name, `--namespace=` would choose another namespace.
    const isSplit = attached !== undefined && (attached === "" || /^-[flnop]$/.test(flag));
    const flagWords = isSplit ? [flag, attached] : [word];
    const next = argv[i + 1];
    if (VALUE_FLAGS.has(word) && next !== undefined) {
      flagWords.push(next);
      i++;
    }
    // As with kubectl, the namespace may come before the command.
    if (words.length === 0 && /^(-n|--namespace)$/.test(flag)) early.push(...flagWords);
    else words.push(...flagWords);
  }
  return { options, words: [...words, ...early] };
}

/** A flag and the value that is attached to it: `--a=b`, `-a=b`, `-ab`. */
export function splitFlag(word: string): readonly [string, string?] {
  const long = /^(--[a-z0-9-]+)=(.*)$/s.exec(word);
  if (long !== null) return [long[1] ?? "", long[2] ?? ""];
  const short = /^(-[cflnop])(?:=(.*)|(.+))$/s.exec(word);
  return short === null ? [word] : [short[1] ?? "", short[2] ?? short[3] ?? ""];
}
