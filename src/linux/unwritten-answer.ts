/** The end of a call whose answer could not be written. */

import { messageOf } from "../lib/errors.ts";
import { KernelError } from "./kernel-error.ts";
import { endProcess } from "./standard-streams.ts";

/** What the caller was to get. */
export interface Unwritten {
  readonly answer: string;
  /** The exit status that goes with it. */
  readonly status: number;
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
