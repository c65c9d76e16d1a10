/** Which version an upgrade leads to: those this project may run, with honest labels. A rollback goes back to what ran
 * before: the platform knows which that is, also from the middle of an upgrade. */

import FormField from "@cloudscape-design/components/form-field";
import Select from "@cloudscape-design/components/select";
import type { AppInstance, OperationSpec } from "../../api/contract.ts";
import type { Problem } from "../../api/problem.ts";
import { useProjectApp, versionOption } from "../../forms/project-app.ts";
import type { Live } from "../../live/use-live.ts";

interface VersionChoiceProps {
  readonly instance: AppInstance;
  readonly version: string | null;
  readonly onChange: (version: string | null) => void;
  /** Says that one is needed. */
  readonly showAll: boolean;
}

export function wantsVersion({ purpose }: OperationSpec): boolean {
  return purpose === "upgrade";
}

export function VersionChoice({ instance, version, onChange, showAll }: VersionChoiceProps) {
  const { project_id, app_slug, app_version } = instance;
  const app = useProjectApp(project_id, app_slug);
  const { loading, problem, readNow } = app;
  const options = (app.value?.versions ?? [])
    .filter((one) => one.version !== app_version)
    .map(versionOption);
  return (
    <FormField
      label="Version"
      description={`${app_version} runs now.`}
      errorText={
        options.length === 0 && !loading
          ? noneText(problem)
          : showAll && version === null && "Choose a version."
      }
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
