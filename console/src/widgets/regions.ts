/** All regions, for whoever chooses one or puts one into a rule. Called by pages, under the key "regions". */

import { api, call } from "../api/client.ts";
import type { Schemas } from "../api/contract.ts";
import { pageQuery, readPages } from "../api/pages.ts";

const MOST_PAGES = 10;

export async function readRegions(signal: AbortSignal): Promise<readonly Schemas["Region"][]> {
  const read = await readPages(
    (cursor) => call(api.GET("/api/v1/regions", { params: { query: pageQuery(cursor) }, signal })),
    MOST_PAGES,
    signal,
  );
  return read.items;
}
