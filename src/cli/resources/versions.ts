/** Comparing versions: of this program, of a cluster, of Kubernetes. */

/** How many numbers count where two versions are compared. */
const COUNTED = { minor: 2, patch: 3 } as const;

/**
 * Whether a version, such as `v1.36.0` or `1.31`, is older than another one. False where one of them is no version.
 *
 * @param by the last number that counts
 */
export function isOlder(version: string | undefined, than: string | undefined, by: keyof typeof COUNTED): boolean {
  const [own, other] = [numbersOf(version), numbersOf(than)];
  if (own.length === 0 || other.length === 0) return false;
  for (let at = 0; at < COUNTED[by]; at++) {
    // One without a patch is older than those with one.
    const difference = (own[at] ?? -1) - (other[at] ?? -1);
    if (difference !== 0) return difference < 0;
  }
  return false;
}

/** Whether a text is a version: names at least its major and minor number. */
export function isVersion(text: string | undefined): boolean {
  return numbersOf(text).length > 0;
}

function numbersOf(text: string | undefined): readonly number[] {
  const [, ...numbers] = /^v?(\d{1,5})\.(\d{1,5})(?:\.(\d{1,5}))?/.exec(text ?? "") ?? [];
  return numbers.filter((number) => number !== undefined).map(Number);
}
