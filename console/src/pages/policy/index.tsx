/** The policy of a project: what may be used here, decided by whom, and why a value is allowed or not. */

import Box from "@cloudscape-design/components/box";
import Header from "@cloudscape-design/components/header";
import Table from "@cloudscape-design/components/table";
import { api, call } from "../../api/client.ts";
import type { Schemas } from "../../api/contract.ts";
import { useCan } from "../../app/access.ts";
import { useProject } from "../../app/place.ts";
import type { PageProps } from "../../app/router.tsx";
import { useLive } from "../../live/use-live.ts";
import { dimensionName } from "../../widgets/dimensions.ts";
import { OverlayTable } from "../../widgets/overlays.tsx";
import { Loaded, Page } from "../../widgets/page.tsx";
import { Ask } from "./ask.tsx";

export default function PolicyPage({ params }: PageProps) {
  const projectId = params.project_id ?? "";
  const project = useProject();
  const can = useCan();
  const policy = useLive(
    `policy:${projectId}`,
    (signal) =>
      call(
        api.GET("/api/v1/projects/{project_id}/effective-policy", {
          params: { path: { project_id: projectId } },
          signal,
        }),
      ),
    { on: ({ type }) => type.startsWith("policy.") },
  );
  const place = { org_id: project?.org_id ?? null, project_id: projectId };
  return (
    <Page
      title="Policy"
      description="What holds here: the platform's rules, narrowed by the tenant's and the project's."
    >
      <Loaded live={policy}>{(found) => <Effective policy={found} />}</Loaded>
      <Ask projectId={projectId} />
      <OverlayTable
        scope={{ kind: "project", id: projectId }}
        manages={can("policy.overlay.write", place)}
      />
    </Page>
  );
}

function Effective({ policy }: { readonly policy: Schemas["EffectivePolicy"] }) {
  const rules = Object.entries(policy.rules);
  return (
    <Table
      header={<Header variant="h2">In effect</Header>}
      items={rules}
      trackBy={([dimension]) => dimension}
      wrapLines
      columnDefinitions={[
        {
          id: "of",
          header: "Of",
          isRowHeader: true,
          cell: ([dimension]) => dimensionName(dimension),
        },
        {
          id: "allow",
          header: "Allowed",
          cell: ([, { allow }]) => (allow === null ? "Everything" : allow.join(", ") || "Nothing"),
        },
        { id: "deny", header: "Never", cell: ([, { deny }]) => deny.join(", ") || "–" },
        {
          id: "by",
          header: "Said by",
          cell: ([, { sources }]) =>
            [
              ...new Set(
                sources.map(({ overlay_name, scope }) => `${overlay_name} (${scope.kind})`),
              ),
            ].join(", ") || "–",
        },
      ]}
      empty={<Box color="text-body-secondary">No overlay speaks: everything is allowed.</Box>}
    />
  );
}
