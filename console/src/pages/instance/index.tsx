/** One instance: how it is, what is being done with it, what can be done, and what has been done. */

import Badge from "@cloudscape-design/components/badge";
import Container from "@cloudscape-design/components/container";
import KeyValuePairs from "@cloudscape-design/components/key-value-pairs";
import Link from "@cloudscape-design/components/link";
import SpaceBetween from "@cloudscape-design/components/space-between";
import Tabs from "@cloudscape-design/components/tabs";
import { useEffect, useState } from "react";
import type { AppInstance, Manifest, Member, Operation } from "../../api/contract.ts";
import { chooseProject, chosenProject } from "../../app/place.ts";
import { type PageProps, useQuery } from "../../app/router.tsx";
import type { LiveList } from "../../live/use-list.ts";
import { topologyTitle } from "../../manifest/placement.ts";
import { useManifest } from "../../manifest/use-manifest.ts";
import { Conditions } from "../../widgets/conditions.tsx";
import { Copy } from "../../widgets/copy.tsx";
import { Moment } from "../../widgets/moment.tsx";
import { Loaded, Page } from "../../widgets/page.tsx";
import { Status } from "../../widgets/status.tsx";
import { WaysOut } from "../../widgets/ways-out.tsx";
import { ActionDialog } from "./action-dialog.tsx";
import { type Asking, InstanceActions } from "./actions.tsx";
import { AccessTab, DetailTab, EventsTab, SettingsTab } from "./detail-tabs.tsx";
import { MembersTab } from "./members-tab.tsx";
import { HistoryTab, UnderWay } from "./operations-view.tsx";
import { OverviewTab } from "./overview-tab.tsx";
import { currentOperations, useInstance, useMembers, useOperations } from "./read.ts";

export default function InstancePage({ params }: PageProps) {
  const id = params.instance_id ?? "";
  const instance = useInstance(id);
  const members = useMembers(id);
  const operations = useOperations(id);
  const version = useManifest(
    instance.value?.app_slug ?? null,
    instance.value?.app_version ?? null,
  );
  const manifest = version.value?.manifest ?? null;
  useProjectOf(instance.value);

  if (instance.value === null) {
    return (
      <Page title="Instance">
        <Loaded live={instance}>{() => null}</Loaded>
      </Page>
    );
  }
  return (
    <InstanceView
      instance={instance.value}
      members={members.value ?? []}
      operations={operations}
      manifest={manifest}
      problem={<Loaded live={instance}>{() => null}</Loaded>}
    />
  );
}

interface InstanceViewProps {
  readonly instance: AppInstance;
  readonly members: readonly Member[];
  readonly operations: LiveList<Operation>;
  readonly manifest: Manifest | null;
  readonly problem: React.ReactNode;
}

function InstanceView({ instance, members, operations, manifest, problem }: InstanceViewProps) {
  const [asking, setAsking] = useState<Asking | null>(null);
  const [tab, setTab] = useQuery("tab");
  const current = currentOperations(operations.items ?? [], instance);
  const removal = manifest?.operations.find(({ purpose }) => purpose === "delete") ?? null;
  const view = { instance, members, manifest, operations, onAsk: setAsking };

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
      {problem}
      <Summary instance={instance} members={members} manifest={manifest} />
      <Conditions
        conditions={instance.conditions.filter(({ type }) => type !== "controller_absent")}
      />
      {instance.status !== "deleted" && (
        <WaysOut
          actions={instance.next_actions}
          instance={instance}
          absence={instance.absence}
          {...(removal === null
            ? {}
            : { onDelete: () => setAsking({ spec: removal, members: [] }) })}
        />
      )}
      <UnderWay operations={current} manifest={manifest} members={members} />
      <Tabs
        activeTabId={tab || "overview"}
        onChange={({ detail }) => setTab(detail.activeTabId)}
        tabs={[
          { id: "overview", label: "Overview", content: <OverviewTab {...view} /> },
          {
            id: "members",
            label: `Members (${members.filter(({ status }) => status !== "removed").length})`,
            content: <MembersTab {...view} />,
          },
          { id: "operations", label: "History", content: <HistoryTab {...view} /> },
          { id: "access", label: "How to use it", content: <AccessTab {...view} /> },
          { id: "events", label: "Events", content: <EventsTab {...view} /> },
          { id: "detail", label: "What the app says", content: <DetailTab {...view} /> },
          { id: "settings", label: "Settings", content: <SettingsTab {...view} /> },
        ]}
      />
      {asking !== null && manifest !== null && (
        <ActionDialog
          asking={asking}
          manifest={manifest}
          instance={instance}
          members={members}
          onClose={() => setAsking(null)}
        />
      )}
    </Page>
  );
}

interface SummaryProps {
  readonly instance: AppInstance;
  readonly members: readonly Member[];
  readonly manifest: Manifest | null;
}

function Summary({ instance, members, manifest }: SummaryProps) {
  const live = members.filter(({ status }) => status !== "removed");
  const machines = new Set(live.map(({ allocation_id }) => allocation_id)).size;
  return (
    <Container>
      <SpaceBetween size="s">
        <KeyValuePairs
          columns={4}
          items={[
            { label: "Status", value: <Status word={instance.status} /> },
            { label: "Health", value: <Status word={instance.health} /> },
            {
              label: "Topology",
              value: `${topologyTitle(manifest, instance.topology)}, ${machines} ${machines === 1 ? "machine" : "machines"}`,
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
      </SpaceBetween>
    </Container>
  );
}

/** A link to an instance of another project moves the person there. */
function useProjectOf(instance: AppInstance | null): void {
  const projectId = instance?.project_id ?? null;
  useEffect(() => {
    if (projectId !== null && chosenProject.get() !== projectId) chooseProject(projectId);
  }, [projectId]);
}
