/** Commands that are proposed to a person. */

import type { Cli } from "./io.ts";

/** What the program was called as, and with which options: a command that helps must reach the same datastore. */
export type Call = Pick<Cli, "program" | "options">;

/** A command line for the shell, such as `netplugctl --context blue init`. @param command without the program's name */
export function toCommandLine({ program, options }: Call, command: string): string {
  const given = (["config", "kubeconfig", "context"] as const).flatMap((name) => {
    const value = options[name];
    return value === undefined ? [] : [`--${name}`, toWord(value)];
  });
  return [program, ...given, command].join(" ");
}

/** One word of a shell's command line. */
function toWord(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
