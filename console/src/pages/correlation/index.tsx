/** Everything about one correlation id; without one, the place to enter it. */

import Alert from "@cloudscape-design/components/alert";
import Button from "@cloudscape-design/components/button";
import Container from "@cloudscape-design/components/container";
import ExpandableSection from "@cloudscape-design/components/expandable-section";
import FormField from "@cloudscape-design/components/form-field";
import Input from "@cloudscape-design/components/input";
import SpaceBetween from "@cloudscape-design/components/space-between";
import { useState } from "react";
import type { NextAction, Schemas } from "../../api/contract.ts";
import { type Ahead, navigate, type PageProps } from "../../app/router.tsx";
import { readAhead, useLive } from "../../live/use-live.ts";
import { Copy } from "../../widgets/copy.tsx";
import { failureText } from "../../widgets/failure-text.ts";
import { FiveQuestions } from "../../widgets/five-questions.tsx";
import { instanceOf, useMember } from "../../widgets/instance-reads.ts";
import { Page, ReadProblem } from "../../widgets/page.tsx";
import { Prose } from "../../widgets/prose.tsx";
import { TimelineTable, timelineOf, useTimeline } from "../../widgets/timeline.tsx";
import { WaysOut } from "../../widgets/ways-out.tsx";

export const ahead: Ahead = ({ correlation_id }) => {
  if (correlation_id !== undefined) readAhead(...timelineOf(correlation_id));
};

export default function CorrelationPage({ params }: PageProps) {
  const id = params.correlation_id;
  return (
    <Page
      title={id === undefined ? "Find by correlation id" : "Correlation"}
      description="Every request has one, and everything that follows from it carries it: rows, events, log lines, on the machines too."
    >
      <Search initial={id ?? ""} />
      {id !== undefined && <Findings correlationId={id} />}
    </Page>
  );
}

function Search({ initial }: { readonly initial: string }) {
  const [typed, setTyped] = useState(initial);
  return (
    <Container>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (typed.trim() !== "") navigate(`/correlations/${encodeURIComponent(typed.trim())}`);
        }}
      >
        <SpaceBetween size="s">
          <FormField
            label="Correlation id"
            description="It stands beside every problem, on every operation, and in every log line."
            stretch
          >
            <Input value={typed} onChange={({ detail }) => setTyped(detail.value)} type="search" />
          </FormField>
          <Button formAction="submit">Look it up</Button>
        </SpaceBetween>
      </form>
    </Container>
  );
}

function Findings({ correlationId }: { readonly correlationId: string }) {
  const timeline = useTimeline(correlationId);
  return (
    <SpaceBetween size="l">
      <ReadProblem live={timeline} />
      {(timeline.value?.diagnoses ?? []).map((diagnosis) => (
        <Diagnosed
          key={diagnosis.operation?.id ?? diagnosis.instance?.id ?? ""}
          diagnosis={diagnosis}
        />
      ))}
      <TimelineTable timeline={{ ...timeline, problem: null }} />
      {timeline.value !== null && timeline.value.trace_ids.length > 0 && (
        <ExpandableSection
          variant="container"
          headerText="Traces"
          headerCounter={`(${timeline.value.trace_ids.length})`}
          headerDescription="For whoever looks them up where the platform sends its traces."
        >
          <SpaceBetween size="xxs">
            {timeline.value.trace_ids.map((trace) => (
              <Copy key={trace} text={trace} what="the trace id" />
            ))}
          </SpaceBetween>
        </ExpandableSection>
      )}
    </SpaceBetween>
  );
}

function Diagnosed({ diagnosis }: { readonly diagnosis: Schemas["Diagnosis"] }) {
  const { operation, instance, member } = diagnosis;
  const ways = operation?.next_actions ?? [];
  return (
    <SpaceBetween size="s">
      <FiveQuestions diagnosis={diagnosis} />
      {operation?.error && (
        <Alert type="error" header={operation.error.code}>
          <Prose>{failureText(operation.error)}</Prose>
        </Alert>
      )}
      {ways.length > 0 && instance && (
        <WaysAbout actions={ways} instanceId={instance.id} memberId={member?.id ?? null} />
      )}
    </SpaceBetween>
  );
}

interface WaysAboutProps {
  readonly actions: readonly NextAction[];
  readonly instanceId: string;
  readonly memberId: string | null;
}

/** Once it is known where the instance lives and what its app has stated: what may be offered, and what is said of
 * it, depends on that. */
function WaysAbout({ actions, instanceId, memberId }: WaysAboutProps) {
  const instance = useLive(...instanceOf(instanceId));
  const member = useMember(memberId, instanceId);
  const read = memberId === null ? [instance] : [instance, member];
  if (read.some(({ loading }) => loading)) return null;
  return (
    <>
      <ReadProblem live={read.find(({ problem }) => problem !== null) ?? instance} />
      {instance.value !== null && (
        <WaysOut
          actions={actions}
          instance={instance.value}
          absence={member.value?.absence ?? instance.value.absence}
        />
      )}
    </>
  );
}
