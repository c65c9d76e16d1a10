/** A panel of an app's page, drawn from the manifest: the app says what it is bound to, the shell draws. */

import Alert from "@cloudscape-design/components/alert";
import Box from "@cloudscape-design/components/box";
import Container from "@cloudscape-design/components/container";
import Header from "@cloudscape-design/components/header";
import KeyValuePairs from "@cloudscape-design/components/key-value-pairs";
import Link from "@cloudscape-design/components/link";
import SpaceBetween from "@cloudscape-design/components/space-between";
import { lazy, type ReactNode, Suspense } from "react";
import type {
  AppInstance,
  Condition,
  Manifest,
  Member,
  Operation,
  Panel,
} from "../api/contract.ts";
import { isJsonObject } from "../api/contract.ts";
import { readAt } from "../forms/pointers.ts";
import { patiently } from "../live/patiently.ts";
import { wholeList } from "../live/use-list.ts";
import { componentTitle } from "../manifest/placement.ts";
import { Conditions } from "./conditions.tsx";
import { DataTable } from "./data-table.tsx";
import { Markdown } from "./markdown.tsx";
import { useNarrow } from "./narrow.ts";
import { Prose } from "./prose.tsx";
import { isUnreachable, Status } from "./status.tsx";
import { pageOf } from "./thing.tsx";
import { pictureHeight, placed } from "./topology-layout.ts";
import { Value } from "./value.tsx";
import { sentence } from "./words.ts";

const Topology = lazy(async () => ({
  default: (await patiently(() => import("./topology.tsx"))).Topology,
}));

export interface PanelScene {
  readonly manifest: Manifest;
  readonly instance: AppInstance;
  readonly members: readonly Member[];
  readonly operations: readonly Operation[];
  /** What people call the machine of an allocation. */
  readonly allocationName: (id: string) => string;
}

export function ManifestPanel({
  panel,
  scene,
}: {
  readonly panel: Panel;
  readonly scene: PanelScene;
}) {
  return (
    <Container
      header={
        <Header variant="h2" description={panel.description}>
          {panel.title}
        </Header>
      }
    >
      {content(panel, scene) ?? (
        <Box color="text-body-secondary">{panel.empty || "There is nothing to show yet."}</Box>
      )}
    </Container>
  );
}

/** What the panel shows; null where its pointers lead nowhere. */
function content(panel: Panel, scene: PanelScene): ReactNode | null {
  const source = sourceOf(panel, scene);
  switch (panel.kind) {
    case "facts":
      return <Facts panel={panel} source={source} />;
    case "table":
      return <Rows panel={panel} source={source} members={scene.members} />;
    case "status":
      return <StatusFacts panel={panel} source={source} manifest={scene.manifest} />;
    case "topology":
      if (scene.members.length === 0) return null;
      return <Picture scene={scene} edges={panel.edges ?? []} />;
    case "markdown":
      return markdown(panel, source);
    default:
      // Queues and jobs have no read model here yet; the panel says so in the app's own words.
      return null;
  }
}

function sourceOf(panel: Panel, scene: PanelScene): unknown {
  const { manifest, instance, members, operations, allocationName } = scene;
  switch (panel.source ?? "instance") {
    case "instance":
      return instance;
    case "members":
      // Members are called by what the app calls their machine, or by their allocation's name, and what
      // they are by the title of their component.
      return members.map((member) => ({
        ...member,
        component_key: componentTitle(manifest, member.component_key),
        resource_name: member.node || allocationName(member.allocation_id),
      }));
    case "operations":
      return operations;
    default:
      return undefined;
  }
}

interface PictureProps {
  readonly scene: PanelScene;
  readonly edges: readonly { source: string; target: string; label?: string }[];
}

/** The frame of the topology, and its words; what is in it is drawn when the rest of the page stands. */
function Picture({ scene, edges }: PictureProps) {
  const { members, manifest } = scene;
  const narrow = useNarrow();
  const boxes = placed(members, manifest, narrow);
  return (
    <>
      <figure
        className={narrow ? "topology topology-tree" : "topology"}
        style={{ height: pictureHeight(boxes, narrow) }}
        aria-label={inWords(members, manifest)}
      >
        <Suspense>
          <Topology key={`${narrow}`} scene={scene} boxes={boxes} edges={edges} narrow={narrow} />
        </Suspense>
      </figure>
      {members.length > boxes.length && (
        <div>
          The first {boxes.length} of {members.length} members are drawn; the table of members has
          all.
        </div>
      )}
    </>
  );
}

function inWords(members: readonly Member[], manifest: Manifest): string {
  const parts = members.map(
    ({ component_key, status, conditions }) =>
      `${componentTitle(manifest, component_key)}: ${sentence(status)}${isUnreachable(conditions) ? ", unreachable" : ""}`,
  );
  return `Topology. ${parts.join("; ")}`;
}

type Kind<K extends Panel["kind"]> = Extract<Panel, { kind: K }>;

function Facts({ panel, source }: { readonly panel: Kind<"facts">; readonly source: unknown }) {
  return (
    <KeyValuePairs
      columns={Math.min(4, panel.items.length)}
      items={panel.items.map(({ label, pointer, format = "text", help }) => ({
        label,
        value: (
          <>
            <Value value={readAt(source, pointer)} format={format} label={label} />
            {help && (
              <Box color="text-body-secondary" fontSize="body-s">
                {help}
              </Box>
            )}
          </>
        ),
      }))}
    />
  );
}

interface Row {
  readonly row: unknown;
  readonly at: number;
}

interface RowsProps {
  readonly panel: Kind<"table">;
  readonly source: unknown;
  readonly members: readonly Member[];
}

/** The first column says what a row is called: it leads to its page, and orders the rows until a person does. */
function Rows({ panel, source, members }: RowsProps) {
  const found = readAt(source, panel.rows ?? "");
  const rows = Array.isArray(found) ? found : isJsonObject(found) ? Object.values(found) : [];
  return (
    <DataTable<Row>
      embedded
      name={panel.title.toLowerCase().replaceAll(/[^a-z0-9]+/g, "-")}
      title={panel.title}
      list={wholeList(rows.map((row, at) => ({ row, at })))}
      idOf={({ at }) => `${at}`}
      sortedBy={isText(panel.columns[0]) ? "0" : ""}
      columns={panel.columns.map(({ label, pointer, format = "text" }, at) => ({
        id: `${at}`,
        header: label,
        rowHeader: at === 0,
        minWidth: "auto",
        value: ({ row }) => comparable(readAt(row, pointer)),
        cell: ({ row }) => {
          const value = readAt(row, pointer);
          const page = at === 0 && format === "text" ? pageOfRow(row, value, members) : null;
          const shown = <Value value={value} format={format} label={label} />;
          return page === null ? shown : <Link href={page}>{shown}</Link>;
        },
      }))}
      empty={<Box color="text-body-secondary">{panel.empty || "There are none."}</Box>}
    />
  );
}

function isText(column: Kind<"table">["columns"][number] | undefined): boolean {
  return (column?.format ?? "text") === "text";
}

/** Where a row leads: an operation to its page, a member, or what the app calls by a member's name, to the
 * machine. */
function pageOfRow(row: unknown, name: unknown, members: readonly Member[]): string | null {
  const { id, allocation_id } = isJsonObject(row) ? row : {};
  if (typeof allocation_id === "string") return pageOf(allocation_id);
  if (typeof id === "string" && pageOf(id) !== null) return pageOf(id);
  const member = members.find(({ node }) => node !== "" && node === name);
  return member === undefined ? null : pageOf(member.allocation_id);
}

/** What a cell is searched in and sorted by. */
function comparable(value: unknown): string | number {
  if (typeof value === "number" || typeof value === "string") return value;
  return value === undefined || value === null ? "" : JSON.stringify(value);
}

interface StatusFactsProps {
  readonly panel: Kind<"status">;
  readonly source: unknown;
  readonly manifest: Manifest;
}

function StatusFacts({ panel, source, manifest }: StatusFactsProps) {
  const health = String(readAt(source, panel.health ?? "/health") ?? "unknown");
  const summary = readAt(source, panel.summary ?? "/adapter_detail/summary");
  const conditions = saidAbove(panel) ? [] : readAt(source, panel.conditions ?? "");
  const word = manifest.health.find((one) => one.health === health);
  return (
    <SpaceBetween size="s">
      <Status word={health} />
      {typeof summary === "string" && summary !== "" && <Prose>{summary}</Prose>}
      {word !== undefined && (word.meaning || word.next_action) && (
        <Box color="text-body-secondary">
          {word.meaning} {word.next_action}
        </Box>
      )}
      {Array.isArray(conditions) && <Conditions conditions={conditions as Condition[]} />}
    </SpaceBetween>
  );
}

/** The page says the instance's own conditions on top, beside the ways out. */
function saidAbove({ source = "instance", conditions = CONDITIONS }: Kind<"status">): boolean {
  return source === "instance" && conditions === CONDITIONS;
}

const CONDITIONS = "/conditions";

function markdown(panel: Kind<"markdown">, source: unknown): ReactNode | null {
  const bound = panel.pointer ? readAt(source, panel.pointer) : undefined;
  const text = typeof bound === "string" ? bound : (panel.text ?? "");
  if (text === "") return null;
  if (panel.severity === undefined || panel.severity === "info") return <Markdown text={text} />;
  return (
    <Alert type={panel.severity}>
      <Markdown text={text} />
    </Alert>
  );
}
