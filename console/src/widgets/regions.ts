/** All regions, for whoever chooses one or puts one into a rule. Called by pages, under the key "regions". */

import { api, call } from "../api/client.ts";
import type { Schemas } from "../api/contract.ts";
import { EVERY_PAGE, pageQuery, readPages } from "../api/pages.ts";

export async function readRegions(signal: AbortSignal): Promise<readonly Schemas["Region"][]> {
  const read = await readPages(
    (cursor) => call(api.GET("/api/v1/regions", { params: { query: pageQuery(cursor) }, signal })),
    EVERY_PAGE,
    signal,
  );
  return read.items;
}
