import { expect, it } from "vitest";
import type { Manifest, Sku } from "../../../src/api/contract.ts";
import { billedText, priceRange } from "../../../src/manifest/billing.ts";
import { MANIFEST } from "./scene.ts";

function billed(...units: Manifest["billing_units"] & object): string {
  return billedText({ ...MANIFEST, billing_units: units });
}

it("says what is counted in sentences, the app's own first", () => {
  expect(
    billed(
      { source: "allocation", unit: "node_hour", description: "Every machine of the herd." },
      { source: "app_runtime", unit: "runtime_hour", component: "head", description: "" },
    ),
  ).toBe("Every machine of the herd. The hours its Head runs are counted.");
  expect(billed({ source: "allocation", unit: "gpu_hour", description: "" })).toBe(
    "Every GPU it holds, by the hour.",
  );
  expect(billed({ source: "job", unit: "job_hour", description: "" })).toBe(
    "The hours of its jobs are counted.",
  );
  expect(billed()).toBe("The machines it runs on, nothing of its own.");
});

it("says what a machine costs, from the least to the most", () => {
  const kind = (price_per_hour: string) => ({ price_per_hour, currency: "EUR" }) as Sku;
  expect(priceRange([])).toBeNull();
  expect(priceRange([kind("2.0000")])).toBe("A machine costs €2.00 per hour.");
  expect(priceRange([kind("21.4000"), kind("0.5000"), kind("3.0000")])).toBe(
    "A machine costs €0.50 to €21.40 per hour, by its kind.",
  );
});
