/** Widgets that choose among things of the platform: people see names, the app gets ids. */

import Button from "@cloudscape-design/components/button";
import Multiselect from "@cloudscape-design/components/multiselect";
import Select from "@cloudscape-design/components/select";
import { api, call } from "../api/client.ts";
import { pageQuery, readPages } from "../api/pages.ts";
import { useProjects } from "../app/place.ts";
import { type Live, useLive } from "../live/use-live.ts";
import { componentTitle } from "../manifest/placement.ts";
import { sentence } from "../widgets/words.ts";
import { useFormContext, type WidgetProps } from "./context.ts";
import { list } from "./schema.ts";

interface Option {
  readonly value: string;
  readonly label: string;
  readonly description?: string;
  readonly disabled?: boolean;
}

const MOST_PAGES = 5;

export function ServiceAccountPicker(props: WidgetProps) {
  const projectId = useFormContext().place.project_id;
  const accounts = useLive(
    projectId === null ? null : `service-accounts:${projectId}`,
    async (signal) => {
      const read = await readPages(
        (cursor) =>
          call(
            api.GET("/api/v1/projects/{project_id}/service-accounts", {
              params: { path: { project_id: projectId ?? "" }, query: pageQuery(cursor) },
              signal,
            }),
          ),
        MOST_PAGES,
        signal,
      );
      return read.items.filter(({ active }) => active);
    },
    { on: ({ type }) => type.startsWith("identity.service_account") },
  );
  const options = accounts.value?.map(({ id, name, roles }) => ({
    value: id,
    label: name,
    description: roles.map(sentence).join(", "),
  }));
  return (
    <Pick
      {...props}
      options={options}
      live={accounts}
      manage={`/projects/${projectId}/access?tab=service-accounts`}
    />
  );
}

export function CredentialPicker(props: WidgetProps) {
  const projectId = useFormContext().place.project_id;
  const credentials = useLive(
    projectId === null ? null : `credentials:${projectId}`,
    async (signal) => {
      const read = await readPages(
        (cursor) =>
          call(
            api.GET("/api/v1/access-credentials", {
              params: { query: { project_id: projectId ?? "", ...pageQuery(cursor) } },
              signal,
            }),
          ),
        MOST_PAGES,
        signal,
      );
      return read.items.filter(({ status }) => status === "active");
    },
    { on: ({ type }) => type.startsWith("custody.credential") },
  );
  const options = credentials.value?.map(({ id, name, username, fingerprint }) => ({
    value: id,
    label: name,
    description: `${username}, ${fingerprint}`,
  }));
  return (
    <Pick
      {...props}
      options={options}
      live={credentials}
      manage={`/projects/${projectId}/access?tab=credentials`}
    />
  );
}

export function SecretPicker(props: WidgetProps) {
  const projectId = useFormContext().place.project_id;
  const secrets = useLive(
    projectId === null ? null : `secrets:${projectId}`,
    async (signal) => {
      const read = await readPages(
        (cursor) =>
          call(
            api.GET("/api/v1/runtime-secrets", {
              params: { query: { project_id: projectId ?? "", ...pageQuery(cursor) } },
              signal,
            }),
          ),
        MOST_PAGES,
        signal,
      );
      return read.items.filter(({ status }) => status === "active");
    },
    { on: ({ type }) => type.startsWith("custody.secret") },
  );
  const options = secrets.value?.map(({ id, name, version }) => ({
    value: id,
    label: name,
    description: `version ${version}`,
  }));
  return (
    <Pick
      {...props}
      options={options}
      live={secrets}
      manage={`/projects/${projectId}/access?tab=credentials`}
    />
  );
}

export function ArtifactPicker(props: WidgetProps) {
  const artifacts = useLive(
    "artifacts",
    async (signal) => {
      const read = await readPages(
        (cursor) =>
          call(
            api.GET("/api/v1/artifacts", {
              params: { query: { status: "published", ...pageQuery(cursor) } },
              signal,
            }),
          ),
        MOST_PAGES,
        signal,
      );
      return read.items;
    },
    { on: ({ type }) => type.startsWith("artifacts.") },
  );
  const options = artifacts.value?.map(({ id, name, version, platform, trust }) => ({
    value: id,
    label: `${name} ${version}`,
    description: `${platform || "any platform"}, ${sentence(trust)}`,
  }));
  return <Pick {...props} options={options} live={artifacts} />;
}

export function ProjectPicker(props: WidgetProps) {
  const projects = useProjects();
  const { org_id } = useFormContext().place;
  const options = projects.value
    ?.filter((project) => org_id === null || project.org_id === org_id)
    .map(({ id, display_name, name }) => ({ value: id, label: display_name, description: name }));
  return <Pick {...props} options={options} live={projects} />;
}

export function MemberPicker(props: WidgetProps) {
  const { members = [], manifest } = useFormContext();
  const options = members
    .filter(({ status }) => status !== "removed")
    .map(({ id, component_key, node, allocation_id, status }) => ({
      value: id,
      label: `${componentTitle(manifest, component_key)} on ${node || allocation_id}`,
      description: sentence(status),
    }));
  return <Pick {...props} options={options} />;
}

export function VersionPicker(props: WidgetProps) {
  const { versions = [] } = useFormContext();
  return (
    <Pick {...props} options={versions.map((version) => ({ value: version, label: version }))} />
  );
}

interface PickProps extends WidgetProps {
  readonly options: readonly Option[] | undefined;
  readonly live?: Pick<Live<unknown>, "loading" | "problem" | "readNow">;
  /** Where another one is made. */
  readonly manage?: string;
}

function Pick({
  field,
  value,
  onChange,
  disabled,
  invalid,
  options = [],
  live,
  manage,
}: PickProps) {
  const many = field.schema.type === "array";
  const common = {
    options,
    disabled,
    invalid,
    filteringType: options.length > 7 ? "auto" : "none",
    statusType: statusOf(live),
    loadingText: "Reading",
    errorText: live?.problem?.title ?? "It could not be read",
    recoveryText: "Read again",
    onLoadItems: () => live?.problem && live.readNow(),
    empty: "There is none yet.",
    placeholder: field.required ? "Choose one" : "None",
  } as const;
  return (
    <div className="pick">
      <div className="pick-field">
        {many ? (
          <Multiselect
            {...common}
            selectedOptions={options.filter((option) => list(value).includes(option.value))}
            onChange={({ detail }) =>
              onChange(detail.selectedOptions.map((option) => option.value ?? ""))
            }
          />
        ) : (
          <Select
            {...common}
            selectedOption={options.find((option) => option.value === value) ?? null}
            onChange={({ detail }) => onChange(detail.selectedOption.value || undefined)}
          />
        )}
      </div>
      {!field.required && !many && value !== undefined && !disabled && (
        <Button variant="link" onClick={() => onChange(undefined)}>
          Clear
        </Button>
      )}
      {manage !== undefined && (
        <Button
          href={manage}
          target="_blank"
          variant="inline-link"
          iconName="external"
          iconAlign="right"
        >
          Manage
        </Button>
      )}
    </div>
  );
}

function statusOf(live: PickProps["live"]) {
  if (live?.problem) return "error" as const;
  return live?.loading ? ("loading" as const) : ("finished" as const);
}
