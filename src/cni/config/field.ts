/**
 * What one key of the network config may hold, as plain data: a plugin is started for every pod, and a table of literals costs it
 * a twentieth of a table of closures.
 */

import type { DatastoreConfig } from "../../datastore/config/datastore-config.ts";
import type { Attachment } from "../../ipam/request.ts";
import { quoteValue } from "../../lib/quote.ts";
import type { Address } from "../../lib/ip/address.ts";
import type { Prefix } from "../../lib/ip/prefix.ts";
import type { MacAddress } from "../../lib/mac-address.ts";

/** An entry of `args.cni.labels` in the network config. */
export interface Label {
  readonly key: string;
  readonly value: string;
}

/** Kinds of value, and what each becomes. */
interface KindValues {
  /** Without control characters. */
  readonly text: string;
  /** Absolute. */
  readonly path: string;
  /** Absolute, or "". */
  readonly socket: string;
  /** Name of an executable in `CNI_PATH`. */
  readonly plugin: string;
  /** `true` or `false`, never the text of them. */
  readonly flag: boolean;
  readonly url: string;
  readonly mac: MacAddress;
  readonly domain: string;
  /** Comma-separated URLs of etcd. */
  readonly endpoints: readonly string[];
  /** What follows the scheme in a URL of etcd. */
  readonly authority: string;
}

/** Kinds of list entry, and what each becomes. */
interface EntryValues {
  readonly pool: string;
  readonly url: string;
  readonly address: Address;
  readonly route: Prefix;
  readonly label: Label;
  readonly attachment: Attachment;
}

/** Which verbs that remove things need a key to find them: DEL and GC, or GC alone. */
export type Need = "removal" | "GC";

/** Values of `datastore_type`. */
export type DatastoreType = DatastoreConfig["type"];

/** Null counts as absent for every kind, empty text for kinds that are text unless the field is strict. */
interface Traits {
  readonly needed?: Need;
  /** The field is not needed when this other key is there. */
  readonly unless?: string;
  /** The field is needed only with this `datastore_type`. */
  readonly datastore?: DatastoreType;
  /** The value is a password. */
  readonly isSecret?: true;
}

/** A value whose kind alone says what is allowed. */
type ScalarField = Traits & { readonly kind: keyof KindValues };
/** Both limits are allowed. With `zeroIsAbsent` 0 is too, and means the default. */
export type IntegerField = Traits & { readonly kind: "integer"; readonly min: number; readonly max: number; readonly zeroIsAbsent?: true };
/** One of a few values; a strict one is not absent when it is empty. */
export type EnumField = Traits & {
  readonly kind: "enum";
  readonly values: readonly string[];
  readonly anyCase?: true;
  readonly strict?: true;
};
/** Entries of one kind; how each is read, `entry-readers.ts` says. */
type ListField = Traits & { readonly kind: "list"; readonly of: keyof EntryValues };
/** A key that others read: we know its name only, for the check of spelling. */
type ForeignField = { readonly kind: "foreign" };
/**
 * An object whose keys are known, unless its `type` is not in `knownTypes`: then it is another plugin's, with keys of its own. A value that
 * is no object, in the place of an old section, stops no DEL or GC: newer keys say where the datastore is.
 */
export type Section<T> = {
  readonly kind: "section";
  readonly table: T;
  readonly knownTypes?: readonly unknown[];
  readonly isOld?: true;
};

/** A key whose value is ours to check, as `readValue()` takes it. */
export type Field = ScalarField | IntegerField | EnumField | ListField;
/** The keys that one object of the network config may have; others are ignored, but for the warning of a misspelling. */
export type Table = { readonly [key: string]: Field | ForeignField | Section<Table> };
/** By it `readList()` chooses how an entry is read. */
export type EntryKind = keyof EntryValues;

/** What a list entry of a kind becomes. */
export type Entry = EntryValues[EntryKind];

type ValueOf<F> =
  F extends Section<infer Inner>
    ? Values<Inner>
    : F extends { readonly kind: "enum"; readonly values: readonly (infer V)[] }
      ? V
      : F extends { readonly kind: "integer" }
        ? number
        : F extends { readonly kind: "list"; readonly of: infer E extends EntryKind }
          ? readonly EntryValues[E][]
          : F extends { readonly kind: infer K extends keyof KindValues }
            ? KindValues[K]
            : never;

/** What reading a table gives: every value checked; what is absent is not there. */
export type Values<T> = { readonly [K in keyof T]?: ValueOf<T[K]> };

/** A value that is not allowed, and where. */
export class FieldFault extends TypeError {
  override readonly name = "FieldFault";

  constructor(place: string, found: unknown, wanted: string, isSecret = false) {
    // Not `"password": got`, which the redaction of logs and errors would turn into `"password": [redacted]`.
    const what = isSecret ? `read "${place}" (never shown)` : `read "${place}"`;
    super(`${what}: got ${isSecret || mayHoldPassword(found) ? describeKind(found) : quoteValue(found)}, want ${wanted}`);
  }
}

function describeKind(found: unknown): string {
  if (typeof found === "string") return "a text that is not allowed";
  return typeof found === "number" ? "a number" : typeof found === "boolean" ? "a flag" : quoteValue(found);
}

/** A URL with user information, or what was meant to be one. */
function mayHoldPassword(found: unknown): boolean {
  return typeof found === "string" && found.includes("@");
}
