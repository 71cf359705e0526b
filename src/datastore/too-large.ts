/** A write that etcd refuses for its size, on either datastore. */

/** @see etcd api/v3/v3rpc/rpctypes ErrRequestTooLarge; gRPC's own limit; the limit of an API server */
const TOO_LARGE = /too large|larger than max/;

/** What to do about it, for the end of a message: only the record of a block can grow so far. */
export function adviceIfTooLarge(message: string): string {
  return TOO_LARGE.test(message)
    ? "; a block names the owner of each of its addresses: for names so long make a pool with a longer blockSize"
    : "";
}
