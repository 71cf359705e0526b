/** For tests: waiting for what others do in their own time, where nothing can be watched. */

/** Tries until `succeeds` throws no more. @throws what it threw last, after 90 s or the time given */
export async function eventually<T>(succeeds: () => T | Promise<T>, limitMs = 90_000): Promise<T> {
  for (const end = performance.now() + limitMs; ; await Bun.sleep(100)) {
    try {
      return await succeeds();
    } catch (thrown) {
      if (performance.now() > end) throw thrown;
    }
  }
}
