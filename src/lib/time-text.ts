/** Times as people and Kubernetes write them. */

/** RFC 3339 in UTC, to the second: one form for all that is stored. @param seconds since 1970 */
export function toTimeText(seconds: number): string {
  const date = new Date(seconds * 1000);
  return Number.isNaN(date.getTime()) ? `second ${seconds}` : `${date.toISOString().slice(0, -5)}Z`;
}
