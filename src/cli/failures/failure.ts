/** How a command ends when it does not do what was asked. */

import { toProblemText, ValidationError } from "../../api/schema/problem.ts";
import { NetplugError, messageOf } from "../../lib/errors.ts";
import { toVisibleLines } from "../../lib/visible-text.ts";
import { type Invocation, toCommandLine } from "./suggested-commands.ts";

/** What `netplugctl` exits with; scripts rely on it. */
export const EXIT = {
  done: 0,
  /** Refused or failed. */
  failed: 1,
  /** Only of `diff`, which fails with {@link EXIT.usage} instead, as other programs of that name do. */
  different: 1,
  /** Wrong usage, an unknown kind among it. */
  usage: 2,
} as const;

/** The command line cannot be understood. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

/** What a failure says besides its message. */
interface CommandFailedOptions {
  /** The command that helps, without the program's name. */
  readonly next?: string;
  /** @default EXIT.failed */
  readonly status?: number;
}

/** The wrong usage behind a failure: whoever reads a file for us does not know that a command line named it wrongly. */
export function usageErrorIn(thrown: unknown): UsageError | undefined {
  if (thrown instanceof UsageError) return thrown;
  return thrown instanceof Error ? usageErrorIn(thrown.cause) : undefined;
}

/** What was asked for was refused or cannot be done. */
export class CommandFailed extends Error {
  override readonly name = "CommandFailed";
  readonly next: string | undefined;
  readonly status: number;

  constructor(message: string, { next, status = EXIT.failed }: CommandFailedOptions = {}) {
    super(message);
    this.next = next;
    this.status = status;
  }
}

/** What access to the datastore failed with, and what to try besides. */
export class AdvisedFailure extends NetplugError {
  override readonly name = "AdvisedFailure";
  /** A whole command line. */
  readonly next: string | undefined;

  constructor(failure: NetplugError, { text, next }: { readonly text: string; readonly next?: string }) {
    const { kind, message, retriable } = failure;
    super(kind, message, { cause: failure, details: [failure.details, text].filter(Boolean).join("\n  "), retriable });
    this.next = next;
  }
}

/** The exit status for whatever a command threw. @param command the words that name it */
export function statusOf(thrown: unknown, [command]: readonly string[] = []): number {
  if (command === "diff") return EXIT.usage;
  if (thrown instanceof CommandFailed) return thrown.status;
  return thrown instanceof UsageError ? EXIT.usage : EXIT.failed;
}

/** What stderr shows of a failure: what it was, and the next command to run where one helps. */
export function toFailureText(thrown: unknown, call: Invocation, command: readonly string[]): string {
  const problems = thrown instanceof ValidationError && thrown.problems.length > 1 ? thrown.problems : [];
  const lines = [`${call.program}: ${headlineOf(thrown)}`, ...problems.map((problem) => `  ${toProblemText(problem)}`)];
  if (thrown instanceof NetplugError && thrown.details !== undefined) lines.push(`  ${thrown.details}`);
  const next = nextOf(thrown, call, command);
  if (next !== undefined) lines.push(`next: ${next}`);
  return `${toVisibleLines(lines.join("\n"))}\n`;
}

function headlineOf(thrown: unknown): string {
  if (thrown instanceof ValidationError && thrown.problems.length > 1)
    return `validate ${thrown.object}: ${thrown.problems.length} problems`;
  // A defect of ours: the stack helps whoever repairs it.
  if (!(thrown instanceof Error) || isExpected(thrown)) return `${messageOf(thrown)}${toCodeText(thrown)}`;
  return `unexpected failure, please report it: ${thrown.stack ?? thrown.message}`;
}

/** The code of a failure that docs/errors.md says more about. */
function toCodeText(thrown: unknown): string {
  return thrown instanceof NetplugError && thrown.kind === "accessDenied" ? ` (code ${thrown.code})` : "";
}

function isExpected(error: Error): boolean {
  return error instanceof NetplugError || error instanceof ValidationError || error instanceof UsageError || error instanceof CommandFailed;
}

function nextOf(thrown: unknown, call: Invocation, command: readonly string[]): string | undefined {
  if (thrown instanceof UsageError) return [call.program, ...command, "--help"].join(" ");
  if (thrown instanceof AdvisedFailure) return thrown.next;
  const next = remedyOf(thrown, command);
  return next === undefined ? undefined : toCommandLine(call, next);
}

/** The command that helps, without the program's name. @param command the words that name the one that failed */
export function remedyOf(thrown: unknown, command: readonly string[] = []): string | undefined {
  if (thrown instanceof CommandFailed) return thrown.next;
  if (!(thrown instanceof NetplugError)) return undefined;
  if (thrown.kind === "notInitialised") return "init";
  return thrown.retriable && command[0] !== "version" ? "version" : undefined;
}
