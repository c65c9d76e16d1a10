/** The quieter tabs of an instance: how to use it, its events, what the app says, its settings. */

import Alert from "@cloudscape-design/components/alert";
import Box from "@cloudscape-design/components/box";
import Button from "@cloudscape-design/components/button";
import Container from "@cloudscape-design/components/container";
import Header from "@cloudscape-design/components/header";
import SpaceBetween from "@cloudscape-design/components/space-between";
import { useState } from "react";
import { isJsonObject, type JsonObject } from "../../api/contract.ts";
import { useCan } from "../../app/access.ts";
import { placeOf } from "../../app/place.ts";
import { machineName } from "../../forms/use-offers.ts";
import { componentTitle } from "../../manifest/placement.ts";
import { Answers } from "../../widgets/answers.tsx";
import { EventTable } from "../../widgets/event-table.tsx";
import { JsonView } from "../../widgets/json-view.tsx";
import { Markdown } from "../../widgets/markdown.tsx";
import { Moment } from "../../widgets/moment.tsx";
import { Prose } from "../../widgets/prose.tsx";
import { Status } from "../../widgets/status.tsx";
import { Thing } from "../../widgets/thing.tsx";
import { SettingsDialog } from "./settings-dialog.tsx";
import { type InstanceTabProps, inOrder } from "./view.ts";

/** The access bundle: what is used elsewhere can be copied. */
export function AccessTab({ instance }: InstanceTabProps) {
  const bundle = instance.access;
  if (!isJsonObject(bundle) || Object.keys(bundle).length === 0) {
    return (
      <Container>
        <Box color="text-body-secondary">
          The app has not said yet how it is used. It does when it runs.
        </Box>
      </Container>
    );
  }
  const { markdown, ...facts } = bundle;
  return (
    <Container header={<Header variant="h2">How to use it</Header>}>
      <SpaceBetween size="m">
        {typeof markdown === "string" && <Markdown text={markdown} />}
        <JsonView value={facts} copies />
      </SpaceBetween>
    </Container>
  );
}

export function EventsTab({ instance }: InstanceTabProps) {
  return <EventTable query={{ app_instance_id: instance.id }} title="Events of this instance" />;
}

/** What the app's own adapter reports, of the whole and of each member. */
export function DetailTab({ instance, members, manifest, machines }: InstanceTabProps) {
  const detail = instance.adapter_detail;
  const nameOf = (id: string) => machineName(machines, id);
  const speaking = inOrder(members, manifest, nameOf).filter(
    ({ adapter_detail }) => adapter_detail !== null,
  );
  return (
    <SpaceBetween size="l">
      <Container header={<Header variant="h2">The whole</Header>}>
        {detail === null ? (
          <Box color="text-body-secondary">The app has not said anything yet.</Box>
        ) : (
          <SpaceBetween size="s">
            <div>
              <Status word={detail.severity} /> <Prose>{detail.summary}</Prose>
            </div>
            <JsonView value={detail.detail} />
            <Box color="text-body-secondary">
              Said <Moment at={detail.reported_at} />
            </Box>
          </SpaceBetween>
        )}
      </Container>
      {speaking.map(({ id, component_key, node, allocation_id, adapter_detail }) => (
        <Container
          key={id}
          header={
            <Header variant="h3">
              {componentTitle(manifest, component_key)} on{" "}
              <Thing id={allocation_id}>{node || nameOf(allocation_id)}</Thing>
            </Header>
          }
        >
          <SpaceBetween size="s">
            <Prose>{adapter_detail?.summary ?? ""}</Prose>
            <JsonView value={adapter_detail?.detail} />
          </SpaceBetween>
        </Container>
      ))}
    </SpaceBetween>
  );
}

export function SettingsTab({ instance, manifest }: InstanceTabProps) {
  const { settings, settings_revision, settings_applied_revision } = instance;
  const [changing, setChanging] = useState(false);
  const deploy = manifest?.operations.find(({ purpose }) => purpose === "deploy");
  const form = deploy?.input;
  const may =
    useCan()("apps.instance.update", placeOf(instance)) &&
    !["deleting", "deleted"].includes(instance.status);
  return (
    <Container
      header={
        <Header
          variant="h2"
          actions={
            may &&
            deploy !== undefined && (
              <Button onClick={() => setChanging(true)}>Change settings</Button>
            )
          }
        >
          Settings
        </Header>
      }
    >
      <SpaceBetween size="m">
        {settings_applied_revision < settings_revision && (
          <Alert type="info">
            Revision {settings_revision} was asked for; the app has applied{" "}
            {settings_applied_revision === 0 ? "none yet" : `revision ${settings_applied_revision}`}
            .
          </Alert>
        )}
        {form === undefined ? (
          <JsonView value={settings} />
        ) : (
          <Answers schema={form as JsonObject} value={settings as JsonObject} />
        )}
      </SpaceBetween>
      {changing && manifest !== null && deploy !== undefined && (
        <SettingsDialog
          instance={instance}
          manifest={manifest}
          deploy={deploy}
          onClose={() => setChanging(false)}
        />
      )}
    </Container>
  );
}
