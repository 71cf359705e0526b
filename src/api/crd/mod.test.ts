import { describe, expect, test } from "bun:test";
import { BUILT_IN_TIERS } from "../tier.ts";
import { withIPAMConfigurationDefaults } from "../ipam-configuration.ts";
import { KINDS } from "../registry.ts";
import { SCHEMAS } from "../schema/kinds.ts";
import type { OpenApiSchema } from "./custom-resource-definition.ts";
import { staticDefaults } from "./defaults.ts";
import { customResourceDefinitions } from "./mod.ts";

const definitions = customResourceDefinitions();

function definitionOf(kind: string) {
  const found = definitions.find(({ spec }) => spec.names.kind === kind);
  if (found === undefined) throw new Error(`no CRD of ${kind}`);
  const [version] = found.spec.versions;
  if (version === undefined) throw new Error(`no version of ${kind}`);
  return { ...found, version, schema: version.schema.openAPIV3Schema };
}

/** Every schema inside of a schema, with its path. */
function* inside(schema: OpenApiSchema, path: string): Generator<readonly [path: string, schema: OpenApiSchema]> {
  yield [path, schema];
  for (const [name, property] of Object.entries(schema.properties ?? {})) yield* inside(property, `${path}.${name}`);
  if (schema.items !== undefined) yield* inside(schema.items, `${path}[]`);
  if (schema.additionalProperties !== undefined) yield* inside(schema.additionalProperties, `${path}{}`);
}

const schemas = definitions.flatMap(({ spec }) =>
  spec.versions.flatMap(({ schema }) => [...inside(schema.openAPIV3Schema, spec.names.kind)]),
);

test("there is a CRD of every stored kind, and none of those that Kubernetes has itself", () => {
  const stored = Object.keys(KINDS).filter((kind) => kind !== "Node" && kind !== "WorkloadEndpoint");
  expect(definitions.map(({ spec }) => spec.names.kind).sort()).toEqual([...stored, "IPAMBlock"].sort());
  expect(definitions.map(({ metadata }) => metadata.name)).toEqual(definitions.map(({ metadata }) => metadata.name).sort());
});

describe("every schema is structural:", () => {
  // @see Kubernetes documentation, "Specifying a structural schema"
  test("each value has a type, or is a number or text by declaration", () => {
    for (const [path, schema] of schemas) {
      const isTyped = schema.type !== undefined || schema["x-kubernetes-int-or-string"] === true;
      expect([path, isTyped]).toEqual([path, true]);
    }
  });

  test("each object is either fields or a map, each list says what it holds", () => {
    for (const [path, { type, properties, additionalProperties, items }] of schemas) {
      const isWhole =
        type !== "object" || path.endsWith(".metadata") || (properties === undefined) !== (additionalProperties === undefined);
      expect([path, isWhole, (type === "array") === (items !== undefined)]).toEqual([path, true, true]);
    }
  });

  test("what is required exists, and what has a default is not required", () => {
    for (const [path, { required = [], properties = {} }] of schemas) {
      for (const name of required) expect([path, name, properties[name]?.default]).toEqual([path, name, undefined]);
      expect(Object.keys(properties)).toEqual(expect.arrayContaining([...required]));
    }
  });
});

test("every field has a description; only metadata may not have one", () => {
  const bare = schemas.flatMap(([path, { properties = {} }]) =>
    Object.entries(properties).flatMap(([name, { description }]) => (/^\p{Lu}.*\.$/u.test(description ?? "") ? [] : [`${path}.${name}`])),
  );
  expect(bare.filter((path) => !/^[A-Za-z]+\.metadata$/.test(path))).toEqual([]);
});

test("every pattern is one that JavaScript reads, too, and holds for the whole text", () => {
  for (const [path, { pattern }] of schemas) {
    if (pattern === undefined) continue;
    expect(() => new RegExp(pattern)).not.toThrow();
    expect([path, pattern.startsWith("^"), pattern.endsWith("$")]).toEqual([path, true, true]);
  }
});

test("kinds keep the names that netplugctl knows them by", () => {
  for (const { spec } of definitions) {
    const info = KINDS[spec.names.kind as keyof typeof KINDS];
    if (info === undefined) continue;
    expect(spec.names.plural).toBe(info.plural);
    expect(spec.names.shortNames ?? []).toEqual(info.shortNames);
    expect(spec.scope).toBe(info.namespaced ? "Namespaced" : "Cluster");
  }
  expect(definitionOf("IPPool").metadata.name).toBe("ippools.netplug.io");
});

describe("defaults", () => {
  const defaultsOf = (kind: string): Record<string, unknown> =>
    Object.fromEntries(
      Object.entries(definitionOf(kind).schema.properties?.["spec"]?.properties ?? {}).flatMap(([name, { default: preset }]) =>
        preset === undefined ? [] : [[name, preset]],
      ),
    );

  test("of a pool are those that depend on nothing else", () => {
    expect(defaultsOf("IPPool")).toEqual({
      vxlanMode: "Never",
      ipipMode: "Never",
      natOutgoing: false,
      disabled: false,
      disableBGPExport: false,
      nodeSelector: "all()",
      namespaceSelector: "",
      assignmentMode: "Automatic",
    });
  });

  test("never change what a reader makes of an object", () => {
    const selectors = [{ namespaceSelector: "has(a)" }, { podSelector: "has(a)" }];
    const pools = [{ cidr: "10.0.0.0/16" }, { cidr: "fd00::/64" }, ...selectors.map((one) => ({ cidr: "10.0.0.0/16", ...one }))];
    for (const spec of pools) {
      expect(SCHEMAS.IPPool.complete({ ...(defaultsOf("IPPool") as object), ...spec })).toEqual(SCHEMAS.IPPool.complete(spec));
    }
  });

  test("of a spec that is left out are those of its fields", () => {
    const spec = definitionOf("IPAMConfiguration").schema.properties?.["spec"];
    expect(spec?.default).toEqual(withIPAMConfigurationDefaults(undefined));
    expect(defaultsOf("IPAMConfiguration")).toEqual(withIPAMConfigurationDefaults(undefined));
    expect(definitionOf("Profile").schema.properties?.["spec"]?.default).toEqual({});
  });

  test("differ from sample to sample where they depend on another field", () => {
    const complete = (spec: { a?: number; b?: number }) => ({ a: 1, b: spec.a ?? 1, ...spec });
    expect(staticDefaults([{}, { a: 2 }], complete)).toEqual({ a: 1 });
    expect(staticDefaults([], complete)).toEqual({});
  });
});

test("fields that netplugctl keeps from changing have a rule against what they were", () => {
  for (const { kind, immutable } of Object.values(KINDS)) {
    if (immutable.length === 0) continue;
    const rules = definitionOf(kind).schema.properties?.["spec"]?.["x-kubernetes-validations"] ?? [];
    for (const field of immutable) {
      expect(rules.some(({ rule, fieldPath }) => fieldPath === `.${field}` && rule.includes("oldSelf"))).toBe(true);
    }
  }
});

test("built-in tiers are named with their values", () => {
  const rules = definitionOf("Tier").schema["x-kubernetes-validations"] ?? [];
  for (const { name } of BUILT_IN_TIERS) expect(rules.some(({ rule }) => rule.includes(`!= '${name}'`))).toBe(true);
});

test("only pools have a status, and it is a subresource", () => {
  for (const { spec } of definitions) {
    const [version] = spec.versions;
    const hasStatus = version?.schema.openAPIV3Schema.properties?.["status"] !== undefined;
    expect([spec.names.kind, hasStatus, version?.subresources !== undefined]).toEqual([
      spec.names.kind,
      spec.names.kind === "IPPool",
      spec.names.kind === "IPPool",
    ]);
  }
});

test("columns show fields that exist", () => {
  for (const { spec } of definitions) {
    const { version, schema } = definitionOf(spec.names.kind);
    for (const { jsonPath, name } of version.additionalPrinterColumns) {
      const field = /^\.spec\.(\w+)$/.exec(jsonPath)?.[1];
      const exists =
        field === undefined ? jsonPath === ".metadata.creationTimestamp" : schema.properties?.["spec"]?.properties?.[field] !== undefined;
      expect([spec.names.kind, name, exists]).toEqual([spec.names.kind, name, true]);
    }
  }
});
