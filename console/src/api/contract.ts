/** The one place that says where the types of the public contract come from. */

export type { AuthMethods, paths, Readiness, Version, Whoami } from "./contract.provisional.ts";
