/** One operation: the five questions, the ways out, every step, what was asked for, and the timeline. */

import Box from "@cloudscape-design/components/box";
import Container from "@cloudscape-design/components/container";
import Header from "@cloudscape-design/components/header";
import KeyValuePairs from "@cloudscape-design/components/key-value-pairs";
import Link from "@cloudscape-design/components/link";
import SpaceBetween from "@cloudscape-design/components/space-between";
import { api, call } from "../../api/client.ts";
import {
  isJsonObject,
  type JsonObject,
  type Operation,
  type OperationSpec,
  type Schemas,
} from "../../api/contract.ts";
import { useProjectOf } from "../../app/place.ts";
import type { PageProps } from "../../app/router.tsx";
import { rowOf } from "../../live/use-list.ts";
import { type Live, useLive } from "../../live/use-live.ts";
import { useManifest } from "../../manifest/use-manifest.ts";
import { Answers } from "../../widgets/answers.tsx";
import { Conditions } from "../../widgets/conditions.tsx";
import { FiveQuestions } from "../../widgets/five-questions.tsx";
import { instanceOf, useMember } from "../../widgets/instance-reads.ts";
import { JsonView } from "../../widgets/json-view.tsx";
import { Elapsed, Moment } from "../../widgets/moment.tsx";
import { OperationSteps } from "../../widgets/operation-steps.tsx";
import { Later, Loaded, Page, ReadProblem } from "../../widgets/page.tsx";
import { Status } from "../../widgets/status.tsx";
import { Thing } from "../../widgets/thing.tsx";
import { TimelineTable, useTimeline } from "../../widgets/timeline.tsx";
import { WaysOut } from "../../widgets/ways-out.tsx";
import { sentence } from "../../widgets/words.ts";

export default function OperationPage({ params }: PageProps) {
  const id = params.operation_id ?? "";
  const operation: Live<Operation> = useLive(
    `operation:${id}`,
    (signal) =>
      call(
        api.GET("/api/v1/operations/{operation_id}", {
          params: { path: { operation_id: id } },
          signal,
        }),
      ),
    {
      on: ({ appinstanceid }) => appinstanceid === operation.value?.instance_id,
      seed: () => rowOf("operations", id) ?? rowOf("project-operations", id),
    },
  );
  useProjectOf(operation.value);
  if (operation.value === null) {
    return (
      <Page title="Operation">
        <Loaded live={operation}>{() => null}</Loaded>
      </Page>
    );
  }
  return <OperationView operation={operation.value} live={operation} />;
}

interface OperationViewProps {
  readonly operation: Operation;
  readonly live: Live<Operation>;
}

function OperationView({ operation, live }: OperationViewProps) {
  const { instance_id: instanceId, member_id: memberId } = operation;
  const instanceLive = useLive(...instanceOf(instanceId));
  const memberLive = useMember(memberId, instanceId);
  const [instance, member] = [instanceLive.value, memberLive.value];
  const manifest = useManifest(instance?.app_slug ?? null, instance?.app_version ?? null).value;
  const spec = manifest?.manifest.operations.find(({ kind }) => kind === operation.kind) ?? null;
  return (
    <Page title={sentence(operation.kind)}>
      <ReadProblem
        live={[live, instanceLive, memberLive].find(({ problem }) => problem !== null) ?? live}
      />
      <FiveQuestions
        diagnosis={diagnosis(operation, instance, member)}
        spec={spec}
        about={{ instanceId, memberId }}
      />
      <WaysOut
        actions={operation.next_actions}
        instance={{
          id: instanceId,
          org_id: operation.org_id,
          project_id: operation.project_id,
        }}
        absence={stated(operation, instance, member)}
      />
      <Conditions conditions={operation.conditions} />
      <Container
        header={
          <Header
            variant="h2"
            actions={<Status word={operation.status} work />}
            description={
              <>
                <Elapsed from={operation.requested_at} to={operation.ended_at} /> from the request
                to {operation.ended_at === null ? "now" : "its end"}.
              </>
            }
          >
            Steps
          </Header>
        }
      >
        <OperationSteps operation={operation} spec={spec} />
      </Container>
      <Later>
        <SpaceBetween size="l">
          <Asked operation={operation} spec={spec} />
          <TimelineOf correlationId={operation.correlation_id} />
        </SpaceBetween>
      </Later>
    </Page>
  );
}

function TimelineOf({ correlationId }: { readonly correlationId: string }) {
  return <TimelineTable timeline={useTimeline(correlationId)} />;
}

/** What the app has stated of what is left; undefined until both were read. */
function stated(
  { member_id }: Operation,
  instance: Schemas["AppInstance"] | null,
  member: Schemas["Member"] | null,
): Schemas["Absence"] | null | undefined {
  if (instance === null || (member_id !== null && member === null)) return undefined;
  return member?.absence ?? instance.absence;
}

function diagnosis(
  operation: Operation,
  instance: Schemas["AppInstance"] | null,
  member: Schemas["Member"] | null,
): Schemas["Diagnosis"] {
  const last = operation.progress.findLast(({ state }) => state !== "pending");
  return {
    correlation_id: operation.correlation_id,
    adapter_detail: member?.adapter_detail ?? instance?.adapter_detail ?? null,
    operation: { ...operation, step: last?.name ?? "", link: "" },
    member: member === null ? null : { ...member, link: "" },
    instance: instance === null ? null : { ...instance, link: "" },
  };
}

interface AskedProps {
  readonly operation: Operation;
  readonly spec: OperationSpec | null;
}

function Asked({ operation, spec }: AskedProps) {
  const { lease, group_id, waits_for, target_version } = operation;
  return (
    <Container header={<Header variant="h2">What was asked for</Header>}>
      <SpaceBetween size="m">
        <KeyValuePairs
          columns={4}
          items={[
            { label: "By", value: <Thing id={operation.requested_by} /> },
            { label: "When", value: <Moment at={operation.requested_at} /> },
            {
              label: "Worked on by",
              value:
                lease === null ? (
                  "Nobody now"
                ) : (
                  <>
                    <Thing id={lease.holder} /> ({lease.replica})
                  </>
                ),
            },
            ...(operation.reason ? [{ label: "Reason", value: operation.reason }] : []),
            ...(target_version === null ? [] : [{ label: "To version", value: target_version }]),
            ...(group_id === null
              ? []
              : [
                  {
                    label: "Asked for together",
                    value: <Link href={`/operation-groups/${group_id}`}>The whole group</Link>,
                  },
                ]),
            ...(waits_for === null
              ? []
              : [
                  {
                    label: "Waits for",
                    value: <Link href={`/operations/${waits_for}`}>Another operation</Link>,
                  },
                ]),
          ]}
        />
        <Input operation={operation} spec={spec} />
      </SpaceBetween>
    </Container>
  );
}

/** In the words of the form that asked for it; what the form does not know of, as it is. */
function Input({ operation, spec }: AskedProps) {
  const input = operation.input as JsonObject;
  if (Object.keys(input).length === 0) {
    return <Box color="text-body-secondary">It has no input.</Box>;
  }
  const schema = spec?.input;
  if (!isJsonObject(schema)) return <JsonView value={input} />;
  const known = isJsonObject(schema.properties) ? schema.properties : {};
  const rest = Object.entries(input).filter(([name]) => !(name in known));
  return (
    <>
      <Answers schema={schema} value={input} givenOnly />
      {rest.length > 0 && <JsonView value={Object.fromEntries(rest)} />}
    </>
  );
}
