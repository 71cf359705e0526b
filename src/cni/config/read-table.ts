/** Reading an object by its table: faults, misspellings. */

import { isJsonObject, type JsonObject } from "../../lib/json.ts";
import { type Field, FieldFault, type Need, type Section, type Table, type Values } from "./field.ts";
import type { Findings } from "./findings.ts";
import { isEmpty, readValue, wantedOf } from "./read-value.ts";
import { warnIfMisspelt, within } from "./spelling.ts";
import { NETWORK_CONFIG } from "./tables.ts";

/** What reading the network config gives. */
export type ConfigValues = Values<typeof NETWORK_CONFIG>;

/** Reads the network config by its table. @throws {FieldFault} */
export function readKeys(document: JsonObject, findings: Findings): ConfigValues {
  // The shape of the values follows the table's key by key.
  return readObject(NETWORK_CONFIG, document, "", true, findings);
}

/**
 * Goes through the keys of the document, which are few, not through those of the table.
 *
 * @param isOurs whether an unknown key is worth a look
 */
function readObject(table: Table, document: JsonObject, place: string, isOurs: boolean, findings: Findings): JsonObject {
  const values: Record<string, unknown> = {};
  for (const key of Object.keys(document)) {
    const kind = Object.hasOwn(table, key) ? table[key] : undefined;
    if (kind === undefined) {
      if (isOurs) warnIfMisspelt(key, table, place, findings);
      continue;
    }
    const given = document[key];
    if (kind.kind === "foreign" || given === null) continue;
    const inner = within(place, key);
    const value = kind.kind === "section" ? readSection(kind, given, inner, findings) : readField(kind, given, inner, document, findings);
    if (value !== undefined) values[key] = value;
  }
  return values;
}

function readSection(
  { table, knownTypes, isOld }: Section<Table>,
  given: unknown,
  place: string,
  findings: Findings,
): JsonObject | undefined {
  if (isJsonObject(given)) {
    return readObject(table, given, place, knownTypes === undefined || knownTypes.includes(given["type"]), findings);
  }
  takeFault(new FieldFault(place, given, "an object"), isOld === true ? undefined : needOf(table, findings), findings);
  return undefined;
}

function readField(field: Field, given: unknown, place: string, document: JsonObject, findings: Findings): unknown {
  if ((given === "" || given === 0) && isEmpty(field, given)) return undefined;
  try {
    const value = readValue(field, given, place, findings);
    if (value !== undefined) return value;
    throw new FieldFault(place, given, wantedOf(field), field.isSecret);
  } catch (thrown) {
    if (!(thrown instanceof FieldFault)) throw thrown;
    takeFault(thrown, isSuperfluous(field, document) ? undefined : needOfField(field, findings), findings);
    return undefined;
  }
}

function isSuperfluous({ unless }: Field, document: JsonObject): boolean {
  const other = unless === undefined ? "" : document[unless];
  return typeof other === "string" && other !== "";
}

function needOfField({ needed, datastore }: Field, findings: Findings): Need | undefined {
  return datastore === undefined || datastore === findings.datastore ? needed : undefined;
}

/** Which verbs need a section: those that need a field in it. */
function needOf(table: Table, findings: Findings): Need | undefined {
  for (const kind of Object.values(table)) {
    const need = kind.kind === "section" ? needOf(kind.table, findings) : kind.kind === "foreign" ? undefined : needOfField(kind, findings);
    if (need !== undefined) return need;
  }
  return undefined;
}

/**
 * Keeps or throws the fault of one key; when this returns, the key's default is used. A broken config must not stop a pod's removal: DEL
 * always goes on, and reports a fault in a key that it needs at its end; GC goes on when it does not need the key.
 *
 * @throws {FieldFault} for all other verbs, and for GC when it needs the key
 */
function takeFault(fault: FieldFault, need: Need | undefined, { verb, warnings, faults }: Findings): void {
  if (verb === "DEL" && need === "removal") faults.push(fault);
  else if (verb === "DEL" || (verb === "GC" && need === undefined)) {
    warnings.push(`${fault.message}; not needed here, the default is used`);
  } else throw fault;
}
