/** Calling another CNI plugin for addresses: ADD, DEL, CHECK, STATUS and GC of the delegate that `ipam.type` names. */

import { startDeadline } from "../../lib/deadline.ts";
import { messageOf, NetplugError } from "../../lib/errors.ts";
import { parseJson } from "../../lib/json.ts";
import { quote } from "../../lib/quote.ts";
import { parseResult } from "../protocol/parse-result.ts";
import type { CniResult } from "../protocol/result.ts";
import { hasVerb } from "../protocol/versions.ts";
import type { CniVersion } from "../protocol/versions.ts";
import { toDelegateConfig } from "./config.ts";
import { findDelegate } from "./find.ts";
import { requireRanges } from "./host-local.ts";
import { describeRun, invoke } from "./invoke.ts";
import type { DelegateAnswer, DelegateCall, DelegateError, DelegatePorts, DelegateVerb } from "./invoke.ts";
import { negotiateVersion, toVersion, versionOf } from "./versions.ts";

export type { DelegateCall, DelegatePorts } from "./invoke.ts";

/** Milliseconds for the DEL after a failed ADD, however late the failure came. */
const CLEAN_UP_MS = 10_000;

/** What a plugin answers to a verb that it does not have: "incompatible version", or "unknown CNI_COMMAND". */
const VERB_UNKNOWN_CODES: readonly (number | undefined)[] = [1, 4];

/**
 * Asks the delegate for addresses; the result has at least one. After any failure the delegate gets a DEL before the failure is thrown.
 * When the delegate's error names the container ID, it likely still has addresses of an ADD that was killed before we had its answer:
 * after the DEL it is asked once more.
 *
 * @throws NetplugError delegateFailed with the delegate's own code and message in `details`, invalidConfig for invalid ranges, and what
 *   {@link invoke} throws
 */
export async function delegateAdd(call: DelegateCall, ports: DelegatePorts): Promise<CniResult> {
  requireRanges(call.type, call.config);
  const config = toDelegateConfig("ADD", call.type, call.config);
  findDelegate(call.type, call.environment["CNI_PATH"], ports.files);
  const containerID = call.environment["CNI_CONTAINERID"] ?? "";
  for (let isRepeated = false; ; isRepeated = true) {
    try {
      const { answer, cniVersion } = await callInAgreedVersion("ADD", call, config, ports);
      if (answer.ok) return toResult(call.type, answer.stdout, cniVersion);
      throw toFailure("ADD", call.type, answer.error);
    } catch (thrown) {
      const left = await cleanUp(call, ports);
      if (left !== undefined) throw withLeftBehind(thrown, call.type, left);
      const isComplaint = thrown instanceof NetplugError && thrown.kind === "delegateFailed" && containerID !== "";
      if (isRepeated || !isComplaint || !thrown.message.includes(containerID)) throw thrown;
      ports.log.info("delegate had addresses of an earlier ADD, ask again", { delegate: call.type, error: thrown.message });
    }
  }
}

/** Tells the delegate that the attachment is gone. @throws as {@link delegateAdd} */
export async function delegateDel(call: DelegateCall, ports: DelegatePorts): Promise<void> {
  const { answer } = await callInAgreedVersion("DEL", call, toDelegateConfig("DEL", call.type, call.config), ports);
  if (!answer.ok) throw toFailure("DEL", call.type, answer.error);
}

/**
 * Asks the delegate whether what its ADD gave still stands.
 *
 * @returns false: the delegate is too old for CHECK, so nothing is known
 * @throws as {@link delegateAdd}
 */
export async function delegateCheck(call: DelegateCall, ports: DelegatePorts): Promise<boolean> {
  requireRanges(call.type, call.config);
  const { answer, cniVersion } = await callInAgreedVersion("CHECK", call, toDelegateConfig("CHECK", call.type, call.config), ports);
  if (!answer.ok && hasVerb(cniVersion, "CHECK")) throw toFailure("CHECK", call.type, answer.error);
  return answer.ok;
}

/**
 * Asks the delegate whether an ADD could succeed now. A delegate without STATUS counts as ready.
 *
 * @throws NetplugError degraded for the delegate's code 51, notAvailable for any other reason, also when it cannot be run
 */
export async function delegateStatus(call: DelegateCall, ports: DelegatePorts): Promise<void> {
  let answer: DelegateAnswer;
  try {
    answer = await run("STATUS", call, ports);
    if (answer.ok || (await isVerbUnknown("STATUS", answer.error, call, ports))) return;
  } catch (thrown) {
    throw new NetplugError("notAvailable", messageOf(thrown), { cause: thrown });
  }
  const { message, details } = toFailure("STATUS", call.type, answer.error);
  throw new NetplugError(answer.error.code === 51 ? "degraded" : "notAvailable", message, details === undefined ? {} : { details });
}

/**
 * Lets the delegate remove what is not in the config's `cni.dev/valid-attachments`. One that is too old for GC does nothing.
 *
 * @throws as {@link delegateAdd}
 */
export async function delegateGc(call: DelegateCall, ports: DelegatePorts): Promise<void> {
  const answer = await run("GC", call, ports);
  if (answer.ok || (await isVerbUnknown("GC", answer.error, call, ports))) return;
  throw toFailure("GC", call.type, answer.error);
}

function run(verb: DelegateVerb, call: DelegateCall, ports: DelegatePorts): Promise<DelegateAnswer> {
  return invoke(verb, call, toDelegateConfig(verb, call.type, call.config), ports);
}

/**
 * Whether a delegate refused because it is older than the verb. Plugins made with an older library check the rest of the call first, and
 * complain of the missing container ID, which GC and STATUS do not have: then the versions that the delegate supports decide.
 */
async function isVerbUnknown(verb: "STATUS" | "GC", { code }: DelegateError, call: DelegateCall, ports: DelegatePorts): Promise<boolean> {
  if (VERB_UNKNOWN_CODES.includes(code)) return true;
  const newest = await negotiateVersion(call, ports);
  return newest !== undefined && !hasVerb(newest, verb);
}

/** Calls in the config's version; when the delegate does not know that one, in the highest that both know. */
async function callInAgreedVersion(
  verb: DelegateVerb,
  call: DelegateCall,
  config: Readonly<Record<string, unknown>>,
  ports: DelegatePorts,
): Promise<{ readonly answer: DelegateAnswer; readonly cniVersion: CniVersion }> {
  const wanted = versionOf(config);
  const answer = await invoke(verb, call, config, ports);
  if (answer.ok || answer.error.code !== 1) return { answer, cniVersion: wanted };
  const agreed = await negotiateVersion(call, ports);
  if (agreed === undefined || agreed === wanted) return { answer, cniVersion: wanted };
  ports.log.debug("call delegate in another CNI version", { delegate: call.type, verb, wanted, agreed });
  return { answer: await invoke(verb, call, toVersion(config, agreed), ports), cniVersion: agreed };
}

/** Calls DEL, as the specification requires after a failed ADD. @returns why the DEL failed too; undefined: it succeeded */
async function cleanUp(call: DelegateCall, ports: DelegatePorts): Promise<unknown> {
  try {
    await delegateDel({ ...call, deadline: startDeadline(ports.clock, CLEAN_UP_MS) }, ports);
    return undefined;
  } catch (thrown) {
    ports.log.warning("delegate could not undo its failed ADD", { delegate: call.type, error: messageOf(thrown) });
    return thrown;
  }
}

/** The ADD's failure as the headline, with what its DEL left behind. */
function withLeftBehind(thrown: unknown, type: string, left: unknown): unknown {
  if (!(thrown instanceof NetplugError)) return thrown;
  const { kind, message, cause, details, retriable } = thrown;
  const text = `${message} (left behind: addresses of delegate ${quote(type)}: ${messageOf(left)})`;
  return new NetplugError(kind, text, { cause, retriable, ...(details !== undefined && { details }) });
}

function toResult(type: string, stdout: string, calledWith: CniVersion): CniResult {
  const what = `read result of ${describeRun("ADD", type)}`;
  let result: CniResult;
  try {
    result = parseResult(parseJson(stdout), calledWith);
  } catch (cause) {
    throw new NetplugError("delegateFailed", `${what}: ${messageOf(cause)}`, { cause });
  }
  if (result.ips.length === 0) throw new NetplugError("delegateFailed", `${what}: got no address, want at least one`);
  return result;
}

function toFailure(verb: DelegateVerb, type: string, { code, msg, details }: DelegateError): NetplugError {
  const explanation = details === undefined ? msg : `${msg}; ${details}`;
  return new NetplugError("delegateFailed", `${describeRun(verb, type)} failed: ${msg}`, {
    details: code === undefined ? explanation : `code ${code}: ${explanation}`,
    retriable: code === 11,
  });
}
