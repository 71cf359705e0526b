/** What ties a command's data to its implementation. */

import type { CommandContext } from "@stricli/core";
import type { Kind } from "../api/resource.ts";
import type { Cli } from "./io.ts";

/** What every command runs in. */
export interface CliContext extends CommandContext {
  readonly cli: Cli;
  /** Takes the exit status. */
  finish(status: number): void;
  /** Takes what a command threw. */
  fail(thrown: unknown): void;
  /** Names of objects that the words so far ask for; for completion. */
  proposeNames(partial: string): Promise<readonly string[]>;
  /** Names of all objects of a kind that has no namespaces; for completion. */
  proposeNamesOf(kind: Kind): Promise<readonly string[]>;
  /** Labels of objects of the kind that the words so far name; for completion. */
  proposeLabels(partial: string): Promise<readonly string[]>;
  /** Completions of a namespace. */
  proposeNamespaces(): Promise<readonly string[]>;
  /** Names of pods of the namespace that the words so far give; for completion. */
  proposePods(partial: string): Promise<readonly string[]>;
}

/** For commands that have none. */
export type NoFlags = object;

type Implementation<F, A extends readonly unknown[]> = (cli: Cli, flags: F, ...args: A) => Promise<number>;

/** Loads an implementation when its command runs, and hands it what it needs. */
export function runs<F, A extends readonly unknown[]>(load: () => Promise<Implementation<F, A>>) {
  return async () => {
    const implementation = await load();
    return async function run(this: CliContext, given: F, ...args: A): Promise<void> {
      try {
        this.finish(await implementation(this.cli, given, ...args));
      } catch (thrown) {
        this.fail(thrown);
      }
    };
  };
}
