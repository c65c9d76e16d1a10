/** What machines cost. Pure. Prices are the platform's, by the hour; a month is what bills call one. */

import type { Allocation, Sku } from "../api/contract.ts";

export const HOURS_A_MONTH = 730;

export interface Sum {
  readonly currency: string;
  readonly perHour: number;
}

export interface Price {
  /** One of every currency: what is not the same money is not added up. */
  readonly sums: readonly Sum[];
  /** Allocations whose kind has no price here: no sum holds them. */
  readonly unknown: readonly string[];
}

export function priceOf(allocations: readonly Allocation[], skus: readonly Sku[]): Price {
  const sums = new Map<string, number>();
  const unknown: string[] = [];
  for (const allocation of allocations) {
    const sku = skus.find(({ name }) => name === allocation.sku);
    if (sku === undefined) unknown.push(allocation.id);
    else sums.set(sku.currency, (sums.get(sku.currency) ?? 0) + Number(sku.price_per_hour));
  }
  return { sums: [...sums].map(([currency, perHour]) => ({ currency, perHour })), unknown };
}

export function money(amount: number, currency: string): string {
  const digits = amount !== 0 && amount < 1 ? 4 : 2;
  return new Intl.NumberFormat(undefined, {
    style: "currency",
    currency,
    minimumFractionDigits: 2,
    maximumFractionDigits: digits,
  }).format(amount);
}

/** "€3.20 per hour, about €2,336.00 per month". */
export function priceText(price: Price): string {
  if (price.sums.length === 0) return "Not known";
  return `${perHourText(price)} per hour, about ${perMonthText(price)} per month`;
}

/** "€3.20", "€3.20 + $1.10"; a dash where nothing is known to cost anything. */
export function perHourText({ sums }: Price): string {
  return sums.map(({ perHour, currency }) => money(perHour, currency)).join(" + ") || "–";
}

export function perMonthText({ sums, unknown }: Price): string {
  const months = sums.map((sum) => ({ ...sum, perHour: sum.perHour * HOURS_A_MONTH }));
  return perHourText({ sums: months, unknown });
}

/** "8 × H100, 64 CPUs, 512 GiB": what a kind of machine is. */
export function skuText(sku: Sku): string {
  const { cpus, memory_mib } = sku;
  const parts = [`${cpus} CPUs`, `${Math.round(memory_mib / 102.4) / 10} GiB`];
  return (sku.gpus > 0 ? [gpusText(sku), ...parts] : parts).join(", ");
}

/** "8 × H100", "None": what a kind of machine has of them. */
export function gpusText({ gpus, gpu_model }: Sku): string {
  return gpus === 0 ? "None" : `${gpus} × ${gpu_model || "GPU"}`;
}
