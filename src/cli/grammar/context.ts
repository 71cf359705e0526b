/** What ties a command's data to its implementation. */

import type { CommandContext } from "@stricli/core";
import type { Kind } from "../../api/resource.ts";
import type { Cli, Role } from "../io.ts";

/** What every command runs in. */
export interface CliContext extends CommandContext {
  readonly cli: Omit<Cli, "role">;
  /** Takes the exit status. */
  finish(status: number): void;
  /** Takes what a command threw. */
  fail(thrown: unknown): void;
  readonly propose: Proposals;
}

/** What may come next on a command line, as far as the datastore knows it: for completion. What is typed is the word that is being written. */
export interface Proposals {
  /** Objects that the words so far ask for; kinds while these name none. */
  objects(typed: string): Promise<readonly string[]>;
  /** Names of all objects of a kind that has no namespaces. */
  names(kind: Kind): Promise<readonly string[]>;
  /** Labels of objects of the kind that the words so far name. */
  labels(typed: string): Promise<readonly string[]>;
  namespaces(): Promise<readonly string[]>;
  /** Pods of the namespace that the words so far give. */
  pods(typed: string): Promise<readonly string[]>;
}

const nothing = async (): Promise<readonly string[]> => [];

/** For a command that runs. */
export const NO_PROPOSALS: Proposals = { objects: nothing, names: nothing, labels: nothing, namespaces: nothing, pods: nothing };

/** For commands that have none. */
export type NoFlags = object;

type Implementation<F, A extends readonly unknown[]> = (cli: Cli, flags: F, ...args: A) => Promise<number>;

/** Loads an implementation when its command runs, and hands it what it needs. */
export function runs<F, A extends readonly unknown[]>(load: () => Promise<Implementation<F, A>>, role: Role = "netplug-admin") {
  return async () => {
    const implementation = await load();
    return async function run(this: CliContext, given: F, ...args: A): Promise<void> {
      try {
        this.finish(await implementation({ ...this.cli, role }, given, ...args));
      } catch (thrown) {
        this.fail(thrown);
      }
    };
  };
}

/** As {@link runs}, for a command that only shows something, whatever its flags: the role for viewers permits all of it. */
export function shows<F, A extends readonly unknown[]>(load: () => Promise<Implementation<F, A>>) {
  return runs(load, "netplug-view");
}
