/** Columns of `kubectl get`. */

import type { PrinterColumn } from "./custom-resource-definition.ts";

/** Shows a field of the spec. */
export function specColumn(name: string, field: string, type: PrinterColumn["type"], description: string, wide?: "wide"): PrinterColumn {
  const column = { name, type, jsonPath: `.spec.${field}`, description };
  return wide === undefined ? column : { ...column, priority: 1 };
}

/** Every table ends with it, as kubectl's own do. */
export const AGE: PrinterColumn = {
  name: "Age",
  type: "date",
  jsonPath: ".metadata.creationTimestamp",
  description: "When it was created.",
};
