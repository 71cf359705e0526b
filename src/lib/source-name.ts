/** How messages call what a person names to be read: a file, a pipe, or `-`, which is stdin. */

import { quote } from "./quote.ts";

/** In a place where nothing else can stand. */
export function toSourceName(source: string): string {
  return source === "-" ? "stdin" : source;
}

/** Within a sentence, in quotes if it is a path. */
export function toSourceText(source: string): string {
  return source === "-" ? "stdin" : quote(source);
}
