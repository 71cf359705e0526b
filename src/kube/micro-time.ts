/** Times as leases and events write them. */

/** RFC 3339 with microseconds, from milliseconds since 1970: the API server refuses fewer digits in a field of type MicroTime. */
export function toMicroTime(ms: number): string {
  return new Date(ms).toISOString().replace("Z", "000Z");
}
