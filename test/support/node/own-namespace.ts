/** For tests that change the packet filter of the node they run on. */

/** @throws Error outside of `npm test`, which gives its runs a namespace of their own */
export function requireOwnNamespace(part: string): void {
  if (process.env["NETPLUG_TEST_RUN"] !== undefined) return;
  throw new Error(
    `portmap changes the packet filter of the node: run this by \`npm run test:${part}\`, which gives it a namespace of its own`,
  );
}
