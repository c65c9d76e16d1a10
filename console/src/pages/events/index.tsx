/** What happens in a project, as it happens; and who else is told. */

import Container from "@cloudscape-design/components/container";
import FormField from "@cloudscape-design/components/form-field";
import Select from "@cloudscape-design/components/select";
import SpaceBetween from "@cloudscape-design/components/space-between";
import Tabs from "@cloudscape-design/components/tabs";
import { useCan } from "../../app/access.ts";
import { useProject } from "../../app/place.ts";
import { type PageProps, useQuery } from "../../app/router.tsx";
import { EventTable } from "../../widgets/event-table.tsx";
import { Page } from "../../widgets/page.tsx";
import { Webhooks } from "../../widgets/webhooks.tsx";

const KINDS = [
  { value: "", label: "Everything" },
  { value: "apps.instance", label: "Instances" },
  { value: "apps.member", label: "Members" },
  { value: "apps.operation", label: "Operations" },
  { value: "capacity", label: "Machines" },
  { value: "catalog", label: "Catalog" },
  { value: "custody", label: "Access and secrets" },
  { value: "identity", label: "People and service accounts" },
  { value: "policy", label: "Policy" },
];

export default function EventsPage({ params }: PageProps) {
  const projectId = params.project_id ?? "";
  const project = useProject();
  const can = useCan();
  const [tab, setTab] = useQuery("tab");
  const happens = <Happening projectId={projectId} />;
  const place = { org_id: project?.org_id ?? "", project_id: projectId };
  const hooked = project?.id === projectId && can("events.webhook.read", place);
  return (
    <Page
      title="Events"
      description="New ones appear on top by themselves. After a lost connection the stream goes on where it was."
    >
      {hooked ? (
        <Tabs
          activeTabId={tab === "webhooks" ? tab : "events"}
          onChange={({ detail }) => setTab(detail.activeTabId)}
          tabs={[
            { id: "events", label: "What happens", content: happens },
            { id: "webhooks", label: "Webhooks", content: <Webhooks place={place} /> },
          ]}
        />
      ) : (
        happens
      )}
    </Page>
  );
}

function Happening({ projectId }: { readonly projectId: string }) {
  const [wanted, setWanted] = useQuery("type");
  const query = {
    project_id: projectId,
    ...(wanted === "" ? {} : { type: [wanted] }),
  };
  return (
    <SpaceBetween size="l">
      <Container>
        <FormField label="Of what">
          <Select
            options={KINDS}
            selectedOption={KINDS.find(({ value }) => value === wanted) ?? KINDS[0] ?? null}
            onChange={({ detail }) => setWanted(detail.selectedOption.value ?? "")}
          />
        </FormField>
      </Container>
      <EventTable query={query} title="Events" widen={wanted === "" ? null : () => setWanted("")} />
    </SpaceBetween>
  );
}
