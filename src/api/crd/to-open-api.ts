/** The valibot schema of a kind as a structural OpenAPI schema. */

import type * as v from "valibot";
import type { OpenApiSchema } from "./custom-resource-definition.ts";
import type { AnyFieldTexts, CelRules } from "./definition.ts";
import { type Action, actionsOf, type Entries, inspect, unwrap } from "../schema/inspect.ts";
import { formOf } from "./field-forms.ts";

/** What the schema itself does not hold. */
export interface Additions {
  readonly rules: CelRules;
  /** Collects the paths whose rules have found their place. */
  readonly placed: Set<string>;
  /** By name of the field: of the outermost object only. */
  readonly defaults: Readonly<Record<string, unknown>>;
}

/**
 * Converts a schema and everything in it.
 *
 * @param path where it is in the object, as in {@link CelRules}
 * @param fields what the fields of the object, or of the objects in the list, are
 * @throws {TypeError} a check that has no counterpart, a field without a description
 */
export function toOpenApi(schema: v.GenericSchema, path: string, fields: AnyFieldTexts | undefined, additions: Additions): OpenApiSchema {
  additions.placed.add(path);
  const form = formOf(schema) ?? structureOf(schema, path, fields, additions);
  const rules = [...(form["x-kubernetes-validations"] ?? []), ...(additions.rules[path] ?? [])];
  return rules.length === 0 ? form : { ...form, "x-kubernetes-validations": rules };
}

function structureOf(schema: v.GenericSchema, path: string, fields: AnyFieldTexts | undefined, additions: Additions): OpenApiSchema {
  const inspected = inspect(schema);
  if (inspected === undefined) throw new TypeError(`describe "${path}": no type of OpenAPI is what "${schema.type}" is`);
  switch (inspected.type) {
    case "object":
      return toObject(inspected.entries, path, fields, additions);
    case "array": {
      const items = toOpenApi(inspected.item, `${path}[]`, fields, additions);
      return { type: "array", ...checksOf(schema, path, "maxItems"), items, "x-kubernetes-list-type": "atomic" };
    }
    case "record": {
      const additionalProperties = toOpenApi(inspected.value, `${path}{}`, undefined, additions);
      return { type: "object", ...checksOf(schema, path), additionalProperties, ...keyRule(inspected.key) };
    }
    case "picklist":
      return { type: typeof inspected.options[0] === "number" ? "integer" : "string", enum: inspected.options };
    case "string":
    case "number":
    case "boolean":
      return { type: inspected.type, ...checksOf(schema, path) };
  }
}

function toObject(entries: Entries, path: string, fields: AnyFieldTexts | undefined, additions: Additions): OpenApiSchema {
  const properties: Record<string, OpenApiSchema> = {};
  const required: string[] = [];
  for (const [name, entry] of Object.entries(entries)) {
    const { schema, isOptional } = unwrap(entry);
    const text = fields?.[name];
    if (text === undefined) throw new TypeError(`describe "${path}.${name}": got no description, want one`);
    const [description, inner] = typeof text === "string" ? [text] : text;
    const property = toOpenApi(schema, `${path}.${name}`, inner, { ...additions, defaults: {} });
    const preset = additions.defaults[name];
    properties[name] = { description, ...property, ...(preset === undefined ? {} : { default: preset }) };
    if (!isOptional) required.push(name);
  }
  return { type: "object", properties, ...(required.length === 0 ? {} : { required }) };
}

/** Keys have no schema of their own in OpenAPI. */
function keyRule(key: v.GenericSchema): Pick<OpenApiSchema, "x-kubernetes-validations"> {
  const pattern = actionsOf(key).find(({ type }) => type === "regex")?.requirement;
  if (!(pattern instanceof RegExp)) return {};
  const rule = `self.all(key, key.matches(${JSON.stringify(pattern.source.replaceAll("\\/", "/"))}))`;
  return {
    "x-kubernetes-validations": [
      { rule, message: "want keys of the form name or dns.prefix/name, each name of at most 63 letters, digits, _, . or -" },
    ],
  };
}

/** @param size what the length of such a value is called */
function checksOf(schema: v.GenericSchema, path: string, size: "maxItems" | "maxLength" = "maxLength"): OpenApiSchema {
  return Object.assign({}, ...actionsOf(schema).map((action) => toCheck(action, path, size))) as OpenApiSchema;
}

function toCheck({ kind, type, requirement }: Action, path: string, size: "maxItems" | "maxLength"): OpenApiSchema {
  if (kind === "metadata") return {};
  if (requirement instanceof RegExp && type === "regex") return { pattern: requirement.source.replaceAll("\\/", "/") };
  if (typeof requirement === "number") {
    if (type === "min_value") return { minimum: requirement };
    if (type === "max_value") return { maximum: requirement };
    if (type === "max_entries") return { maxProperties: requirement };
    if (type === "max_length") return { [size]: requirement };
  }
  if (type === "integer") return { type: "integer" };
  if (type === "finite") return {}; // JSON has no other numbers
  throw new TypeError(`describe "${path}": no rule of OpenAPI says what check "${type}" does`);
}
