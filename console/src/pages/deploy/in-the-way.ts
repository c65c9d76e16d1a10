/** Machines a deploy names that cannot carry it as things stand now: chosen a while ago, or kept in a draft. Pure. */

import type { Offer } from "../../forms/use-offers.ts";

export interface InTheWay {
  readonly allocationId: string;
  readonly why: string;
}

export function inTheWay(allocationIds: readonly string[], offers: readonly Offer[]): InTheWay[] {
  return allocationIds.flatMap((allocationId) => {
    const offer = offers.find(({ allocation }) => allocation.id === allocationId);
    const why = offer === undefined ? "The project does not hold it any more." : offer.why;
    return why === null ? [] : [{ allocationId, why }];
  });
}
