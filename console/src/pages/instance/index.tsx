/** One instance: how it is, what is being done with it, what can be done, and what has been done. */

import Badge from "@cloudscape-design/components/badge";
import Container from "@cloudscape-design/components/container";
import KeyValuePairs from "@cloudscape-design/components/key-value-pairs";
import Link from "@cloudscape-design/components/link";
import SpaceBetween from "@cloudscape-design/components/space-between";
import Tabs from "@cloudscape-design/components/tabs";
import { useState } from "react";
import type { AppInstance, Manifest, Member } from "../../api/contract.ts";
import { placeOf, useProjectOf } from "../../app/place.ts";
import { type Ahead, type PageProps, useQuery } from "../../app/router.tsx";
import { useMachines } from "../../forms/use-offers.ts";
import type { Live } from "../../live/use-live.ts";
import { topologyTitle } from "../../manifest/placement.ts";
import { useManifest } from "../../manifest/use-manifest.ts";
import { Conditions } from "../../widgets/conditions.tsx";
import { Copy } from "../../widgets/copy.tsx";
import { Moment } from "../../widgets/moment.tsx";
import { Loaded, Page, Reading, ReadProblem } from "../../widgets/page.tsx";
import { Status } from "../../widgets/status.tsx";
import { WaysOut } from "../../widgets/ways-out.tsx";
import { ActionDialog } from "./action-dialog.tsx";
import { type Asking, InstanceActions } from "./actions.tsx";
import { AccessTab, DetailTab, EventsTab, SettingsTab } from "./detail-tabs.tsx";
import { MembersTab } from "./members-tab.tsx";
import { HistoryTab, UnderWay } from "./operations-view.tsx";
import { OverviewTab } from "./overview-tab.tsx";
import {
  currentOperations,
  readInstanceAhead,
  standsAlone,
  useInstance,
  useMembers,
  useOperations,
} from "./read.ts";
import { UsageTab } from "./usage-tab.tsx";
import type { InstanceTabProps } from "./view.ts";

export const ahead: Ahead = ({ instance_id }, search) =>
  readInstanceAhead(instance_id ?? "", new URLSearchParams(search).get("tab") ?? "");

export default function InstancePage({ params }: PageProps) {
  const instance = useInstance(params.instance_id ?? "");
  useProjectOf(instance.value);
  if (instance.value === null) {
    return (
      <Page title="Instance">
        <Loaded live={instance}>{() => null}</Loaded>
      </Page>
    );
  }
  return <InstanceView instance={instance.value} live={instance} />;
}

interface InstanceViewProps {
  readonly instance: AppInstance;
  readonly live: Live<AppInstance>;
}

/** What is known of the instance stands at once; the rest when what its first screen needs is read. */
function InstanceView({ instance, live }: InstanceViewProps) {
  const version = useManifest(instance.app_slug, instance.app_version);
  const manifest = version.value?.manifest ?? null;
  const [tab] = useQuery("tab");
  const alone = manifest !== null && standsAlone(instance, manifest, tab);
  const members = useMembers(instance.id, alone);
  const operations = useOperations(instance.id, alone);
  const machines = useMachines(placeOf(instance), alone);
  const reading = [members, operations, machines].some(({ loading }) => loading);
  const [asking, setAsking] = useState<Asking | null>(null);
  const view = {
    instance,
    manifest,
    members: members.value ?? [],
    membersKnown: members.value !== null,
    operations,
    machines: machines.value ?? [],
    reading,
    onAsk: setAsking,
  };
  return (
    <Page
      title={instance.display_name || instance.resource_name}
      info={<Badge>{`${instance.app_slug} ${instance.app_version}`}</Badge>}
      actions={
        manifest !== null && (
          <InstanceActions instance={instance} manifest={manifest} onAsk={setAsking} />
        )
      }
    >
      <ReadProblem
        live={[live, members, operations, version].find(({ problem }) => problem !== null) ?? live}
      />
      <Summary instance={instance} members={members.value} manifest={manifest} />
      {version.loading || (reading && !alone) ? <Reading /> : <Whole {...view} />}
      {asking !== null && manifest !== null && (
        <ActionDialog
          asking={asking}
          manifest={manifest}
          instance={instance}
          members={view.members}
          onClose={() => setAsking(null)}
        />
      )}
    </Page>
  );
}

function Whole(view: InstanceTabProps) {
  const { instance, members, membersKnown, operations, manifest, machines, onAsk } = view;
  const [tab, setTab] = useQuery("tab");
  const removal = manifest?.operations.find(({ purpose }) => purpose === "delete") ?? null;
  return (
    <SpaceBetween size="l">
      <Conditions
        conditions={instance.conditions.filter(({ type }) => type !== "controller_absent")}
      />
      {instance.status !== "deleted" && (
        <WaysOut
          actions={instance.next_actions}
          instance={instance}
          absence={instance.absence}
          {...(removal === null ? {} : { onDelete: () => onAsk({ spec: removal, members: [] }) })}
        />
      )}
      <UnderWay
        operations={currentOperations(operations.items ?? [], instance, members)}
        manifest={manifest}
        members={members}
        machines={machines}
      />
      <Tabs
        activeTabId={tab || "overview"}
        onChange={({ detail }) => setTab(detail.activeTabId)}
        tabs={[
          { id: "overview", label: "Overview", content: <OverviewTab {...view} /> },
          {
            id: "members",
            label: membersKnown ? `Members (${members.filter(isThere).length})` : "Members",
            content: <MembersTab {...view} />,
          },
          { id: "operations", label: "History", content: <HistoryTab {...view} /> },
          { id: "access", label: "Access", content: <AccessTab {...view} /> },
          { id: "usage", label: "Usage", content: <UsageTab {...view} /> },
          { id: "events", label: "Events", content: <EventsTab {...view} /> },
          { id: "detail", label: "App detail", content: <DetailTab {...view} /> },
          { id: "settings", label: "Settings", content: <SettingsTab {...view} /> },
        ]}
      />
    </SpaceBetween>
  );
}

interface SummaryProps {
  readonly instance: AppInstance;
  /** Null until they were read. */
  readonly members: readonly Member[] | null;
  readonly manifest: Manifest | null;
}

function Summary({ instance, members, manifest }: SummaryProps) {
  return (
    <Container>
      <KeyValuePairs
        columns={4}
        items={[
          { label: "Status", value: <Status word={instance.status} /> },
          { label: "Health", value: <Status word={instance.health} /> },
          {
            label: "Topology",
            value: `${topologyTitle(manifest, instance.topology)}${counted(members)}`,
          },
          { label: "Version that runs", value: instance.runtime_version || "–" },
          { label: "Name", value: <Copy text={instance.resource_name} what="the name" /> },
          { label: "Id", value: <Copy text={instance.id} what="the id" /> },
          {
            label: "Correlation id",
            value: (
              <Link href={`/correlations/${encodeURIComponent(instance.correlation_id)}`}>
                {instance.correlation_id}
              </Link>
            ),
          },
          { label: "Created", value: <Moment at={instance.created_at} /> },
        ]}
      />
    </Container>
  );
}

/** On how many machines it is, where that is not said yet; nothing until it was read. */
function counted(members: readonly Member[] | null): string {
  if (members === null) return "";
  const machines = new Set(members.filter(isThere).map(({ allocation_id }) => allocation_id));
  return machines.size > 1 ? ` (${machines.size})` : "";
}

function isThere({ status }: Member): boolean {
  return status !== "removed";
}
