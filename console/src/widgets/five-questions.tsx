/** The questions of an incident, answered at the top of the page: which instance, which member, which
 * operation, which correlation id, and what the app's adapter says. */

import Box from "@cloudscape-design/components/box";
import Container from "@cloudscape-design/components/container";
import Header from "@cloudscape-design/components/header";
import KeyValuePairs from "@cloudscape-design/components/key-value-pairs";
import Link from "@cloudscape-design/components/link";
import type { OperationSpec, Schemas } from "../api/contract.ts";
import { Copy } from "./copy.tsx";
import { failureText } from "./failure-text.ts";
import { stepTitle } from "./operation-steps.tsx";
import { Prose } from "./prose.tsx";
import { isUnreachable, Status } from "./status.tsx";
import { Thing } from "./thing.tsx";
import { sentence } from "./words.ts";

type Diagnosis = Schemas["Diagnosis"];

interface FiveQuestionsProps {
  readonly diagnosis: Diagnosis;
  /** What the manifest says of the operation, where that is known: its steps are called so. */
  readonly spec?: OperationSpec | null;
}

export function FiveQuestions({ diagnosis, spec = null }: FiveQuestionsProps) {
  const { instance, member, operation, correlation_id, adapter_detail } = diagnosis;
  return (
    <Container header={<Header variant="h2">What this is about</Header>}>
      <KeyValuePairs
        columns={3}
        items={[
          { label: "Instance", value: <Instance instance={instance ?? null} /> },
          { label: "Member", value: <Member member={member ?? null} /> },
          { label: "Operation", value: <Operation operation={operation ?? null} spec={spec} /> },
          {
            label: "Correlation id",
            value: (
              <>
                <Copy text={correlation_id} what="the correlation id" />
                <div>
                  <Link href={`/correlations/${encodeURIComponent(correlation_id)}`}>Timeline</Link>
                </div>
              </>
            ),
          },
          {
            label: "What the app says",
            value: (
              <Prose>
                {adapter_detail?.summary ||
                  (operation?.error ? failureText(operation.error) : "Nothing yet")}
              </Prose>
            ),
          },
        ]}
      />
    </Container>
  );
}

function Instance({ instance }: { readonly instance: Diagnosis["instance"] | null }) {
  if (!instance) return <>None</>;
  return (
    <>
      <Link href={`/instances/${instance.id}`}>{instance.resource_name}</Link>
      <div>
        <Status word={instance.status} />{" "}
        {instance.health !== instance.status && <Status word={instance.health} />}
      </div>
    </>
  );
}

function Member({ member }: { readonly member: Diagnosis["member"] | null }) {
  if (!member) return <>The instance as a whole</>;
  return (
    <>
      {sentence(member.component_key)} on <Thing id={member.allocation_id} />
      <div>
        <Status word={member.status} />{" "}
        {isUnreachable(member.conditions ?? []) && <Status word="unreachable" />}
      </div>
    </>
  );
}

interface OperationProps {
  readonly operation: Diagnosis["operation"] | null;
  readonly spec: OperationSpec | null;
}

function Operation({ operation, spec }: OperationProps) {
  if (!operation) return <>None</>;
  const { id, kind, status, attempt, max_attempts, step } = operation;
  return (
    <>
      <Link href={`/operations/${id}`}>{sentence(kind)}</Link>
      <div>
        <Status word={status} work />
      </div>
      <Box color="text-body-secondary">
        Attempt {Math.max(1, attempt)} of {max_attempts}
        {step && status !== "succeeded" && `, at “${stepTitle(step, spec)}”`}
      </Box>
    </>
  );
}
