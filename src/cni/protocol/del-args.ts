/** `CNI_ARGS` in which something is wrong, as a DEL reads them: it does not need the addresses that an ADD asks for. Loaded only for such ones. */

import { type CniArgs, readCniArgs } from "./cni-args.ts";
import type { CniEnvironment } from "./environment.ts";
import type { NetplugError } from "../../lib/errors.ts";

/** Leaves out `IP` and `MAC`. @returns also an environment without these, for a delegate */
export function readDelArgs(given: CniEnvironment): {
  readonly environment: CniEnvironment;
  readonly args: CniArgs;
  readonly argsFault: NetplugError | undefined;
} {
  const pieces = given.args.split(";").filter((piece) => !/^(?:IP|MAC)=[^=]*$/.test(piece));
  const environment = { ...given, args: pieces.join(";") };
  const { args, fault } = readCniArgs(environment);
  return { environment, args, argsFault: fault };
}
