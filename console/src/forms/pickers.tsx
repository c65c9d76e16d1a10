/** Widgets that choose among things of the platform: people see names, the app gets ids. */

import Button from "@cloudscape-design/components/button";
import Multiselect from "@cloudscape-design/components/multiselect";
import Select from "@cloudscape-design/components/select";
import { api, call } from "../api/client.ts";
import type { Member, Place, Schemas } from "../api/contract.ts";
import { EVERY_PAGE, pageQuery, readPages } from "../api/pages.ts";
import { useProjects } from "../app/place.ts";
import { type Live, useLive } from "../live/use-live.ts";
import { componentTitle } from "../manifest/placement.ts";
import { isId } from "../widgets/named.tsx";
import { ReadProblem } from "../widgets/page.tsx";
import { sentence, shortId } from "../widgets/words.ts";
import { useFormContext, type WidgetProps } from "./context.ts";
import { useProjectApp, versionOption } from "./project-app.ts";
import { list } from "./schema.ts";
import { machineName, useMachines } from "./use-offers.ts";

interface Option {
  readonly value: string;
  readonly label: string;
  readonly description?: string;
  readonly disabled?: boolean;
}

const NOWHERE: Place = { org_id: null, project_id: null };

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
        EVERY_PAGE,
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
        EVERY_PAGE,
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
        EVERY_PAGE,
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
      manage={`/projects/${projectId}/access?tab=secrets`}
    />
  );
}

/** Those that can be installed: what was promoted first. */
export function ArtifactPicker(props: WidgetProps) {
  const artifacts = useLive(
    "artifacts",
    async (signal) => {
      const [promoted, published] = await Promise.all([
        readArtifacts("promoted", signal),
        readArtifacts("published", signal),
      ]);
      return [...promoted, ...published];
    },
    { on: ({ type }) => type.startsWith("artifacts.") },
  );
  const options = artifacts.value?.map(({ id, name, version, platform, status, trust }) => ({
    value: id,
    label: `${name} ${version}`,
    description: `${platform || "any platform"}, ${sentence(status)}, ${sentence(trust)}`,
  }));
  return <Pick {...props} options={options} live={artifacts} />;
}

async function readArtifacts(
  status: Schemas["ArtifactStatus"],
  signal: AbortSignal,
): Promise<readonly Schemas["Artifact"][]> {
  const read = await readPages(
    (cursor) =>
      call(
        api.GET("/api/v1/artifacts", {
          params: { query: { status, ...pageQuery(cursor) } },
          signal,
        }),
      ),
    EVERY_PAGE,
    signal,
  );
  return read.items;
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
  const { members = [], manifest, place } = useFormContext();
  const there = members.filter(({ status }) => status !== "removed");
  // Only who has no node yet is told by the allocation.
  const machines = useMachines(there.every(({ node }) => node) ? NOWHERE : place).value ?? [];
  const machineOf = ({ node, allocation_id }: Member) =>
    node || calledShort(machineName(machines, allocation_id));
  const options = there.map((member) => ({
    value: member.id,
    label: `${componentTitle(manifest, member.component_key)} on ${machineOf(member)}`,
    description: sentence(member.status),
  }));
  return <Pick {...props} options={options} />;
}

export function VersionPicker(props: WidgetProps) {
  const { place, instance, slug = instance?.app_slug ?? null } = useFormContext();
  const app = useProjectApp(place.project_id, slug);
  const known = place.project_id !== null && slug !== null;
  return (
    <Pick
      {...props}
      options={app.value?.versions.map(versionOption)}
      {...(known ? { live: app } : {})}
    />
  );
}

interface PickProps extends WidgetProps {
  readonly options: readonly Option[] | undefined;
  readonly live?: Pick<Live<unknown>, "loading" | "problem" | "readNow">;
  /** Where another one is made. */
  readonly manage?: string;
}

function Pick({ field, value, onChange, disabled, invalid, options, live, manage }: PickProps) {
  const many = field.schema.type === "array";
  const offered = options ?? [];
  const optionOf = (id: string) => offered.find((option) => option.value === id) ?? unoffered(id);
  const common = {
    options: offered,
    disabled,
    invalid,
    filteringType: offered.length > 7 ? "auto" : "none",
    virtualScroll: offered.length > 100,
    statusType: statusOf(live),
    loadingText: "Reading",
    errorText: live?.problem?.title ?? "It could not be read",
    recoveryText: "Read again",
    onLoadItems: () => live?.problem && live.readNow(),
    empty: "There is none yet.",
    placeholder: field.required ? "Choose one" : "None",
  } as const;
  return (
    <>
      {live !== undefined && <ReadProblem live={live} />}
      <div className="pick">
        <div className="pick-field">
          {many ? (
            <Multiselect
              {...common}
              selectedOptions={list(value).map((id) => optionOf(String(id)))}
              onChange={({ detail }) =>
                onChange(detail.selectedOptions.map((option) => option.value ?? ""))
              }
            />
          ) : (
            <Select
              {...common}
              selectedOption={typeof value === "string" ? optionOf(value) : null}
              onChange={({ detail }) => onChange(detail.selectedOption.value || undefined)}
            />
          )}
        </div>
        {!field.required && !many && value !== undefined && !disabled && (
          <Button variant="link" formAction="none" onClick={() => onChange(undefined)}>
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
    </>
  );
}

/** What was chosen stays chosen, also when it is offered no longer or is not read yet. */
function unoffered(id: string): Option {
  return { value: id, label: calledShort(id) };
}

function calledShort(text: string): string {
  return isId(text) ? shortId(text) : text;
}

function statusOf(live: PickProps["live"]) {
  if (live?.problem) return "error" as const;
  return live?.loading ? ("loading" as const) : ("finished" as const);
}
