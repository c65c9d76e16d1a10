/** What happens in a project, as it happens. */

import Container from "@cloudscape-design/components/container";
import FormField from "@cloudscape-design/components/form-field";
import Select from "@cloudscape-design/components/select";
import { type PageProps, useQuery } from "../../app/router.tsx";
import { EventTable } from "../../widgets/event-table.tsx";
import { Page } from "../../widgets/page.tsx";

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
  const [wanted, setWanted] = useQuery("type");
  const query = {
    project_id: projectId,
    ...(wanted === "" ? {} : { type: [wanted] }),
  };
  return (
    <Page
      title="Events"
      description="New ones appear on top by themselves. After a lost connection the stream goes on where it was."
    >
      <Container>
        <FormField label="Of what">
          <Select
            options={KINDS}
            selectedOption={KINDS.find(({ value }) => value === wanted) ?? KINDS[0] ?? null}
            onChange={({ detail }) => setWanted(detail.selectedOption.value ?? "")}
          />
        </FormField>
      </Container>
      <EventTable query={query} title="Events" />
    </Page>
  );
}
