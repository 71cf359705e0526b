/** `CNI_ARGS` of a DEL whose ADD they ended: what such an ADD asked for, the DEL does not need. Loaded only where something is wrong with them. */

import { type CniArgs, readCniArgs } from "./cni-args.ts";
import type { CniEnvironment } from "./environment.ts";
import type { NetplugError } from "../../lib/errors.ts";

/** Reads them without address and MAC address. @returns also an environment without these, for a delegate */
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
