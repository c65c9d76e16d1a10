/** The manifest of an app version. It never changes, so it is read once. */

import { api, call } from "../api/client.ts";
import type { AppVersion } from "../api/contract.ts";
import { type Live, type LiveArguments, useLive } from "../live/use-live.ts";

const HOUR_MS = 3_600_000;

export function useManifest(slug: string | null, version: string | null): Live<AppVersion> {
  return useLive(...versionOf(slug, version));
}

export function versionOf(slug: string | null, version: string | null): LiveArguments<AppVersion> {
  const known = slug !== null && version !== null;
  return [
    known ? `version:${slug}@${version}` : null,
    (signal) =>
      call(
        api.GET("/api/v1/apps/{slug}/versions/{version}", {
          params: { path: { slug: slug ?? "", version: version ?? "" } },
          signal,
        }),
      ),
    { everyMs: HOUR_MS },
  ];
}
