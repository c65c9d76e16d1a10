/** What the platform knows of what a rule can be about, as far as whoever asks may read it: choices for a question. */

import { api, call } from "../../api/client.ts";
import { pageQuery, readPages } from "../../api/pages.ts";
import { readSkus } from "../../forms/use-offers.ts";
import { type Live, useLive } from "../../live/use-live.ts";
import type { Dimension } from "../../widgets/dimensions.ts";
import { readRegions } from "../../widgets/regions.ts";
import type { Suggestion } from "../../widgets/suggest.tsx";

const MOST_PAGES = 5;

type Read = (projectId: string, signal: AbortSignal) => Promise<readonly Suggestion[]>;

export function useValues(projectId: string, dimension: Dimension): Live<readonly Suggestion[]> {
  return useLive(
    `policy-values:${dimension}:${projectId}`,
    (signal) => READS[dimension](projectId, signal),
    { later: true },
  );
}

const READS: Readonly<Record<Dimension, Read>> = {
  regions: async (_, signal) => (await readRegions(signal)).map(labelled),
  skus: async (_, signal) => (await readSkus(signal)).map(labelled),
  artifact_sources: readSources,
  app_versions: readVersions,
};

function labelled({ name, display_name }: { name: string; display_name: string }): Suggestion {
  return { value: name, called: name, description: display_name };
}

async function readSources(_: string, signal: AbortSignal): Promise<readonly Suggestion[]> {
  const { items } = await readPages(
    (cursor) =>
      call(api.GET("/api/v1/artifact-sources", { params: { query: pageQuery(cursor) }, signal })),
    MOST_PAGES,
    signal,
  );
  return items.map(({ address, name }) => ({
    value: address,
    called: address,
    description: name,
  }));
}

/** Also those that cannot be deployed here: it is about these that one asks. */
async function readVersions(
  projectId: string,
  signal: AbortSignal,
): Promise<readonly Suggestion[]> {
  const { items } = await readPages(
    (cursor) =>
      call(
        api.GET("/api/v1/projects/{project_id}/apps", {
          params: {
            path: { project_id: projectId },
            query: { include: "unavailable", ...pageQuery(cursor) },
          },
          signal,
        }),
      ),
    MOST_PAGES,
    signal,
  );
  return items.flatMap(({ slug, display_name, versions }) =>
    versions.map(({ version }) => {
      const value = `${slug}@${version}`;
      return { value, called: value, description: display_name };
    }),
  );
}
