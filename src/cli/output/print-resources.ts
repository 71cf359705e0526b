/** Resources in whatever form was asked for. */

import type { KindInfo } from "../../api/registry.ts";
import { API_VERSION, type Resource } from "../../api/resource.ts";
import { toVisibleText } from "../../lib/visible-text.ts";
import { toPathName } from "../resources/object-name.ts";
import { type Column, columnsOf } from "./columns.ts";
import { parseCustomColumns } from "./custom-columns.ts";
import { toJsonText, toYamlText } from "./json-yaml.ts";
import type { Format } from "./format.ts";
import { toTable } from "./table.ts";

/** Resources of one kind, and what their text depends on besides the format. */
interface ResourceOutput {
  readonly info: KindInfo;
  readonly resources: readonly Resource<string>[];
  /** One object was asked for by its name: programs get it bare. */
  readonly single: boolean;
  /** Resources of several namespaces are shown. */
  readonly withNamespace: boolean;
  /** Of tables. */
  readonly withLabels: boolean;
  /** Of tables. */
  readonly withoutHeader: boolean;
  readonly colour: boolean;
}

/** The text of resources of one kind. @throws {UsageError} custom columns that make no sense */
export function printResources(format: Format, output: ResourceOutput): string {
  const { info, resources, single } = output;
  switch (format.type) {
    case "json":
      return toJsonText(toObject(info, resources, single));
    case "yaml":
      return toYamlText(toObject(info, resources, single));
    case "name":
      return resources.map(({ metadata }) => `${toVisibleText(toPathName({ kind: info.kind, name: metadata.name }))}\n`).join("");
    case "custom-columns":
    case "table":
      return tableOf(toColumns(format, output), output);
  }
}

/** The columns of a table that people get, or have chosen. @throws {UsageError} custom columns that make no sense */
export function toColumns(
  format: Extract<Format, { readonly type: "table" | "custom-columns" }>,
  output: Pick<ResourceOutput, "info" | "withNamespace" | "withLabels">,
): readonly Column[] {
  const { info } = output;
  if (format.type === "table") return columnsOf(info, { ...output, wide: format.wide });
  return parseCustomColumns(format.spec, columnsOf(info, { wide: true, withNamespace: info.namespaced, withLabels: true }));
}

function toObject(info: KindInfo, resources: readonly Resource<string>[], single: boolean): unknown {
  const [first] = resources;
  return single && first !== undefined ? first : { apiVersion: API_VERSION, kind: `${info.kind}List`, items: resources };
}

function tableOf(columns: readonly Column[], { resources, withoutHeader, colour }: ResourceOutput): string {
  const rows = resources.map((resource) => columns.map((column) => column.cell(resource)));
  return toTable(
    columns.map((column) => column.heading),
    rows,
    { colour, withoutHeader },
  );
}
