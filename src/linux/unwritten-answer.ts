/** The end of a call whose answer could not be written. */

import { messageOf } from "../lib/errors.ts";
import { KernelError } from "../linux/kernel-error.ts";
import { endProcess } from "../linux/standard-streams.ts";
import type { PluginName } from "./call.ts";

/**
 * Ends the process as failed.
 *
 * @param thrown what writing the answer threw
 * @returns the exit status when the C library cannot be loaded, as the answer says
 */
export function failUnwritten(thrown: unknown, plugin: PluginName, answer: string): number {
  if (thrown instanceof KernelError) {
    console.error(`${plugin}: write answer: ${messageOf(thrown)}`);
    return endProcess(1);
  }
  // Without the C library only Bun's own stream can print.
  console.log(answer);
  return 1;
}
