import { describe, expect, it } from "vitest";
import type { Allocation, OperationSpec, Sku } from "../../../src/api/contract.ts";
import { allocationsOf, mayShare, seatsOf, topologyFor } from "../../../src/manifest/placement.ts";
import { priceOf, priceText, skuText } from "../../../src/manifest/price.ts";
import { MANIFEST } from "./scene.ts";

const deploy = MANIFEST.operations[0] as OperationSpec;

describe("where members come to sit", () => {
  it("follows the rules whose conditions hold", () => {
    expect(seatsOf(deploy, { head: "a", placement: "same" })).toEqual([
      { component: "head", allocationId: "a", pointer: "/head" },
      { component: "hand", allocationId: "a", pointer: "/head" },
    ]);
    const apart = { head: "a", placement: "apart", hands: ["b", "c", "b"] };
    expect(allocationsOf(deploy, apart)).toEqual(["a", "b", "c"]);
    expect(seatsOf(deploy, {})).toEqual([]);
  });

  it("is shared only where a component says so", () => {
    expect(mayShare(MANIFEST, "hand", "head")).toBe(true);
    expect(mayShare(MANIFEST, "head", "hand")).toBe(true);
    expect(mayShare(MANIFEST, "eye", "head")).toBe(false);
  });

  it("makes a topology by how many machines it takes", () => {
    expect(topologyFor(MANIFEST, 1)?.key).toBe("one");
    expect(topologyFor(MANIFEST, 7)?.key).toBe("many");
    expect(topologyFor(MANIFEST, 0)).toBeNull();
  });
});

describe("the price", () => {
  const kind = {
    name: "big",
    cpus: 64,
    memory_mib: 524_288,
    gpus: 8,
    gpu_model: "H200",
    price_per_hour: "12.5000",
    currency: "EUR",
  } as unknown as Sku;
  const held = (id: string, sku: string) => ({ id, sku }) as unknown as Allocation;

  it("is the sum of the machines by the hour, and by a month of 730", () => {
    const price = priceOf([held("a", "big"), held("b", "big")], [kind]);
    expect(price).toEqual({ sums: [{ currency: "EUR", perHour: 25 }], unknown: [] });
    expect(priceText(price)).toMatch(/25\.00 per hour, about .*18,250\.00 per month/);
  });

  it("names what it does not know", () => {
    expect(priceOf([held("a", "gone")], [kind]).unknown).toEqual(["a"]);
  });

  it("stands beside what the machine is", () => {
    expect(skuText(kind)).toBe("8 × H200, 64 CPUs, 512 GiB");
  });
});
