/** The fields that narrow the audit; what is put in stands in the address. People and projects are chosen by their
 * names, as far as whoever looks may read those, and ids are taken everywhere. */

import FormField from "@cloudscape-design/components/form-field";
import Grid from "@cloudscape-design/components/grid";
import Input from "@cloudscape-design/components/input";
import Select from "@cloudscape-design/components/select";
import { useProjects } from "../../app/place.ts";
import { useQuery } from "../../app/router.tsx";
import { Suggest, type Suggestions } from "../../widgets/suggest.tsx";
import { useActors } from "./actors.ts";

const OUTCOMES = [
  { value: "", label: "Any outcome" },
  { value: "allowed", label: "Allowed" },
  { value: "denied", label: "Denied" },
  { value: "failed", label: "Failed" },
] as const;

const FIELDS = 6;

export function FilterFields() {
  const [outcome, setOutcome] = useQuery("outcome");
  return (
    <Grid
      gridDefinition={Array.from({ length: FIELDS }, () => ({
        colspan: { default: 12, s: 6, m: 4 },
      }))}
    >
      <Filter name="action" label="Action" hint="apps.operation" />
      <ChosenFilter name="actor_id" label="Who" hint="A name or an id" among={useActors()} />
      <Filter name="target_id" label="On what" hint="An id" />
      <Filter name="correlation_id" label="Correlation id" hint="web_…" />
      <ChosenFilter
        name="project_id"
        label="Project"
        hint="A name or an id"
        among={useProjectNames()}
      />
      <FormField label="Outcome" stretch>
        <Select
          options={OUTCOMES}
          selectedOption={OUTCOMES.find(({ value }) => value === outcome) ?? OUTCOMES[0]}
          onChange={({ detail }) => setOutcome(detail.selectedOption.value ?? "")}
        />
      </FormField>
    </Grid>
  );
}

interface FilterProps {
  readonly name: string;
  readonly label: string;
  readonly hint: string;
}

function Filter({ name, label, hint }: FilterProps) {
  const [value, setValue] = useQuery(name);
  return (
    <FormField label={label} stretch>
      <Input
        type="search"
        value={value}
        placeholder={hint}
        onChange={({ detail }) => setValue(detail.value)}
      />
    </FormField>
  );
}

interface ChosenFilterProps extends FilterProps {
  readonly among: Suggestions;
}

function ChosenFilter({ name, label, hint, among }: ChosenFilterProps) {
  const [value, setValue] = useQuery(name);
  return (
    <FormField label={label} stretch>
      <Suggest value={value} onChange={setValue} among={among} placeholder={hint} />
    </FormField>
  );
}

function useProjectNames(): Suggestions {
  const projects = useProjects();
  const names = projects.value?.map(({ id, display_name, name }) => ({
    value: id,
    called: display_name,
    description: name,
  }));
  return { ...projects, value: names ?? null };
}
