/** What machines cost. Pure. Prices are the platform's, by the hour; a month is what bills call one. */

import type { Allocation, Sku } from "../api/contract.ts";

export const HOURS_A_MONTH = 730;

export interface Price {
  readonly currency: string;
  readonly perHour: number;
  /** Allocations whose kind has no price here: the sum does not hold them. */
  readonly unknown: readonly string[];
}

export function priceOf(allocations: readonly Allocation[], skus: readonly Sku[]): Price {
  const prices = allocations.map(({ id, sku }) => ({
    id,
    sku: skus.find(({ name }) => name === sku),
  }));
  return {
    currency: prices.find(({ sku }) => sku)?.sku?.currency ?? "EUR",
    perHour: prices.reduce((sum, { sku }) => sum + Number(sku?.price_per_hour ?? 0), 0),
    unknown: prices.filter(({ sku }) => sku === undefined).map(({ id }) => id),
  };
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
export function priceText({ perHour, currency }: Price): string {
  const month = money(perHour * HOURS_A_MONTH, currency);
  return `${money(perHour, currency)} per hour, about ${month} per month`;
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
