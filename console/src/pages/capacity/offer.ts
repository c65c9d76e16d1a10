/** Where a machine can be and what kind it can be, for the forms that make one known: all regions and all kinds.
 * Read with the page that has such a form, so that one that was just added is there when it opens. */

import { readSkus } from "../../forms/use-offers.ts";
import { type Live, useLive } from "../../live/use-live.ts";
import { readRegions } from "../../widgets/regions.ts";

interface Option {
  readonly value: string;
  readonly label: string;
}

export interface Offer {
  readonly regions: readonly Option[];
  readonly kinds: readonly Option[];
}

export function useOffer(wanted: boolean): Live<Offer> {
  return useLive(
    wanted ? "regions-and-kinds" : null,
    async (signal) => {
      const [regions, kinds] = await Promise.all([readRegions(signal), readSkus(signal)]);
      return { regions: regions.map(option), kinds: kinds.map(option) };
    },
    {
      on: ({ type }) => type.startsWith("capacity.region") || type.startsWith("capacity.sku"),
      later: true,
    },
  );
}

function option({ name, display_name }: { name: string; display_name: string }): Option {
  return { value: name, label: display_name };
}
