/** What `ipam show` and `get ipamblocks` print of blocks, and what they leave out. */

interface Printed {
  readonly status: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** A command's answer, with the CIDRs of the blocks in it. */
export interface BlocksPrinted extends Printed {
  readonly cidrs: readonly string[];
}

/** @param ctl runs `netplugctl` with these arguments */
export async function blocksShown(
  ctl: (args: readonly string[]) => Promise<Printed>,
): Promise<{ readonly show: BlocksPrinted; readonly get: BlocksPrinted }> {
  const show = await ctl(["ipam", "show", "-o", "json"]);
  const get = await ctl(["get", "ipamblocks", "-o", "json"]);
  const { blocks } = JSON.parse(show.stdout) as { readonly blocks: readonly { readonly cidr: string }[] };
  const { items } = JSON.parse(get.stdout) as { readonly items: readonly { readonly spec: { readonly cidr: string } }[] };
  return {
    show: { ...show, cidrs: blocks.map(({ cidr }) => cidr) },
    get: { ...get, cidrs: items.map(({ spec }) => spec.cidr) },
  };
}
