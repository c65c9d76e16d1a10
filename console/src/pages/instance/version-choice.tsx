/** Which version an upgrade leads to: those this project may run, with honest labels. A rollback goes back to what ran
 * before: the platform knows which that is, also from the middle of an upgrade. */

import FormField from "@cloudscape-design/components/form-field";
import Select from "@cloudscape-design/components/select";
import { api, call } from "../../api/client.ts";
import type { AppInstance, OperationSpec, Schemas } from "../../api/contract.ts";
import type { Problem } from "../../api/problem.ts";
import { type Live, useLive } from "../../live/use-live.ts";
import { sentence } from "../../widgets/words.ts";

interface VersionChoiceProps {
  readonly instance: AppInstance;
  readonly version: string | null;
  readonly onChange: (version: string | null) => void;
}

export function wantsVersion({ purpose }: OperationSpec): boolean {
  return purpose === "upgrade";
}

export function VersionChoice({ instance, version, onChange }: VersionChoiceProps) {
  const { project_id, app_slug, app_version } = instance;
  const app = useLive(`project-app:${project_id}:${app_slug}`, (signal) =>
    call(
      api.GET("/api/v1/projects/{project_id}/apps/{slug}", {
        params: { path: { project_id, slug: app_slug } },
        signal,
      }),
    ),
  );
  const { loading, problem, readNow } = app;
  const options = (app.value?.versions ?? [])
    .filter((one) => one.version !== app_version)
    .map(option);
  return (
    <FormField
      label="Version"
      description={`${app_version} runs now.`}
      errorText={options.length === 0 && !loading && noneText(problem)}
    >
      <Select
        options={options}
        selectedOption={options.find(({ value }) => value === version) ?? null}
        onChange={({ detail }) => onChange(detail.selectedOption.value ?? null)}
        statusType={statusOf(app)}
        loadingText="Reading"
        errorText={problem?.title ?? ""}
        recoveryText="Read again"
        onLoadItems={() => problem !== null && readNow()}
        placeholder="Choose a version"
      />
    </FormField>
  );
}

function noneText(problem: Problem | null): string {
  return problem === null ? "There is no other version." : "The versions could not be read.";
}

function statusOf({ loading, problem }: Live<unknown>) {
  if (problem !== null) return "error";
  return loading ? "loading" : "finished";
}

function option(one: Schemas["ProjectAppVersion"]) {
  const reason = one.reasons.map(({ message }) => message).join(" ");
  return {
    value: one.version,
    label: one.version,
    description: sentence(one.status),
    disabled: !one.available,
    ...(reason === "" ? {} : { disabledReason: reason }),
  };
}
