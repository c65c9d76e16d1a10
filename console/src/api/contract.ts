/** The types of the public contract, for the whole console. `schema.d.ts` is generated from
 * `openapi/v1.json` by `npm run types`. */

import type { components } from "./schema.d.ts";

export type { paths } from "./schema.d.ts";

/** Every named type of the contract. */
export type Schemas = components["schemas"];

export type AuthMethods = Schemas["AuthMethods"];
export type SignInAccount = Schemas["SignInAccount"];
export type Readiness = Schemas["Readiness"];
export type Version = Schemas["Version"];
export type Whoami = Schemas["Whoami"];
export type Permission = Schemas["Permission"];
export type Scope = Schemas["Scope"];
export type Condition = Schemas["Condition"];
export type NextAction = Schemas["NextAction"];
export type AppInstance = Schemas["AppInstance"];
export type Member = Schemas["Member"];
export type Operation = Schemas["Operation"];
export type Step = Schemas["Step"];
export type AppVersion = Schemas["AppVersion"];
export type Manifest = AppVersion["manifest"];
export type OperationSpec = Manifest["operations"][number];
export type Panel = NonNullable<Manifest["panels"]>[number];
export type Action = NonNullable<Manifest["actions"]>[number];
export type ValueFormat = Schemas["ValueFormat"];
export type Allocation = Schemas["Allocation"];
export type Sku = Schemas["Sku"];
export type CloudEvent = Schemas["CloudEvent"];

/** A place in the tenancy tree, as the paths of the API name it. */
export interface Place {
  readonly org_id: string | null;
  readonly project_id: string | null;
}

/** Anything JSON can hold. */
export type Json = null | boolean | number | string | readonly Json[] | JsonObject;
export interface JsonObject {
  readonly [name: string]: Json;
}

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
