/** A commit as steps, each one request, in phases of which every beginning is safe. */

import type { CustomKind } from "../../../api/resource.ts";
import type { KubeClient } from "../../../kube/client.ts";
import { NODES } from "../../../kube/core-types.ts";
import type { KubeReason } from "../../../kube/kube-error.ts";
import { KubeError } from "../../../kube/kube-error.ts";
import { NetplugError } from "../../../lib/errors.ts";
import type { Prefix } from "../../../lib/ip/prefix.ts";
import { quote } from "../../../lib/quote.ts";
import type { RequestOptions, ResourceRef, Revision, Write, WriteOf } from "../../datastore.ts";
import { refOf } from "../../resource-ref.ts";
import { requireDistinctTargets } from "../../write-targets.ts";
import { toBlockName } from "../objects/block-name.ts";
import { toBlockObject } from "../objects/block-object.ts";
import { revisionOf, toNewObject, toReplacement } from "../objects/custom-object.ts";
import { toBlockError, toEndpointError, toResourceError } from "../objects/failure.ts";
import { toNodePatch } from "../objects/node-view.ts";
import { IPAM_BLOCKS, isCustom, typeOf } from "../objects/resource-types.ts";
import { clearEndpoint, isWithoutAddresses, writeEndpoint } from "./endpoint-writes.ts";

/**
 * The phases of a commit, in order; steps of one phase run side by side. Wherever a commit stops, no endpoint has an address that is free in
 * its block:
 *
 * 1. endpoints that end lose their addresses
 * 2. blocks and all other resources are written: addresses are allocated and released
 * 3. resources are deleted, after those that replace them were written
 * 4. endpoints get the addresses that were allocated
 */
export const PHASES = ["end-endpoints", "write", "delete", "record-endpoints"] as const;

/** When in a commit a step runs. */
export type Phase = (typeof PHASES)[number];

/** How a step ended: the new revision, or "" after a deletion; undefined: a condition did not hold, and nothing was done. */
export type StepOutcome = Revision | undefined;

/** One write of a commit: a request, for an endpoint up to three. */
export interface Step {
  readonly phase: Phase;
  readonly ref: ResourceRef | undefined;
  /** The block that it claims: when that fails, others have it. */
  readonly claims?: Prefix | undefined;
  readonly run: (client: KubeClient, options: RequestOptions) => Promise<StepOutcome>;
}

type ResourceWrite = WriteOf<"create" | "update" | "delete">;
type BlockWrite = WriteOf<"create-block" | "update-block" | "delete-block">;

/** For requests about our own types: one that would lose a field fails instead. */
const STRICT = { isStrict: true } as const;

/**
 * The step of each write that is one.
 *
 * @throws NetplugError for what can never be done; before anything is
 */
export function toSteps(writes: readonly Write[]): readonly Step[] {
  requireDistinctTargets(writes);
  return writes.flatMap((write) => toStep(write) ?? []);
}

function toStep(write: Write): Step | undefined {
  switch (write.op) {
    case "expect":
    case "expect-block":
      return undefined;
    case "create":
    case "update":
    case "delete":
      return toResourceStep(write);
    default:
      return toBlockStep(write);
  }
}

function toBlockStep(write: BlockWrite): Step {
  const claims = write.op === "create-block" ? write.block.cidr : undefined;
  return { phase: "write", ref: undefined, claims, run: translating(toBlockRun(write), toBlockError) };
}

function toBlockRun(write: BlockWrite): Step["run"] {
  switch (write.op) {
    case "create-block":
      return async (client, options) => revisionOf(await client.create(IPAM_BLOCKS, toBlockObject(write.block), { ...options, ...STRICT }));
    case "update-block": {
      const object = toBlockObject(write.block, write.previous.revision);
      return async (client, options) => revisionOf(await client.update(IPAM_BLOCKS, object, { ...options, ...STRICT }));
    }
    case "delete-block":
      return async (client, options) => {
        const { value, revision } = write.previous;
        const name = toBlockName(value.cidr);
        return (await client.delete(IPAM_BLOCKS, { name }, { ...options, resourceVersion: revision })) ? GONE : undefined;
      };
  }
}

function toResourceStep(write: ResourceWrite): Step {
  const ref = write.op === "delete" ? write.ref : refOf(write.resource);
  const { kind } = ref;
  if (kind === "WorkloadEndpoint") {
    const isEnd = write.op === "delete" || isWithoutAddresses(write.resource);
    const revision = write.op === "create" ? undefined : write.revision;
    const run = write.op === "delete" ? clearEndpoint(ref, revision) : writeEndpoint(ref, write.resource, revision);
    return { phase: isEnd ? "end-endpoints" : "record-endpoints", ref: undefined, run: translating(run, toEndpointError) };
  }
  const run = isCustom(kind) ? toCustomRun(kind, ref, write) : toNodeRun(ref, write);
  return { phase: write.op === "delete" ? "delete" : "write", ref, run: translating(run, toResourceError) };
}

function toCustomRun(kind: CustomKind, { name }: ResourceRef, write: ResourceWrite): Step["run"] {
  const type = typeOf(kind);
  switch (write.op) {
    case "create":
      return async (client, options) => revisionOf(await client.create(type, toNewObject(write.resource), { ...options, ...STRICT }));
    case "update":
      return async (client, options) => {
        const operations = toReplacement(write.resource, write.revision);
        return revisionOf(await client.patch(type, { name }, { type: "json", operations }, { ...options, ...STRICT }));
      };
    case "delete":
      return async (client, options) => {
        const isDeleted = await client.delete(type, { name }, { ...options, resourceVersion: write.revision });
        return isDeleted || write.revision === undefined ? GONE : undefined;
      };
  }
}

function toNodeRun({ name }: ResourceRef, write: ResourceWrite): Step["run"] {
  if (write.op !== "update") {
    throw new NetplugError(
      "invalidConfig",
      `${write.op} node ${quote(name)}: on the Kubernetes datastore nodes are Kubernetes' own, which come and go with it`,
    );
  }
  return async (client, options) => {
    const operations = toNodePatch(write.resource, write.revision);
    return revisionOf(await client.patch(NODES, { name }, { type: "json", operations }, options));
  };
}

/** The revision of what is gone. */
const GONE = "" as Revision;

/** What says that something is not as the write expects it. */
const CONFLICTS: ReadonlySet<KubeReason> = new Set(["conflict", "alreadyExists", "notFound", "otherObject"]);

/** The same run, whose failures are translated: a conflict into its outcome, any other by `toError`. */
function translating(run: Step["run"], toError: (thrown: unknown) => unknown): Step["run"] {
  return async (client, options) => {
    try {
      return await run(client, options);
    } catch (thrown) {
      if (thrown instanceof KubeError && CONFLICTS.has(thrown.reason) && !thrown.isOutcomeUnknown) return undefined;
      throw toError(thrown);
    }
  };
}
