/** YAML that people write. The parser is loaded only where there is some to read. */

import type { Event } from "js-yaml";
import { messageOf } from "../../lib/errors.ts";
import { quote } from "../../lib/quote.ts";

/** Objects and lists inside each other, in one document. */
const MAX_DEPTH = 100;

/** The message shows something of the text only where it is `syntax`, or the name of a key. */
export type YamlFault = "syntax" | "duplicateKey" | "encoding";

/** What is no YAML, or what parsers take silently and so that something is lost. */
export class YamlError extends SyntaxError {
  override readonly name = "YamlError";
  /** Such as `line 5, column 3`, for messages that must not show the text; the message begins with it. */
  readonly place: string;
  readonly what: YamlFault;

  constructor(place: string, fault: string, what: YamlFault = "syntax") {
    super(`${place}: ${fault}`);
    this.place = place;
    this.what = what;
  }
}

/** Where the parser's own words do not say what a person did. */
const FAULTS: Readonly<Record<string, string>> = {
  "bad indentation of a mapping entry": "bad indentation, or a text that needs quotes",
  "deficient indentation": "bad indentation, or a bracket or quote that is never closed",
  [`nesting exceeded maxDepth (${MAX_DEPTH})`]: `more than ${MAX_DEPTH} levels inside each other`,
};

const DUPLICATE_KEY = "duplicated mapping key";
const TAG_NEEDS_QUOTES = 'a text that begins with "!" needs quotes in YAML, where it is a tag';

/** A value that begins with one `!`, as in `nodeSelector: !has(gpu) || all()`. */
const LINE_WITH_TAG = /^[^"'#]*(?:^|[-:?,[{])[ \t]*!(?!!)/;

/**
 * The values of all documents, by the core schema of YAML 1.2, with `<<`. Aliases give the same object again: what they unfold to may be
 * larger than the text by far, or endless.
 *
 * @throws {YamlError} also for a key that appears twice in one object, and for a tag that is none of YAML's own
 */
export async function parseYaml(text: string): Promise<readonly unknown[]> {
  requireUtf8(text);
  const yaml = await import("js-yaml");
  let events: Event[] = [];
  try {
    events = yaml.parseEvents(text, { maxDepth: MAX_DEPTH });
    const bareTag = events.find((event) => "tagStart" in event && text.slice(event.tagStart, event.tagEnd) === "!");
    // To the parser it is no tag at all, and the "!" is lost.
    if (bareTag !== undefined && "tagStart" in bareTag) throw new YamlError(toPlace(text, bareTag.tagStart), TAG_NEEDS_QUOTES);
    return yaml.constructFromEvents(events, { source: text, schema: yaml.CORE_SCHEMA.withTags(yaml.mergeTag) });
  } catch (thrown) {
    if (!(thrown instanceof yaml.YAMLException)) throw thrown instanceof YamlError ? thrown : new YamlError("the text", messageOf(thrown));
    const { reason, mark } = thrown;
    const position = mark?.position ?? 0;
    const place = toPlace(text, position);
    if (reason === DUPLICATE_KEY) {
      const key = events.find((event) => "valueStart" in event && event.valueStart === position);
      const name = key !== undefined && "valueStart" in key ? quote(yaml.getScalarValue(text, key)) : "of an object";
      throw new YamlError(place, `the key ${name} appears twice in one object`, "duplicateKey");
    }
    const isTag = /^unknown \w+ tag /.test(reason) || LINE_WITH_TAG.test(lineAt(text, position));
    throw new YamlError(place, isTag ? TAG_NEEDS_QUOTES : (FAULTS[reason] ?? reason));
  }
}

/** Bytes that are no UTF-8 were read as U+FFFD: what they meant would be lost. @throws {YamlError} */
function requireUtf8(text: string): void {
  const at = text.indexOf("\ufffd");
  if (at >= 0)
    throw new YamlError(toPlace(text, at), "got bytes that are no UTF-8, or U+FFFD, which stands for them; save it as UTF-8", "encoding");
}

/**
 * Refuses keys that appear twice in one object, in text that is JSON: its parser does not tell.
 *
 * @throws {YamlError} for a key that appears twice in one object
 */
export async function requireUniqueKeys(json: string): Promise<void> {
  try {
    // JSON is YAML, but for characters that YAML wants escaped.
    await parseYaml(json.replace(/[\u007f-\u009f\ufeff\ufffe\uffff]/g, "?"));
  } catch (thrown) {
    if (!(thrown instanceof YamlError && thrown.what === "syntax")) throw thrown;
  }
}

function toPlace(text: string, position: number): string {
  const before = text.slice(0, position).split(/\r\n|\r|\n/);
  return `line ${before.length}, column ${(before.at(-1)?.length ?? 0) + 1}`;
}

function lineAt(text: string, position: number): string {
  const start = text.lastIndexOf("\n", position - 1) + 1;
  return text.slice(start).split("\n", 1)[0] ?? "";
}
