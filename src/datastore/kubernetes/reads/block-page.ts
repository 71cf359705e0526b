/** Pages of all blocks, so that nobody who looks at each of them once must keep them all, or ask for each by its name. */

import { isKubeError } from "../../../kube/kube-error.ts";
import type { BlockPage, BlockPageStart } from "../../datastore.ts";
import { type BlockObject, IPAM_BLOCKS } from "../objects/resource-types.ts";
import type { Batch } from "./batch.ts";

/**
 * Its pages show one state. When that is too old before the last page, all other blocks come at once as they are by then; since an API server
 * lists objects by their names, these are the ones behind the last name.
 */
export async function listBlockPage(
  from: BlockPageStart | undefined,
  batch: Batch,
): Promise<Pick<BlockPage, "next"> & { readonly objects: readonly BlockObject[] }> {
  const [token, before = ""] = from?.split(" ") ?? [];
  try {
    const { items, continueToken } = await batch.listPage(IPAM_BLOCKS, token);
    const last = items.at(-1)?.metadata.name ?? before;
    return { objects: items, next: continueToken === undefined ? undefined : (`${continueToken} ${last}` as BlockPageStart) };
  } catch (thrown) {
    if (token === undefined || !isKubeError(thrown, "expired")) throw thrown;
    const all = await batch.list(IPAM_BLOCKS);
    return { objects: all.filter(({ metadata: { name = "" } }) => name > before), next: undefined };
  }
}
