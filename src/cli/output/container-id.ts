/** A container's ID in a table: of a long hexadecimal number its first 13 digits tell it from others, of a name (`default-web-1` of `ctr`) each letter. */
export function toShortID(containerID: string): string {
  return containerID.replace(/([\da-f]{13})[\da-f]{19,}/, "$1");
}
