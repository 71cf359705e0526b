/** Calling another CNI plugin for addresses: ADD, DEL, CHECK, STATUS and GC of the delegate that `ipam.type` names. */

import { startDeadline } from "../../lib/deadline.ts";
import { ERROR_CODES, messageOf, NetplugError } from "../../lib/errors.ts";
import { parseJson } from "../../lib/json.ts";
import { quote } from "../../lib/quote.ts";
import { parseResult } from "../protocol/parse-result.ts";
import type { CniResult } from "../protocol/result.ts";
import { hasVerb } from "../protocol/versions.ts";
import type { CniVerb, CniVersion } from "../protocol/versions.ts";
import { toDelegateConfig } from "./config.ts";
import { findDelegate } from "./find.ts";
import { requireRanges } from "./host-local.ts";
import { describeRun, invoke } from "./invoke.ts";
import type { Delegate, DelegateAnswer, DelegateError } from "./invoke.ts";
import { negotiateVersion, toVersion, versionOf } from "./versions.ts";

export type { Delegate, DelegatePorts } from "./invoke.ts";

/** Milliseconds for the DEL after a failed ADD, however late the failure came. */
const CLEAN_UP_MS = 10_000;

/** What a plugin answers to a verb that it does not have. */
const VERB_UNKNOWN_CODES: readonly (number | undefined)[] = [ERROR_CODES.incompatibleVersion, ERROR_CODES.badEnvironment];

/**
 * Asks the delegate for addresses; the result has at least one. After any failure the delegate gets a DEL before the failure is thrown.
 * When the delegate's error names the container ID, it likely still has addresses of an ADD that was killed before we had its answer:
 * after the DEL it is asked once more.
 *
 * @throws NetplugError delegateFailed with the delegate's own code and message in `details`, invalidConfig for invalid ranges, and what
 *   {@link invoke} throws
 */
export async function delegateAdd(delegate: Delegate): Promise<CniResult> {
  requireRanges(delegate.type, delegate.config);
  findDelegate(delegate.type, delegate.environment["CNI_PATH"], delegate.ports.files);
  const containerID = delegate.environment["CNI_CONTAINERID"] ?? "";
  for (let isRepeated = false; ; isRepeated = true) {
    try {
      const { answer, cniVersion } = await callInAgreedVersion("ADD", delegate);
      if (answer.ok) return toResult(delegate.type, answer.stdout, cniVersion);
      throw toFailure("ADD", delegate.type, answer.error);
    } catch (thrown) {
      const left = await cleanUp(delegate);
      if (left !== undefined) throw withLeftBehind(thrown, delegate.type, left);
      const isComplaint = thrown instanceof NetplugError && thrown.kind === "delegateFailed" && containerID !== "";
      if (isRepeated || !isComplaint || !thrown.message.includes(containerID)) throw thrown;
      delegate.ports.log.info("delegate had addresses of an earlier ADD, ask again", { delegate: delegate.type, error: thrown.message });
    }
  }
}

/** Tells the delegate that the attachment is gone. @throws as {@link delegateAdd} */
export async function delegateDel(delegate: Delegate): Promise<void> {
  const { answer } = await callInAgreedVersion("DEL", delegate);
  if (!answer.ok) throw toFailure("DEL", delegate.type, answer.error);
}

/**
 * Asks the delegate whether what its ADD gave is still there.
 *
 * @returns false: the delegate is too old for CHECK, so nothing is known
 * @throws as {@link delegateAdd}
 */
export async function delegateCheck(delegate: Delegate): Promise<boolean> {
  requireRanges(delegate.type, delegate.config);
  const { answer, cniVersion } = await callInAgreedVersion("CHECK", delegate);
  if (!answer.ok && hasVerb(cniVersion, "CHECK")) throw toFailure("CHECK", delegate.type, answer.error);
  return answer.ok;
}

/**
 * Asks the delegate whether an ADD could succeed now. A delegate without STATUS counts as ready.
 *
 * @throws NetplugError degraded for the delegate's code of that name, notAvailable for any other reason, also when it cannot be run
 */
export async function delegateStatus(delegate: Delegate): Promise<void> {
  let answer: DelegateAnswer;
  try {
    requireRanges(delegate.type, delegate.config);
    answer = await run("STATUS", delegate);
    if (answer.ok || (await isVerbUnknown("STATUS", answer.error, delegate))) return;
  } catch (thrown) {
    throw new NetplugError("notAvailable", messageOf(thrown), { cause: thrown });
  }
  const { message, details } = toFailure("STATUS", delegate.type, answer.error);
  throw new NetplugError(answer.error.code === ERROR_CODES.degraded ? "degraded" : "notAvailable", message, { details });
}

/**
 * Lets the delegate remove what is not in the config's `cni.dev/valid-attachments`. One that is too old for GC does nothing.
 *
 * @throws as {@link delegateAdd}
 */
export async function delegateGc(delegate: Delegate): Promise<void> {
  const answer = await run("GC", delegate);
  if (answer.ok || (await isVerbUnknown("GC", answer.error, delegate))) return;
  throw toFailure("GC", delegate.type, answer.error);
}

function run(verb: CniVerb, delegate: Delegate): Promise<DelegateAnswer> {
  return invoke(verb, delegate, toDelegateConfig(verb, delegate.type, delegate.config));
}

/**
 * Whether a delegate refused because it is older than the verb. Plugins made with an older library check the rest of the call first, and
 * complain of the missing container ID, which GC and STATUS do not have: then the versions that the delegate supports decide.
 */
async function isVerbUnknown(verb: "STATUS" | "GC", { code }: DelegateError, delegate: Delegate): Promise<boolean> {
  if (VERB_UNKNOWN_CODES.includes(code)) return true;
  const newest = await negotiateVersion(delegate);
  return newest !== undefined && !hasVerb(newest, verb);
}

/** Calls in the config's version; when the delegate does not know that one, in the highest that both know. */
async function callInAgreedVersion(
  verb: CniVerb,
  delegate: Delegate,
): Promise<{ readonly answer: DelegateAnswer; readonly cniVersion: CniVersion }> {
  const config = toDelegateConfig(verb, delegate.type, delegate.config);
  const wanted = versionOf(config);
  const answer = await invoke(verb, delegate, config);
  if (answer.ok || answer.error.code !== ERROR_CODES.incompatibleVersion) return { answer, cniVersion: wanted };
  const agreed = await negotiateVersion(delegate);
  if (agreed === undefined || agreed === wanted) return { answer, cniVersion: wanted };
  delegate.ports.log.debug("call delegate in another CNI version", { delegate: delegate.type, verb, wanted, agreed });
  return { answer: await invoke(verb, delegate, toVersion(config, agreed)), cniVersion: agreed };
}

/** Calls DEL, as the specification requires after a failed ADD. @returns why the DEL failed too; undefined: it succeeded */
async function cleanUp(delegate: Delegate): Promise<unknown> {
  try {
    await delegateDel({ ...delegate, deadline: startDeadline(delegate.ports.clock, CLEAN_UP_MS) });
    return undefined;
  } catch (thrown) {
    delegate.ports.log.warning("delegate could not undo its failed ADD", { delegate: delegate.type, error: messageOf(thrown) });
    return thrown;
  }
}

/** The ADD's failure as the headline, with what its DEL left behind. */
function withLeftBehind(thrown: unknown, type: string, left: unknown): unknown {
  if (!(thrown instanceof NetplugError)) return thrown;
  return thrown.reworded(`${thrown.message} (left behind: addresses of delegate ${quote(type)}: ${messageOf(left)})`);
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

function toFailure(verb: CniVerb, type: string, { code, msg, details }: DelegateError): NetplugError {
  const explanation = details === undefined ? msg : `${msg}; ${details}`;
  return new NetplugError("delegateFailed", `${describeRun(verb, type)} failed: ${msg}`, {
    details: code === undefined ? explanation : `code ${code}: ${explanation}`,
    retriable: code === ERROR_CODES.tryAgainLater,
  });
}
