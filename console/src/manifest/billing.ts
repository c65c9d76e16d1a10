/** What an app says it costs, in sentences. Pure. What it does not describe itself is said from what is counted. */

import type { Manifest, Schemas, Sku } from "../api/contract.ts";
import { componentTitle } from "./placement.ts";
import { money } from "./price.ts";

type Unit = Schemas["BillingUnit"];

/** "Every machine it holds, by the hour. The hours its Gateway runs." */
export function billedText(manifest: Manifest): string {
  const said = (manifest.billing_units ?? []).map(
    (unit) => unit.description || SAYS[unit.source](unit, manifest),
  );
  return said.join(" ") || "The machines it runs on, nothing of its own.";
}

const SAYS: Readonly<Record<Unit["source"], (unit: Unit, manifest: Manifest) => string>> = {
  allocation: ({ unit }) =>
    unit === "gpu_hour"
      ? "Every GPU it holds, by the hour."
      : "Every machine it holds, by the hour.",
  app_runtime: ({ component }, manifest) =>
    component === null || component === undefined
      ? "The hours it runs are counted."
      : `The hours its ${componentTitle(manifest, component)} runs are counted.`,
  job: () => "The hours of its jobs are counted.",
};

/** "A machine costs €0.50 to €21.40 per hour, by its kind."; null where no kind has a price. */
export function priceRange(skus: readonly Sku[]): string | null {
  const [first] = skus;
  if (first === undefined) return null;
  const { currency } = first;
  const prices = skus
    .filter((sku) => sku.currency === currency)
    .map(({ price_per_hour }) => Number(price_per_hour));
  const [least, most] = [Math.min(...prices), Math.max(...prices)].map((one) =>
    money(one, currency),
  );
  if (least === most) return `A machine costs ${least} per hour.`;
  return `A machine costs ${least} to ${most} per hour, by its kind.`;
}
