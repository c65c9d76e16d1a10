/** What a policy speaks of, as people call it: on the page of a policy and in its rules. */

import type { Schemas } from "../api/contract.ts";
import { sentence } from "./words.ts";

export type Dimension = Schemas["Dimension"];

const NAMES: Readonly<Record<Dimension, string>> = {
  regions: "Region",
  skus: "Kind of machine",
  app_versions: "App version (slug@version)",
  artifact_sources: "Artifact source",
};

export const DIMENSIONS = Object.keys(NAMES) as readonly Dimension[];

export function dimensionName(dimension: string): string {
  return dimension in NAMES ? NAMES[dimension as Dimension] : sentence(dimension);
}
