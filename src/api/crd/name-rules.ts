/** Rules about an object's name, beyond what an API server asks of every name. */

import { KINDS } from "../registry.ts";
import type { Kind } from "../resource.ts";
import type { CelRule } from "./custom-resource-definition.ts";

/** Allows one name alone, for a kind that has one object. @throws {TypeError} a kind that has more */
export function onlyNamed(kind: Kind): CelRule {
  const { singleton } = KINDS[kind];
  if (singleton === undefined) throw new TypeError(`describe ${kind}: it is no singleton`);
  return { rule: `self.metadata.name == '${singleton}'`, message: `there is only one ${kind}: want the name ${singleton}` };
}
