/** The types of the public contract, for the whole console. `schema.d.ts` is generated from
 * `openapi/v1.json` by `npm run types`; what it has always wins over what is typed by hand. */

import type { ProvisionalPaths } from "./contract.provisional.ts";
import type { components, paths as GeneratedPaths } from "./schema.d.ts";

export type { AuthMethods, Whoami } from "./contract.provisional.ts";

export type paths = GeneratedPaths & Omit<ProvisionalPaths, keyof GeneratedPaths>;

export type Readiness = components["schemas"]["Readiness"];
export type Version = components["schemas"]["Version"];
