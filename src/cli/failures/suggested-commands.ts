/** Command lines that messages propose as the next step. */

import type { Cli } from "../io.ts";

/** The command that keeps everybody from giving addresses, for maintenance. */
export const LOCK = `patch clusterinformation default -p '{"spec":{"datastoreReady":false}}'`;
/** The command that lets them again. */
export const UNLOCK = `patch clusterinformation default -p '{"spec":{"datastoreReady":true}}'`;

/** How the program was called: the proposed command must reach the same datastore. */
export type Invocation = Pick<Cli, "program" | "options">;

/** A command line for the shell, such as `netplugctl --context blue init`. @param command without the program's name */
export function toCommandLine({ program, options }: Invocation, command: string): string {
  const given = (["config", "kubeconfig", "context"] as const).flatMap((name) => {
    const value = options[name];
    return value === undefined ? [] : [`--${name}`, toWord(value)];
  });
  return [program, ...given, command].join(" ");
}

/** One word of a shell's command line. */
export function toWord(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
