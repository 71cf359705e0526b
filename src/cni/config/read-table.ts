/** Reading an object by its table: defaults, faults, misspellings. */

import { isJsonObject } from "../../lib/json.ts";
import { nearestName } from "../../lib/nearest.ts";
import { quote } from "../../lib/quote.ts";
import { type Field, FieldFault, type Section, type Table, type Values } from "./field.ts";
import { isEmpty, type ReadContext, readValue, wantedOf } from "./read-value.ts";

type Document = Readonly<Record<string, unknown>>;

/** Unknown keys that are looked at in one config: nobody misspells more, and each costs a comparison with every known one. */
const MAX_UNKNOWN_KEYS = 50;

/** Reads the documents of one call. */
export class TableReader implements ReadContext {
  /** What was wrong and did no harm, in the order it was found. */
  readonly warnings: string[] = [];
  readonly #isTolerant: boolean;
  #unknownKeys = 0;

  /** @param isTolerant whether a fault in a key that is not needed becomes a warning and leaves the default */
  constructor(isTolerant: boolean) {
    this.#isTolerant = isTolerant;
  }

  /**
   * What a document says, by its table. It is the keys of the document that are gone through, a handful, not those of the table.
   *
   * @throws {FieldFault}
   */
  read<T extends Table>(table: T, document: Document): Values<T> {
    // The shape of the values follows the table's key by key.
    return this.#readTable(table, document, "", true) as Values<T>;
  }

  checkSpelling(document: Document, known: object, place: string): void {
    for (const key of Object.keys(document)) if (!Object.hasOwn(known, key)) this.#warnIfMisspelt(key, known, place);
  }

  #warnIfMisspelt(key: string, known: object, place: string): void {
    if (++this.#unknownKeys > MAX_UNKNOWN_KEYS) return;
    const meant = nearestName(key, Object.keys(known));
    if (meant === undefined) return;
    this.warnings.push(`key ${quote(within(place, key))} is unknown and has no effect: was ${quote(within(place, meant))} meant?`);
  }

  #readTable(table: Table, document: Document, place: string, isOurs: boolean): Document {
    const values: Record<string, unknown> = {};
    for (const key of Object.keys(document)) {
      const kind = Object.hasOwn(table, key) ? table[key] : undefined;
      if (kind === undefined) {
        if (isOurs) this.#warnIfMisspelt(key, table, place);
        continue;
      }
      const given = document[key];
      if (kind.kind === "foreign" || given === null) continue;
      const value =
        kind.kind === "section" ? this.#readSection(kind, given, within(place, key)) : this.#readField(kind, given, within(place, key));
      if (value !== undefined) values[key] = value;
    }
    return values;
  }

  #readSection({ table, knownTypes }: Section<Table>, given: unknown, place: string): Document | undefined {
    if (isJsonObject(given)) return this.#readTable(table, given, place, knownTypes === undefined || knownTypes.includes(given["type"]));
    this.#onFault(new FieldFault(place, given, "an object"), isNeeded(table));
    return undefined;
  }

  #readField(field: Field, given: unknown, place: string): unknown {
    if ((given === "" || given === 0) && isEmpty(field, given)) return undefined;
    try {
      const value = readValue(field, given, place, this);
      if (value !== undefined) return value;
      throw new FieldFault(place, given, wantedOf(field), field.isSecret);
    } catch (thrown) {
      if (!(thrown instanceof FieldFault)) throw thrown;
      this.#onFault(thrown, field.needed === true);
      return undefined;
    }
  }

  #onFault(fault: FieldFault, isNeededHere: boolean): void {
    if (isNeededHere || !this.#isTolerant) throw fault;
    this.warnings.push(`${fault.message}; not needed here, the default is used`);
  }
}

/** Whether a section holds a key that DEL and GC need. */
function isNeeded(table: Table): boolean {
  return Object.values(table).some((kind) => (kind.kind === "section" ? isNeeded(kind.table) : "needed" in kind));
}

function within(place: string, key: string): string {
  return place === "" ? key : `${place}.${key}`;
}
