/** One CNI call from stdin to stdout: read, prepare, run, answer. */

import { startDeadline } from "../lib/deadline.ts";
import { NetplugError } from "../lib/errors.ts";
import { add } from "./add/add.ts";
import type { Datastore } from "../datastore/datastore.ts";
import { type Call, isMain, type PluginName } from "./call.ts";
import { parseNetworkConfig, type ParsedConfig } from "./config/parse-network-config.ts";
import { del } from "./del/del.ts";
import type { Host } from "./host.ts";
import { startLedger } from "./ledger.ts";
import { prepare } from "./prepare.ts";
import { readCniArgs } from "./protocol/cni-args.ts";
import { type CniEnvironment, readEnvironment } from "./protocol/environment.ts";
import { toResultDocument } from "./protocol/print-result.ts";
import type { CniResult } from "./protocol/result.ts";
import type { CniVerb } from "./protocol/versions.ts";

/**
 * Milliseconds that each verb has, besides the policy wait. With undoing a failed ADD, and the start of the process, an ADD ends within
 * 60 s and a DEL within 20 s.
 */
const DEADLINE_MS: Readonly<Record<CniVerb, number>> = {
  ADD: 48_000,
  DEL: 19_000,
  CHECK: 20_000,
  STATUS: 10_000,
  GC: 60_000,
  VERSION: 1_000,
};

/**
 * Answers the call: whatever goes wrong is an error object.
 *
 * @returns the exit status
 * @throws what writing the error object throws
 */
export async function runPlugin(plugin: PluginName, host: Host): Promise<number> {
  let stdin = "";
  let environment: CniEnvironment | undefined;
  let parsed: ParsedConfig | undefined;
  try {
    environment = readEnvironment(host.env);
    stdin = await readStdin(host);
    const ledger = startLedger(host.clock, host.processStart());
    const parsing = ledger.phase("parse");
    parsed = parseNetworkConfig(stdin, environment.command);
    await perform({ plugin, host, environment, ledger, parsing }, parsed);
    return 0;
  } catch (thrown) {
    const { answerVersionOf, toErrorOutput } = await errorOutput();
    const error = toErrorOutput(thrown, answerVersionOf(stdin));
    // Whatever fails later has been logged.
    if (parsed === undefined) {
      const { logRefusal } = await import("./log-refusal.ts");
      logRefusal({ host, stdin, subject: environment === undefined ? {} : subjectOf(environment) }, error);
    }
    host.writeAnswer(toText(error));
    return 1;
  }
}

/** Only calls that fail need it. */
const errorOutput = () => import("./protocol/error-output.ts");

async function readStdin(host: Host): Promise<string> {
  try {
    return await host.readStdin();
  } catch (cause) {
    throw (await errorOutput()).toInputError(cause);
  }
}

/** What is known of a call before its network config. */
type Begun = Pick<Call, "plugin" | "host" | "environment" | "ledger"> & { readonly parsing: Disposable };

async function perform({ parsing, ...begun }: Begun, { config, verb, warnings, fault }: ParsedConfig): Promise<void> {
  const { host, environment, ledger } = begun;
  const { containerID, ifName } = environment;
  const log = host.openLog(config.log, subjectOf(environment));
  for (const warning of warnings) log.warning(warning);
  const deadline = startDeadline(host.clock, DEADLINE_MS[verb]);
  const read = { ...begun, config, log, deadline };
  let datastore: Datastore | undefined;
  let code = 0;
  try {
    const call = await prepare(verb, read, fault);
    datastore = call.datastore;
    parsing[Symbol.dispose]();
    await runVerb(verb, call);
  } catch (thrown) {
    const [{ toErrorOutput }, { nameVariables }, { nameServer }] = await Promise.all([
      errorOutput(),
      import("./config/name-variables.ts"),
      import("./config/name-server.ts"),
    ]);
    const failure = nameVariables(nameServer(thrown, config, host.env), config, host.env);
    const error = toErrorOutput(failure);
    code = error.code;
    log.error(error.msg, { verb, code, details: error.details });
    throw failure;
  } finally {
    if (verb === "ADD" || verb === "DEL")
      ledger.write(log, {
        verb,
        containerID,
        ifName,
        network: config.name,
        code,
        ...(datastore?.requests ?? { roundTrips: 0, retries: 0 }),
      });
    datastore?.close();
  }
}

/** Fields of every log line, so that a search for the pod's name finds all of them. */
function subjectOf(environment: CniEnvironment): Readonly<Record<string, string>> {
  const { containerID } = environment;
  const { pod } = readCniArgs(environment).args;
  return { ...(containerID !== "" && { containerID }), ...(pod !== undefined && { pod: `${pod.namespace}/${pod.name}` }) };
}

async function runVerb(verb: CniVerb, call: Call): Promise<void> {
  const run = (next: Call): Promise<void> => runOnce(verb, next);
  try {
    await run(call);
  } catch (fault) {
    await (await import("./run-again.ts")).runAgain(verb, call, { fault, run });
  }
}

async function runOnce(verb: CniVerb, call: Call): Promise<void> {
  switch (verb) {
    case "ADD": {
      const answer = (result: CniResult): void =>
        call.host.writeAnswer(toText(toResultDocument(result, call.config.cniVersion)), call.deadline.remainingMs);
      return await (isMain(call.plugin) ? add(call, answer) : (await import("./add/ipam-add.ts")).addAddresses(call, answer));
    }
    case "DEL":
      return await del(call);
    case "CHECK":
      return await (await import("./check.ts")).check(call);
    case "STATUS":
      return await (await import("./status.ts")).status(call);
    case "GC":
      return await (await import("./gc/collect-garbage.ts")).collectGarbage(call);
    case "VERSION":
      throw new NetplugError("internal", "VERSION is answered before the network config is read");
  }
}

function toText(answer: object): string {
  return JSON.stringify(answer, undefined, 4);
}
