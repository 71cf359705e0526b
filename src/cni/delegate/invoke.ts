/** One run of a delegate: its environment, its stdin, and what its output means. */

import type { Deadline } from "../../lib/deadline.ts";
import { messageOf, NetplugError } from "../../lib/errors.ts";
import { isJsonObject, type JsonObject, tryParseForeignJson } from "../../lib/json.ts";
import type { Log } from "../../lib/log/log.ts";
import type { Clock, Files, Processes, ProcessResult } from "../../lib/ports.ts";
import { quote } from "../../lib/quote.ts";
import { redactText } from "../../lib/redact.ts";
import type { CniVerb } from "../protocol/versions.ts";
import { findDelegate } from "./find.ts";

/** What a run of a delegate needs of the world: that of the call which it is run for. */
export interface DelegatePorts {
  readonly processes: Processes;
  readonly files: Pick<Files, "isExecutableFile">;
  readonly clock: Clock;
  readonly log: Log;
}

/** A delegate, and how it is called on behalf of a call. */
export interface Delegate {
  /** `ipam.type`: the file name of the plugin. */
  readonly type: string;
  /** The network config as it came, see `NetworkConfig.raw`; what the delegate must not see is taken out here. */
  readonly config: JsonObject;
  /** Our whole environment; the delegate gets it with another `CNI_COMMAND`. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** For all runs of this call together, besides the DEL after a failed ADD. */
  readonly deadline: Deadline;
  readonly ports: DelegatePorts;
}

/** The error that a delegate printed, or what stands for it when it printed none. */
export interface DelegateError {
  readonly code: number | undefined;
  readonly msg: string;
  readonly details: string | undefined;
}

/** What a delegate said. An error object on stdout is a failure whatever the exit status; without one the exit status decides. */
export type DelegateAnswer = { readonly ok: true; readonly stdout: string } | { readonly ok: false; readonly error: DelegateError };

/** Pauses before running the executable again while an installer is still writing it (ETXTBSY). */
const BUSY_RETRY_MS = [50, 100, 200, 400, 800, 1600];

/** Longest foreign text that gets into one of our errors. */
const MAX_FOREIGN_TEXT = 1000;

/** How messages name a run of a delegate. */
export function describeRun(verb: CniVerb, type: string): string {
  return `${verb} by delegate ${quote(type)}`;
}

/**
 * Runs the delegate once; again, a few times, while its executable is being written.
 *
 * @param config what it gets on stdin
 * @throws NetplugError what {@link findDelegate} throws, delegateFailed when it cannot be started, tryAgainLater when it does not end in time
 */
export async function invoke(verb: CniVerb, { type, environment, deadline, ports }: Delegate, config: JsonObject): Promise<DelegateAnswer> {
  const command = findDelegate(type, environment["CNI_PATH"], ports.files);
  const what = describeRun(verb, type);
  const request = { command, env: toDelegateEnvironment(verb, environment), stdin: JSON.stringify(config) };
  for (const pauseMs of [...BUSY_RETRY_MS, Infinity]) {
    deadline.check(what);
    const timeoutMs = Math.ceil(deadline.remainingMs());
    try {
      return toAnswer(what, await ports.processes.run({ ...request, timeoutMs }), ports.log);
    } catch (thrown) {
      if (!isTextFileBusy(thrown) || pauseMs >= timeoutMs) throw toStartFailure(what, thrown);
      ports.log.debug("delegate is being written, wait", { delegate: type, pauseMs });
      await ports.clock.sleep(pauseMs);
    }
  }
  throw new NetplugError("internal", `${what}: gave up waiting`);
}

/**
 * Our environment with another verb. Plugins made with the CNI project's library refuse a `CNI_ARGS` with empty pieces, and with keys that
 * they do not know unless it has `IgnoreUnknown`: both are made acceptable, because we accept them.
 */
function toDelegateEnvironment(verb: CniVerb, ours: Delegate["environment"]): Record<string, string> {
  const environment: Record<string, string> = {};
  for (const [name, value] of Object.entries(ours)) if (value !== undefined) environment[name] = value;
  environment["CNI_COMMAND"] = verb;
  const args = (ours["CNI_ARGS"] ?? "").split(";").filter((piece) => piece !== "");
  if (args.length > 0) {
    const isSaid = args.some((piece) => piece.startsWith("IgnoreUnknown="));
    environment["CNI_ARGS"] = (isSaid ? args : ["IgnoreUnknown=1", ...args]).join(";");
  }
  return environment;
}

function toAnswer(what: string, { status, stdout, stderr }: ProcessResult, log: Log): DelegateAnswer {
  const complaint = toForeignText(stderr);
  const error = toDelegateError(stdout);
  if (error !== undefined) return { ok: false, error };
  if (status === 0) {
    if (complaint !== "") log.debug("delegate wrote to stderr", { delegate: what, stderr: complaint });
    return { ok: true, stdout };
  }
  const texts = [complaint, toForeignText(stdout)].filter((text) => text !== "");
  const msg = `exit status ${status}, ${texts.length === 0 ? "and no word why" : texts.join("; ")}`;
  return { ok: false, error: { code: undefined, msg, details: undefined } };
}

/** The CNI error object on a delegate's stdout. A result has no `code`. */
function toDelegateError(stdout: string): DelegateError | undefined {
  const document = tryParseForeignJson(stdout);
  if (!isJsonObject(document)) return undefined;
  const { code, msg, details } = document;
  if (typeof code !== "number" || code === 0) return undefined;
  return { code, msg: toForeignText(msg), details: toForeignText(details) || undefined };
}

function toStartFailure(what: string, thrown: unknown): unknown {
  if (thrown instanceof NetplugError && thrown.kind !== "ioFailure") return thrown;
  return new NetplugError("delegateFailed", `${what}: it cannot be run`, { cause: thrown });
}

function isTextFileBusy(thrown: unknown): boolean {
  for (let error = thrown; error instanceof Error; error = error.cause) {
    if (("code" in error && error.code === "ETXTBSY") || /ETXTBSY|text file busy/i.test(messageOf(error))) return true;
  }
  return false;
}

/** A delegate's text, made fit for an error of ours: cut, and without secrets. */
function toForeignText(text: unknown): string {
  if (typeof text !== "string") return "";
  const clean = redactText(text.trim());
  return clean.length > MAX_FOREIGN_TEXT ? `${clean.slice(0, MAX_FOREIGN_TEXT)}…` : clean;
}
