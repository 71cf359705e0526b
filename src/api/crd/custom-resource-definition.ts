/** The shape of a `CustomResourceDefinition`, as far as ours go. */

/** @see Kubernetes API, apiextensions.k8s.io/v1 */
export interface CustomResourceDefinition {
  readonly apiVersion: "apiextensions.k8s.io/v1";
  readonly kind: "CustomResourceDefinition";
  readonly metadata: { readonly name: string; readonly labels: Readonly<Record<string, string>> };
  readonly spec: {
    readonly group: string;
    readonly scope: "Cluster" | "Namespaced";
    readonly names: {
      readonly kind: string;
      readonly listKind: string;
      readonly plural: string;
      readonly singular: string;
      readonly shortNames?: readonly string[];
      readonly categories: readonly string[];
    };
    /** Said although it is the default: server-side apply leaves alone what is not said. */
    readonly conversion: { readonly strategy: "None" };
    readonly preserveUnknownFields: false;
    readonly versions: readonly CustomResourceVersion[];
  };
}

/** Ours have one version each, which is both served and stored. */
interface CustomResourceVersion {
  readonly name: string;
  readonly served: true;
  readonly storage: true;
  readonly schema: { readonly openAPIV3Schema: OpenApiSchema };
  readonly subresources?: { readonly status: Readonly<Record<string, never>> };
  readonly additionalPrinterColumns: readonly PrinterColumn[];
}

/** What `kubectl get` shows. */
export interface PrinterColumn {
  readonly name: string;
  readonly type: "string" | "integer" | "number" | "boolean" | "date";
  readonly jsonPath: string;
  readonly description: string;
  /** Greater than 0: with `-o wide` only. */
  readonly priority?: number;
}

/** A structural schema. */
export interface OpenApiSchema {
  readonly description?: string;
  readonly type?: "object" | "array" | "string" | "integer" | "number" | "boolean";
  readonly format?: string;
  readonly default?: unknown;
  readonly enum?: readonly (string | number)[];
  readonly pattern?: string;
  readonly maxLength?: number;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly maxItems?: number;
  readonly maxProperties?: number;
  readonly items?: OpenApiSchema;
  readonly properties?: Readonly<Record<string, OpenApiSchema>>;
  readonly additionalProperties?: OpenApiSchema;
  readonly required?: readonly string[];
  readonly "x-kubernetes-int-or-string"?: true;
  readonly "x-kubernetes-list-type"?: "atomic" | "map";
  readonly "x-kubernetes-list-map-keys"?: readonly string[];
  readonly "x-kubernetes-validations"?: readonly CelRule[];
}

/** A rule in the Common Expression Language. */
export interface CelRule {
  readonly rule: string;
  readonly message: string;
  /** The field that the message is about, below the value that the rule is on; e.g. `.blockSize`. */
  readonly fieldPath?: string;
}
