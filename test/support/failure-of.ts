/** For tests: what an operation that must fail fails with. */

import { NetplugError } from "../../src/lib/errors.ts";

type ErrorClass<E extends Error> = abstract new (...args: never[]) => E;

/**
 * Not `expect(…).rejects`: while that waits, Bun's `node:http2` stands still.
 *
 * @param type what the error must be. @default NetplugError
 * @throws Error when the operation succeeds, or fails with something else
 */
export async function failureOf(operation: Promise<unknown>): Promise<NetplugError>;
export async function failureOf<E extends Error>(operation: Promise<unknown>, type: ErrorClass<E>): Promise<E>;
export async function failureOf(operation: Promise<unknown>, type: ErrorClass<Error> = NetplugError): Promise<Error> {
  const thrown = await operation.then(
    (value) => {
      throw new Error(`no failure: ${Bun.inspect(value)}`);
    },
    (reason: unknown) => reason,
  );
  if (thrown instanceof type) return thrown;
  throw new Error(`want a ${type.name}, got ${String(thrown)}`, { cause: thrown });
}
