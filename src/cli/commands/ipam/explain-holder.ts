/** Where the address of a manifest belongs to a pod of the same workload: what that does with it. */

import type { AllocationOwner } from "../../../api/ipam-block.ts";
import { toPodText } from "../../../endpoint/annotations/sources.ts";
import { quote } from "../../../lib/quote.ts";
import type { AskingPod, AskingWorkload } from "../../kubernetes/asking-pod.ts";
import type { Asking } from "./explain-asking.ts";

/** What workloads do whose pods have names that are made up. */
interface Habit {
  /** How the name of a pod goes on behind that of the workload. @see k8s.io/apimachinery util/rand, whose words have no vowels */
  readonly ending: RegExp;
  /** What becomes of a pod that ends before the next one runs. */
  readonly ends: string;
  /** And of one that does not; absent: nothing is said. */
  readonly stays?: string;
}

const ENDS = "that pod ends before the next one runs, and gives the address back";
const KEEPS = "it keeps that pod, and makes another only when that ends, which gives the address back";
const STAYS = 'that pod stays until the next one runs, which waits for the address; with "strategy" Recreate it is deleted before';
const ONE_WORD = /^-[bcdfghjklmnpqrstvwxz2456789]{5}$/;

const HABITS: Readonly<Record<string, Habit>> = {
  // The first word is that of its ReplicaSet.
  Deployment: { ending: /^-[bcdfghjklmnpqrstvwxz2456789]{1,10}-[bcdfghjklmnpqrstvwxz2456789]{5}$/, ends: ENDS, stays: STAYS },
  DaemonSet: { ending: ONE_WORD, ends: ENDS },
  // A newer template does nothing to the pods of these.
  ReplicaSet: { ending: ONE_WORD, ends: KEEPS },
  ReplicationController: { ending: ONE_WORD, ends: KEEPS },
  Job: { ending: ONE_WORD, ends: KEEPS },
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

/** That a pod is the workload's own is known by the name alone. @param node where the next one would run */
function whatBecomesOf(
  holder: { readonly name: string; readonly node: string },
  { kind, name, hasSeveral, isEndingFirst }: AskingWorkload,
  node: string,
): string | undefined {
  const habit = HABITS[kind];
  const isOwn = holder.name.startsWith(name) && habit?.ending.test(holder.name.slice(name.length)) === true;
  const isInPlace = kind === "DaemonSet" ? holder.node === node : !hasSeveral;
  if (!isOwn || !isInPlace) return undefined;
  return isEndingFirst ? habit.ends : habit.stays;
}
