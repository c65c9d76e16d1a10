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
  /** Which instance and member it is about, where those are read by themselves: before they are, only that is known. */
  readonly about?: About;
}

interface About {
  readonly instanceId: string | null;
  readonly memberId: string | null;
}

const NOTHING_MORE: About = { instanceId: null, memberId: null };

export function FiveQuestions({
  diagnosis,
  spec = null,
  about = NOTHING_MORE,
}: FiveQuestionsProps) {
  const { instance, member, operation, correlation_id } = diagnosis;
  const { instanceId, memberId } = about;
  const unread = (instanceId !== null && !instance) || (memberId !== null && !member);
  return (
    <Container header={<Header variant="h2">What this is about</Header>}>
      <KeyValuePairs
        columns={3}
        items={[
          { label: "Instance", value: <Instance instance={instance ?? null} id={instanceId} /> },
          { label: "Member", value: <Member member={member ?? null} id={memberId} /> },
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
            value: <Prose>{said(diagnosis) || (unread ? NOT_READ : "Nothing yet")}</Prose>,
          },
        ]}
      />
    </Container>
  );
}

const NOT_READ = "Not read yet";

function said({ adapter_detail, operation }: Diagnosis): string {
  return adapter_detail?.summary || (operation?.error ? failureText(operation.error) : "");
}

interface InstanceProps {
  readonly instance: Diagnosis["instance"] | null;
  readonly id: string | null;
}

function Instance({ instance, id }: InstanceProps) {
  if (!instance) return id === null ? "None" : <KnownById id={id} />;
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

interface MemberProps {
  readonly member: Diagnosis["member"] | null;
  readonly id: string | null;
}

function Member({ member, id }: MemberProps) {
  if (!member) return id === null ? "The instance as a whole" : <KnownById id={id} />;
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

/** That it is there is known, and how it is not. */
function KnownById({ id }: { readonly id: string }) {
  return (
    <>
      <Thing id={id} />
      <Box color="text-body-secondary">{NOT_READ}</Box>
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
