/** Which version an upgrade or a rollback leads to: those this project may run, with honest labels. */

import FormField from "@cloudscape-design/components/form-field";
import Select from "@cloudscape-design/components/select";
import { api, call } from "../../api/client.ts";
import type { AppInstance, OperationSpec, Schemas } from "../../api/contract.ts";
import { useLive } from "../../live/use-live.ts";
import { sentence } from "../../widgets/words.ts";

interface VersionChoiceProps {
  readonly instance: AppInstance;
  readonly purpose: OperationSpec["purpose"];
  readonly version: string | null;
  readonly onChange: (version: string | null) => void;
}

export function wantsVersion({ purpose }: OperationSpec): boolean {
  return purpose === "upgrade" || purpose === "rollback";
}

export function VersionChoice({ instance, purpose, version, onChange }: VersionChoiceProps) {
  const { project_id, app_slug, app_version, previous_version } = instance;
  const app = useLive(`project-app:${project_id}:${app_slug}`, (signal) =>
    call(
      api.GET("/api/v1/projects/{project_id}/apps/{slug}", {
        params: { path: { project_id, slug: app_slug } },
        signal,
      }),
    ),
  );
  const options = (app.value?.versions ?? [])
    .filter((one) => one.version !== app_version)
    .map((one) => option(one, purpose === "rollback" && one.version === previous_version));
  return (
    <FormField
      label="Version"
      description={`${app_version} runs now.`}
      errorText={options.length === 0 && !app.loading ? "There is no other version." : null}
    >
      <Select
        options={options}
        selectedOption={options.find(({ value }) => value === version) ?? null}
        onChange={({ detail }) => onChange(detail.selectedOption.value ?? null)}
        statusType={app.loading ? "loading" : "finished"}
        placeholder="Choose a version"
      />
    </FormField>
  );
}

function option(one: Schemas["ProjectAppVersion"], previous: boolean) {
  const reason = one.reasons.map(({ message }) => message).join(" ");
  return {
    value: one.version,
    label: one.version,
    description: previous ? "It ran before this one" : sentence(one.status),
    disabled: !one.available && !previous,
    ...(reason === "" ? {} : { disabledReason: reason }),
  };
}
