/** For tests: how long something takes. */

/** @returns milliseconds */
export async function durationOf(work: () => unknown): Promise<number> {
  const start = performance.now();
  await work();
  return performance.now() - start;
}
