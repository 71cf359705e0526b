/** The one answer of a process that lives for one call. */

import { messageOf } from "../lib/errors.ts";
import { KernelError } from "./kernel-error.ts";
import { endProcess, writeStdout } from "./standard-streams.ts";

/** The answer that could not be written. */
export interface Unwritten {
  readonly answer: string;
  /** The exit status that goes with it. */
  readonly status: number;
}

/**
 * Writes the answer of a call that has nothing else to do. Ends the process as failed where that cannot be done.
 *
 * @param program its name, for the message
 * @returns the exit status
 */
export function answerOrFail(answer: string, program: string): number {
  try {
    writeStdout(`${answer}\n`);
    return 0;
  } catch (thrown) {
    return failUnwritten(thrown, program, { answer, status: 0 });
  }
}

/**
 * Ends the process as failed.
 *
 * @param thrown what writing the answer threw
 * @param program its name, for the message
 * @returns the exit status when the C library cannot be loaded
 */
export function failUnwritten(thrown: unknown, program: string, { answer, status }: Unwritten): number {
  if (thrown instanceof KernelError) {
    console.error(`${program}: write answer: ${messageOf(thrown)}`);
    return endProcess(1);
  }
  // Without the C library only Bun's own stream can print.
  console.log(answer);
  return status;
}
