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
    if (value === undefined) return [];
    return [`--${name}`, name === "context" ? toWord(value) : name === "config" && value === "-" ? "FILE" : toFileWord(value)];
  });
  return [program, ...given, command].join(" ");
}

/** Names under which only the process itself finds a file: stdin, and what a shell's `<(command)` gives. A file may be called `-`. */
const OF_THIS_PROCESS = /(?<=^|:)(?:\/dev\/stdin|\/(?:dev|proc\/self)\/fd\/\d+)(?=:|$)/g;

/** A file, or several with colons between them, as one word of a shell's command line; `FILE` where another process would not find it. */
export function toFileWord(paths: string): string {
  return toWord(paths.replaceAll(OF_THIS_PROCESS, "FILE"));
}

/** One word of a shell's command line. */
export function toWord(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
