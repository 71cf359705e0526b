/** Blocks for administration: those that can be read, and what is wrong with them and with the others. */

import type { Block } from "../../../api/ipam-block.ts";
import type { ObjectMeta } from "../../../kube/kube-object.ts";
import { messageOf } from "../../../lib/errors.ts";
import { quote } from "../../../lib/quote.ts";
import type { Damage, Stored } from "../../datastore.ts";
import { parseBlockName } from "../objects/block-name.ts";
import { annotationsOf, BLOCK_LABELS, HOLDER_LABELS, isEnding, labelsOf, NEXT_ANNOTATION, toStoredBlock } from "../objects/block-object.ts";
import type { BlockObject } from "../objects/resource-types.ts";

type Texts = Readonly<Record<string, string>>;

const LABELS: readonly string[] = Object.values(BLOCK_LABELS);
const ANNOTATIONS: readonly string[] = [BLOCK_LABELS.node, NEXT_ANNOTATION];

/** Leaves out and reports what cannot be read; also reports labels and annotations that contradict the record. */
export function readUndamaged(objects: readonly BlockObject[], onDamage: (damage: Damage) => void): readonly Stored<Block>[] {
  const readable: Stored<Block>[] = [];
  for (const object of objects) {
    const { name = "" } = object.metadata;
    // Lists name no node for one that is being deleted.
    const node = isEnding(object.metadata) ? undefined : object.spec?.node;
    const cidr = parseBlockName(name);
    const place = { kind: "IPAMBlock", name, ...(cidr !== undefined && { cidr }), ...(node !== undefined && { node }) } as const;
    try {
      const stored = toStoredBlock(object);
      readable.push(stored);
      const reason = describeMarks(object.metadata, stored.value);
      if (reason !== undefined) onDamage({ ...place, reason, isAnswered: true });
    } catch (thrown) {
      onDamage({ ...place, reason: messageOf(thrown), isAnswered: false });
    }
  }
  return readable;
}

/** What is wrong with labels and annotations, and how to mend it; undefined when nothing is. */
function describeMarks({ name = "", labels = {}, annotations = {} }: ObjectMeta, block: Block): string | undefined {
  const isLabel = (key: string): boolean => LABELS.includes(key) || key.startsWith(HOLDER_LABELS);
  const wrongLabels = compare(labels, labelsOf(block), isLabel);
  const wrongAnnotations = compare(annotations, annotationsOf(block), (key) => ANNOTATIONS.includes(key));
  if (wrongLabels.length + wrongAnnotations.length === 0) return undefined;
  const faults = [
    ...wrongLabels.map((wrong) => `label ${describe(wrong)}`),
    ...wrongAnnotations.map((wrong) => `annotation ${describe(wrong)}`),
  ];
  const commands = [...toCommand("label", name, wrongLabels), ...toCommand("annotate", name, wrongAnnotations)];
  return `${faults.join(", ")}, so that it is not found as what it is; the block's next write mends that, or: ${commands.join("; ")}`;
}

interface Wrong {
  readonly key: string;
  readonly got: string | undefined;
  /** undefined: it does not belong there. */
  readonly want: string | undefined;
}

/** What people add under keys of their own is theirs. */
function compare(got: Texts, want: Texts, isOurs: (key: string) => boolean): readonly Wrong[] {
  const keys = [...Object.keys(want), ...Object.keys(got).filter((key) => isOurs(key) && want[key] === undefined)];
  return keys.map((key) => ({ key, got: got[key], want: want[key] })).filter((one) => one.got !== one.want);
}

function describe({ key, got, want }: Wrong): string {
  if (got === undefined) return `${quote(key)} is missing`;
  return want === undefined ? `${quote(key)} does not belong there` : `${quote(key)} is ${quote(got)}, want ${quote(want)}`;
}

function toCommand(verb: "label" | "annotate", name: string, wrong: readonly Wrong[]): readonly string[] {
  if (wrong.length === 0) return [];
  const changes = wrong.map(({ key, want }) => (want === undefined ? `${key}-` : toShellWord(`${key}=${want}`)));
  return [`kubectl ${verb} --overwrite ipamblocks.netplug.io ${name} ${changes.join(" ")}`];
}

/** A node's name in an annotation may be any text. */
function toShellWord(text: string): string {
  return /^[\w./=-]*$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}
