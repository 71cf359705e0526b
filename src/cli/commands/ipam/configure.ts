/** `ipam configure`: the cluster's settings of address management. */

import { SINGLETON_NAME } from "../../../api/cluster-information.ts";
import type { IPAMConfigurationSpec } from "../../../api/ipam-configuration.ts";
import { API_VERSION } from "../../../api/resource.ts";
import { withDatastore } from "../../access/access.ts";
import { EXIT, UsageError } from "../../failures/failure.ts";
import { type Cli, say } from "../../io.ts";
import { withRetries } from "../../resources/compare-and-swap.ts";
import { NotFound } from "../../resources/object-name.ts";
import { validateObject } from "../../documents/validation.ts";
import { createResource, updateResource } from "../../resources/write.ts";

/** Changes what is given, which must be one setting at least; the rest stays as it is. */
export async function ipamConfigure(cli: Cli, flags: IPAMConfigurationSpec): Promise<number> {
  const { strictAffinity, autoAllocateBlocks, maxBlocksPerHost, ipCooldownSeconds } = flags;
  const changes = Object.entries({ strictAffinity, autoAllocateBlocks, maxBlocksPerHost, ipCooldownSeconds }).filter(
    ([, value]) => value !== undefined,
  );
  if (changes.length === 0)
    throw new UsageError(
      "read options: got none, want --strict-affinity, --auto-allocate-blocks, --max-blocks-per-host or --ip-cooldown-seconds",
    );
  const ref = { kind: "IPAMConfiguration", name: SINGLETON_NAME } as const;
  const changed = (metadata: object, spec: object) =>
    validateObject({ apiVersion: API_VERSION, kind: ref.kind, metadata, spec: { ...spec, ...Object.fromEntries(changes) } });
  const spec = await withDatastore(cli, (datastore) =>
    withRetries("configure address management", async () => {
      const target = { datastore, io: cli.io };
      try {
        const { resource } = await updateResource(target, ref, (current) => changed(current.metadata, current.spec as object));
        return resource.spec;
      } catch (error) {
        if (!(error instanceof NotFound)) throw error;
        const result = await createResource(target, changed({ name: SINGLETON_NAME }, {}));
        return "created" in result ? result.created.spec : undefined;
      }
    }),
  );
  for (const [key] of changes) say(cli, `${key}: ${String((spec as Readonly<Record<string, unknown>>)[key])}`);
  return EXIT.done;
}
