/** The first step of a deploy: which version, and what the instance is called. */

import Alert from "@cloudscape-design/components/alert";
import Container from "@cloudscape-design/components/container";
import FormField from "@cloudscape-design/components/form-field";
import Input from "@cloudscape-design/components/input";
import Select from "@cloudscape-design/components/select";
import SpaceBetween from "@cloudscape-design/components/space-between";
import { type ProjectApp, versionOption } from "../../forms/project-app.ts";
import { type Draft, versionChosen } from "./draft.ts";

interface IdentityProps {
  readonly app: ProjectApp;
  readonly draft: Draft;
  readonly onChange: (draft: Draft) => void;
  readonly showAll: boolean;
}

const NAME = /^[a-z]([a-z0-9-]{0,61}[a-z0-9])?$/;

export function nameError(name: string): string | null {
  if (name === "") return "Give it a name.";
  return NAME.test(name)
    ? null
    : "Lower-case letters, digits and hyphens, at most 63; it starts with a letter and ends with none but a letter or a digit.";
}

export function Identity({ app, draft, onChange, showAll }: IdentityProps) {
  const chosen = app.versions.find(({ version }) => version === draft.version) ?? null;
  const options = app.versions.map(versionOption);
  const wrong = nameError(draft.name);
  return (
    <Container>
      <SpaceBetween size="l">
        {app.latest_available === null && (
          <Alert type="warning" header="No version can be deployed here">
            {app.reasons.map(({ message }) => message).join(" ")}
          </Alert>
        )}
        {draft.replaced !== null && <Replaced app={app} version={draft.replaced} />}
        <FormField
          label="Version"
          description={chosen?.message ?? ""}
          errorText={showAll && chosen === null ? "Choose a version." : null}
        >
          <Select
            options={options}
            selectedOption={options.find(({ value }) => value === draft.version) ?? null}
            onChange={({ detail }) =>
              onChange(versionChosen(draft, detail.selectedOption.value ?? null))
            }
            placeholder="Choose a version"
          />
        </FormField>
        <FormField
          label="Name"
          description="How machines and commands call it. It cannot be changed later."
          errorText={showAll || draft.name !== "" ? wrong : null}
        >
          <Input
            value={draft.name}
            onChange={({ detail }) => onChange({ ...draft, name: detail.value })}
          />
        </FormField>
        <FormField label="Label – optional" description="How people call it.">
          <Input
            value={draft.displayName}
            onChange={({ detail }) => onChange({ ...draft, displayName: detail.value })}
          />
        </FormField>
      </SpaceBetween>
    </Container>
  );
}

/** That another version stands where the chosen one stood, and why. */
function Replaced({ app, version }: { readonly app: ProjectApp; readonly version: string }) {
  const gone = app.versions.find((one) => one.version === version);
  const now = app.latest_available;
  const said = [
    ...(gone?.reasons ?? []).map(({ message }) => message),
    now === null ? "" : `${now} is chosen in its place.`,
    "What you filled in is kept as far as it is asked for: look at every step again.",
  ];
  return (
    <Alert type="warning" header={`Version ${version} can no longer be deployed here`}>
      {said.filter(Boolean).join(" ")}
    </Alert>
  );
}
