/** The types of the public contract, for the whole console. `schema.d.ts` is generated from
 * `openapi/v1.json` by `npm run types`. */

import type { components } from "./schema.d.ts";

export type { paths } from "./schema.d.ts";

export type AuthMethods = components["schemas"]["AuthMethods"];
export type Readiness = components["schemas"]["Readiness"];
export type Version = components["schemas"]["Version"];
export type Whoami = components["schemas"]["Whoami"];
