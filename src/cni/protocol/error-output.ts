/** What a runtime reads when a call fails. */

import { ERROR_CODES, messageOf, NetplugError } from "../../lib/errors.ts";
import { isJsonObject, tryParseForeignJson } from "../../lib/json.ts";
import { redactText } from "../../lib/redact.ts";
import { UndoFailed } from "../../lib/undo-stack.ts";
import { type CniVersion, DEFAULT_VERSION, isSupportedVersion, LATEST_VERSION } from "./versions.ts";

/** @see CNI SPEC 1.1.0, section "Error" */
export interface ErrorOutput {
  readonly cniVersion: CniVersion;
  readonly code: number;
  readonly msg: string;
  readonly details?: string;
}

/** Causes of one failure that are reported; more would be a loop or noise. */
const MAX_CAUSES = 5;

/**
 * The error object for whatever was thrown. Anything but a `NetplugError` is a defect of ours, code 999, and loses the source text that
 * the engine quotes in its message.
 */
export function toErrorOutput(thrown: unknown, cniVersion: CniVersion = LATEST_VERSION): ErrorOutput {
  const failure = thrown instanceof UndoFailed ? thrown.cause : thrown;
  const details = toDetails(failure, thrown);
  return {
    cniVersion,
    code: failure instanceof NetplugError ? failure.code : ERROR_CODES.internal,
    msg: toMessage(thrown, failure),
    ...(details !== "" && { details }),
  };
}

/** Why there is no network config: what reading stdin threw, as an error of the call. */
export function toInputError(cause: unknown): NetplugError {
  if (cause instanceof TypeError)
    return new NetplugError("cannotDecode", "read network config: got bytes that are no UTF-8, want JSON in UTF-8");
  return new NetplugError("ioFailure", `read network config from stdin: ${messageOf(cause)}`, { cause });
}

/** The version to answer in when a network config could not be read to its end: the one that it asks for, if we have it. */
export function answerVersionOf(configText: string): CniVersion {
  const config = tryParseForeignJson(configText);
  const version = isJsonObject(config) ? (config["cniVersion"] ?? DEFAULT_VERSION) : undefined;
  return typeof version === "string" && isSupportedVersion(version) ? version : LATEST_VERSION;
}

/** The headline, and with it what an undo left behind. */
function toMessage(thrown: unknown, failure: unknown): string {
  const text = withoutSource(messageOf(thrown));
  return redactText(failure instanceof NetplugError ? text : `internal error: ${nameOf(failure)}${text}`);
}

function nameOf(thrown: unknown): string {
  return thrown instanceof Error ? `${thrown.name}: ` : "";
}

/** The failure's own details, its causes, and why an undo failed, one after the other. */
function toDetails(failure: unknown, thrown: unknown): string {
  const headline = messageOf(thrown);
  const isNew = (text: string): boolean => text !== "" && !headline.includes(text);
  const parts = [failure instanceof NetplugError ? (failure.details ?? "") : "", ...causesOf(failure)].filter(isNew);
  if (thrown instanceof UndoFailed)
    parts.push(
      ...thrown.errors
        .flatMap(causesOf)
        .filter(isNew)
        .map((text) => `undo: ${text}`),
    );
  return redactText([...new Set(parts)].join("; "));
}

function causesOf(thrown: unknown): readonly string[] {
  const causes: string[] = [];
  for (let at: unknown = thrown; at instanceof Error && at.cause !== undefined && causes.length < MAX_CAUSES; at = at.cause) {
    causes.push(withoutSource(messageOf(at.cause)));
  }
  return causes;
}

/**
 * The engine ends a TypeError with the expression it evaluated, which is source text and may show a literal; and what `fetch` throws with
 * advice to whoever wrote the call.
 */
function withoutSource(message: string): string {
  return message.replace(/\s*\((?:evaluating|near) '[\s\S]*'\)/g, "").replace(ADVICE_OF_FETCH, "");
}

const ADVICE_OF_FETCH =
  /\.? (?:For more information, pass `verbose: true` in the second argument to fetch\(\)|Is the computer able to access the url\?)$/;
