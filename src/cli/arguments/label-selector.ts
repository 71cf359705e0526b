/** Kubernetes' label selectors, as `kubectl get -l` takes them. */

import * as v from "valibot";
import { labels as labelsSchema } from "../../api/schema/fields.ts";
import { quote } from "../../lib/quote.ts";
import { UsageError } from "../failures/failure.ts";

/** What an object's labels must be; one without requirements fits every object. */
export interface LabelSelector {
  /** As it was written. */
  readonly text: string;
  readonly requirements: readonly Requirement[];
}

/** What one label must be. */
export interface Requirement {
  readonly key: string;
  /** One of these. Absent: any value will do. */
  readonly values?: readonly string[];
  /** A number beyond this one; what is no number never fits. */
  readonly bound?: Bound;
  /** Whether it is the opposite that must hold; an absent label fits then. */
  readonly isNegated: boolean;
}

/** A comparison with a number, such as `cores>8`. */
export interface Bound {
  readonly operator: "<" | ">";
  /** Of 64 bits, as Kubernetes has it. */
  readonly limit: bigint;
}

const FORMS = "KEY=VALUE, KEY!=VALUE, KEY in (A,B), KEY notin (A,B), KEY, !KEY, KEY>N or KEY<N";

const LARGEST_NUMBER = 2n ** 63n - 1n;

/** Commas inside parentheses separate values. */
const BETWEEN_REQUIREMENTS = /,(?![^(]*\))/;

/**
 * Reads requirements with commas between them.
 *
 * @see Kubernetes documentation, "Labels and Selectors"
 * @throws {UsageError}
 */
export function parseLabelSelector(text: string): LabelSelector {
  if (text.trim() === "") return { text: "", requirements: [] };
  return { text, requirements: text.split(BETWEEN_REQUIREMENTS).map((part) => parseRequirement(part.trim())) };
}

/** Whether all requirements hold. As with kubectl, `!=` and `notin` hold for a label that is absent, too. */
export function matchesLabels({ requirements }: LabelSelector, labels: Readonly<Record<string, string>> = {}): boolean {
  return requirements.every(({ key, values, bound, isNegated }) => {
    const value = Object.hasOwn(labels, key) ? labels[key] : undefined;
    const fits = value !== undefined && (values === undefined || values.includes(value)) && (bound === undefined || isBeyond(value, bound));
    return fits !== isNegated;
  });
}

function isBeyond(value: string, { operator, limit }: Bound): boolean {
  const number = toNumber(value);
  return number !== undefined && (operator === "<" ? number < limit : number > limit);
}

/** A label holds no sign; leading zeroes are none of another base. */
function toNumber(value: string): bigint | undefined {
  if (!/^\d+$/.test(value)) return undefined;
  const number = BigInt(value);
  return number > LARGEST_NUMBER ? undefined : number;
}

function parseRequirement(text: string): Requirement {
  const requirement = readExistence(text) ?? readEquality(text) ?? readSet(text) ?? readBound(text);
  if (requirement === undefined) {
    const got = text === "" ? "nothing beside a comma" : quote(text);
    throw new UsageError(`got ${got}, want ${FORMS}; several with commas: "rack=r2,tier!=db,!gpu"`);
  }
  for (const value of requirement.values ?? [""]) {
    const [issue] = v.safeParse(labelsSchema, { [requirement.key]: value }).issues ?? [];
    if (issue !== undefined) throw new UsageError(`got ${quote(text)}, ${issue.message}; such as "rack=r2"`);
  }
  return requirement;
}

function readExistence(text: string): Requirement | undefined {
  const [, not, key] = /^(!?)\s*([^\s!=<>()]+)$/.exec(text) ?? [];
  return key === undefined ? undefined : { key, isNegated: not === "!" };
}

function readEquality(text: string): Requirement | undefined {
  const [, key, operator, value = ""] = /^([^\s!=<>()]+)\s*(==?|!=)\s*([^\s!=<>()]*)$/.exec(text) ?? [];
  return key === undefined ? undefined : { key, values: [value], isNegated: operator === "!=" };
}

function readSet(text: string): Requirement | undefined {
  const [, key, operator, list = ""] = /^([^\s!=<>()]+)\s+(in|notin)\s*\(([^()]*)\)$/.exec(text) ?? [];
  if (key === undefined) return undefined;
  return { key, values: list.split(",").map((value) => value.trim()), isNegated: operator === "notin" };
}

function readBound(text: string): Requirement | undefined {
  const [, key, operator, value = ""] = /^([^\s!=<>()]+)\s*([<>])\s*([^\s!=<>()]*)$/.exec(text) ?? [];
  if (key === undefined) return undefined;
  const limit = toNumber(value);
  if (limit === undefined)
    throw new UsageError(
      `got ${quote(text)}, want a whole number from 0 to ${LARGEST_NUMBER} behind "${operator}"; such as "rack=r2" or "rack>2"`,
    );
  return { key, bound: { operator: operator === "<" ? "<" : ">", limit }, isNegated: false };
}
