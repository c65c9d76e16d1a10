import { expect, it } from "vitest";
import type { Allocation, Sku } from "../../../src/api/contract.ts";
import { perHourText, perMonthText, priceOf, priceText } from "../../../src/manifest/price.ts";

const skus = [
  { name: "big", price_per_hour: "2.0000", currency: "EUR" },
  { name: "far", price_per_hour: "3.0000", currency: "USD" },
] as unknown as Sku[];
const held = (...kinds: string[]) =>
  kinds.map((sku, at) => ({ id: `alloc_${at}`, sku }) as unknown as Allocation);

it("adds up every currency on its own", () => {
  const price = priceOf(held("big", "far", "big"), skus);
  expect(price.sums).toEqual([
    { currency: "EUR", perHour: 4 },
    { currency: "USD", perHour: 3 },
  ]);
  expect(perHourText(price)).toMatch(/4\.00 \+ .*3\.00/);
  expect(perMonthText(price)).toMatch(/2,920\.00 \+ .*2,190\.00/);
});

it("says no sum where nothing is known", () => {
  const price = priceOf(held("gone"), skus);
  expect(price).toEqual({ sums: [], unknown: ["alloc_0"] });
  expect(perHourText(price)).toBe("–");
  expect(priceText(price)).toBe("Not known");
});
