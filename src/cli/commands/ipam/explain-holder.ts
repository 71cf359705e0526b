/** Where the address of a manifest belongs to a pod of the same workload: what that does with it. */

import type { AllocationOwner } from "../../../api/ipam-block.ts";
import { toPodText } from "../../../endpoint/annotations/sources.ts";
import { quote } from "../../../lib/quote.ts";
import type { AskingPod, AskingWorkload } from "../../kubernetes/asking-pod.ts";
import type { Asking } from "./explain-asking.ts";

/** As it is, and what is left of it where the API server cuts a `generateName`. */
interface Middle {
  readonly whole: RegExp;
  readonly cut: RegExp;
}

/** What workloads do whose pods have names that are made up. */
interface Habit {
  /** What stands in the name of a pod between that of the workload and the suffix that the API server generates. */
  readonly middle: Middle;
  /** What becomes of a pod that ends before the next one runs. */
  readonly ends: string;
  /** And of one that does not; absent: nothing is said. */
  readonly stays?: string;
}

const ENDS = "that pod ends before the next one runs, and gives the address back";
const KEEPS = "it keeps that pod, and makes another only when that ends, which gives the address back";
const STAYS = 'that pod stays until the next one runs, which waits for the address; with "strategy" Recreate it is deleted before';

/** What suffixes and hashes are made of: no vowels. @see k8s.io/apimachinery util/rand */
const ALPHABET = "[bcdfghjklmnpqrstvwxz2456789]";
/** A `generateName` and its suffix. */
const GENERATED_NAME = new RegExp(`^(.*)${ALPHABET}{5}$`);
/** So much the API server takes of a `generateName`. @see k8s.io/apiserver storage/names, MaxGeneratedNameLength */
const GENERATE_NAME_LENGTH_MAX = 58;
const DASH: Middle = { whole: /^-$/, cut: /^-?$/ };
/** That of the ReplicaSet. */
const POD_TEMPLATE_HASH: Middle = {
  whole: new RegExp(`^-${ALPHABET}{1,10}-$`),
  cut: new RegExp(`^(-(${ALPHABET}{1,10}-?)?)?$`),
};

const HABITS: Readonly<Record<string, Habit>> = {
  Deployment: { middle: POD_TEMPLATE_HASH, ends: ENDS, stays: STAYS },
  DaemonSet: { middle: DASH, ends: ENDS },
  // A newer template does nothing to the pods of these.
  ReplicaSet: { middle: DASH, ends: KEEPS },
  ReplicationController: { middle: DASH, ends: KEEPS },
  Job: { middle: DASH, ends: KEEPS },
};

/** Otherwise a workload seems to be in its own way, as without Recreate a Deployment is. */
export function warnOfHolders(pod: AskingPod, { node, isOnKubernetes }: Asking, holders: readonly AllocationOwner[]): readonly string[] {
  const { workload } = pod;
  if (workload === undefined) return [];
  const warnings = holders.flatMap((holder): readonly string[] => {
    if (holder.pod === undefined || holder.namespace === undefined) return [];
    const name = `${holder.namespace}/${holder.pod}`;
    const text = quote(name);
    if (!isOnKubernetes && toPodText(pod) === `pod ${text}`)
      return [`if pod ${text} runs still, it ends before the next one of its name runs, and gives the address back`];
    const then = whatBecomesOf({ name, node: holder.node }, workload, node);
    return then === undefined ? [] : [`pod ${text} seems to be of ${workload.kind} ${quote(workload.name)}: ${then}`];
  });
  return [...new Set(warnings)];
}

/** @param node where the next one would run */
function whatBecomesOf(
  holder: { readonly name: string; readonly node: string },
  { kind, name, hasSeveral, isEndingFirst }: AskingWorkload,
  node: string,
): string | undefined {
  const habit = HABITS[kind];
  const isInPlace = kind === "DaemonSet" ? holder.node === node : !hasSeveral;
  if (habit === undefined || !isInPlace || !isOwn(holder.name, name, habit)) return undefined;
  return isEndingFirst ? habit.ends : habit.stays;
}

/** That a pod is the workload's own is known by the name alone. @param pod with its namespace, as the workload */
function isOwn(pod: string, workload: string, { middle: { whole, cut } }: Habit): boolean {
  const [, generateName = ""] = GENERATED_NAME.exec(pod) ?? [];
  const longest = workload.indexOf("/") + 1 + GENERATE_NAME_LENGTH_MAX;
  const middle = generateName.length === longest ? cut : whole;
  return generateName.startsWith(workload.slice(0, longest)) && middle.test(generateName.slice(workload.length));
}
