/** Who may do what in a project: people and their roles, service accounts, what is kept in custody. */

import Tabs from "@cloudscape-design/components/tabs";
import { api, call } from "../../api/client.ts";
import type { Permission, Place } from "../../api/contract.ts";
import { useCan } from "../../app/access.ts";
import { useProjects } from "../../app/place.ts";
import { type PageProps, useQuery } from "../../app/router.tsx";
import { useLive } from "../../live/use-live.ts";
import { Loaded, Page } from "../../widgets/page.tsx";
import { Credentials } from "./credentials.tsx";
import { Explain } from "./explain.tsx";
import { People } from "./people.tsx";
import { Secrets } from "./secrets.tsx";
import { ServiceAccounts } from "./service-accounts.tsx";

export default function AccessPage({ params }: PageProps) {
  const id = params.project_id ?? "";
  const projects = useProjects();
  const project = useLive(
    `project:${id}`,
    (signal) =>
      call(
        api.GET("/api/v1/projects/{project_id}", { params: { path: { project_id: id } }, signal }),
      ),
    {
      on: ({ subject }) => subject === id,
      seed: () => projects.value?.find((one) => one.id === id) ?? null,
    },
  );
  const about = project.value && `Who may do what in ${project.value.display_name}.`;
  return (
    <Page title="Access" description={about}>
      <Loaded live={project}>
        {({ org_id }) => <Parts key={id} place={{ org_id, project_id: id }} />}
      </Loaded>
    </Page>
  );
}

function Parts({ place }: { readonly place: Place }) {
  const can = useCan();
  const [tab, setTab] = useQuery("tab");
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
    ...(may("identity.authorization.explain")
      ? [{ id: "explain", label: "Why may somebody", content: <Explain place={place} /> }]
      : []),
  ];
  return (
    <Tabs
      activeTabId={tabs.some(({ id }) => id === tab) ? tab : "people"}
      onChange={({ detail }) => setTab(detail.activeTabId)}
      tabs={tabs}
    />
  );
}
