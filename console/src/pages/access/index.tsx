/** Who may do what in a project: people and their roles, service accounts, what is kept in custody. */

import Tabs from "@cloudscape-design/components/tabs";
import type { Permission } from "../../api/contract.ts";
import { useCan } from "../../app/access.ts";
import { useProject } from "../../app/place.ts";
import { type PageProps, useQuery } from "../../app/router.tsx";
import { Page } from "../../widgets/page.tsx";
import { Credentials } from "./credentials.tsx";
import { Explain } from "./explain.tsx";
import { People } from "./people.tsx";
import { Secrets } from "./secrets.tsx";
import { ServiceAccounts } from "./service-accounts.tsx";

export default function AccessPage({ params }: PageProps) {
  const projectId = params.project_id ?? "";
  const project = useProject();
  const can = useCan();
  const [tab, setTab] = useQuery("tab");
  const place = { org_id: project?.org_id ?? null, project_id: projectId };
  if (project === null || project.id !== projectId) return null;
  const may = (permission: Permission) => can(permission, place);
  const tabs = [
    { id: "people", label: "People", content: <People place={place} /> },
    ...(may("identity.service_account.read")
      ? [
          {
            id: "service-accounts",
            label: "Service accounts",
            content: <ServiceAccounts place={place} />,
          },
        ]
      : []),
    ...(may("custody.credential.read")
      ? [{ id: "credentials", label: "Access credentials", content: <Credentials place={place} /> }]
      : []),
    ...(may("custody.secret.read")
      ? [{ id: "secrets", label: "Secrets", content: <Secrets place={place} /> }]
      : []),
    ...(can("identity.authorization.explain", place)
      ? [{ id: "explain", label: "Why may somebody", content: <Explain place={place} /> }]
      : []),
  ];
  return (
    <Page title="Access" description={`Who may do what in ${project.display_name}.`}>
      <Tabs
        activeTabId={tabs.some(({ id }) => id === tab) ? tab : "people"}
        onChange={({ detail }) => setTab(detail.activeTabId)}
        tabs={tabs}
      />
    </Page>
  );
}
