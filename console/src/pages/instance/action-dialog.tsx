/** Asks for an operation: its form, what it will do, and the confirmation the app wants. What the platform
 * foresees of this very request is read while the form is filled in; its word is final. */

import Alert from "@cloudscape-design/components/alert";
import Box from "@cloudscape-design/components/box";
import FormField from "@cloudscape-design/components/form-field";
import Input from "@cloudscape-design/components/input";
import { Fragment, useEffect, useState } from "react";
import { api, asProblem, call } from "../../api/client.ts";
import type {
  AppInstance,
  JsonObject,
  Manifest,
  Member,
  OperationSpec,
  Schemas,
} from "../../api/contract.ts";
import { type FieldError, Problem } from "../../api/problem.ts";
import { noticeDone } from "../../app/notices.ts";
import { check } from "../../forms/check.ts";
import { hasPlace } from "../../forms/error-places.ts";
import { FormModal } from "../../forms/form-modal.tsx";
import { expanded, pruned, same, visibleFields, withDefaults } from "../../forms/schema.ts";
import { SchemaForm } from "../../forms/schema-form.tsx";
import { useSubmission } from "../../forms/use-submission.ts";
import { refresh } from "../../live/events.ts";
import { released } from "../../live/press.ts";
import { consequences, foreseen } from "../../manifest/consequences.ts";
import { componentTitle } from "../../manifest/placement.ts";
import { Named } from "../../widgets/named.tsx";
import { ProblemAlert } from "../../widgets/problem-alert.tsx";
import type { Asking } from "./actions.tsx";
import { VersionChoice, wantsVersion } from "./version-choice.tsx";

type Body = Schemas["OperationCreate"];

interface ActionDialogProps {
  readonly asking: Asking;
  readonly manifest: Manifest;
  readonly instance: AppInstance;
  readonly members: readonly Member[];
  readonly onClose: () => void;
}

export function ActionDialog(props: ActionDialogProps) {
  const { asking, manifest, instance, members, onClose } = props;
  const { spec } = asking;
  const form = useOperationForm(props);
  const submission = useSubmission<Body>((body, key) => request(instance, spec, body, key));
  const [tried, setTried] = useState(false);
  const confirmation = spec.confirmation ?? null;
  // What destroys something says so before anything else; what else will happen depends on what is filled in above it.
  const told = <Consequences {...props} preview={form.preview} />;

  async function confirm(): Promise<void> {
    setTried(true);
    if (!form.complete) return;
    if (!(await submission.send(form.body))) return;
    refresh();
    onClose();
  }

  return (
    <FormModal
      title={confirmation?.title ?? spec.title}
      size="large"
      submitText={spec.title}
      sending={submission.sending}
      typed={form.touched}
      onSubmit={() => void confirm()}
      onClose={onClose}
    >
      {spec.destructive && told}
      {asking.members.length > 0 && (
        <Box>
          <b>On:</b>{" "}
          {asking.members.map(({ id, component_key, node, allocation_id }, at) => (
            <Fragment key={id}>
              {at > 0 && ", "}
              {componentTitle(manifest, component_key)} on {node || <Named id={allocation_id} />}
            </Fragment>
          ))}
        </Box>
      )}
      {wantsVersion(spec) && (
        <VersionChoice
          instance={instance}
          version={form.version}
          onChange={form.setVersion}
          showAll={tried}
        />
      )}
      <SchemaForm
        schema={form.schema}
        value={form.value}
        onChange={form.setValue}
        errors={form.errors}
        showAll={tried}
        context={{
          place: { org_id: instance.org_id, project_id: instance.project_id },
          operation: spec,
          manifest,
          instance,
          members,
        }}
      />
      {!spec.destructive && told}
      {confirmation?.type_name && (
        <FormField
          label={`Type “${instance.resource_name}” to confirm`}
          errorText={tried && !form.named ? "It is not the name of the instance." : null}
        >
          <Input value={form.typed} onChange={({ detail }) => form.setTyped(detail.value)} />
        </FormField>
      )}
      {form.refused !== null && submission.problem === null && (
        <ProblemAlert problem={form.refused} />
      )}
      {submission.problem !== null && <ProblemAlert problem={submission.problem} />}
    </FormModal>
  );
}

interface ConsequencesProps extends ActionDialogProps {
  readonly preview: Schemas["Preview"] | null;
}

function Consequences({ asking, manifest, preview }: ConsequencesProps) {
  const { spec } = asking;
  const said = [
    ...(spec.confirmation ? [spec.confirmation.text] : []),
    ...consequences(manifest, spec),
    ...(preview === null ? [] : foreseen(manifest, preview)),
  ];
  if (said.length === 0) return null;
  return (
    <Alert type={spec.destructive ? "warning" : "info"} header="What will happen">
      <ul className="plain-list">
        {said.map((sentence) => (
          <li key={sentence}>{sentence}</li>
        ))}
      </ul>
    </Alert>
  );
}

const PREVIEW_AFTER_MS = 250;

/** The value of the form, what is wrong with it, and what the platform says it would do. */
function useOperationForm({ asking, instance }: ActionDialogProps) {
  const { spec, members } = asking;
  const [schema] = useState(() => expanded((spec.input ?? {}) as JsonObject));
  const [begun] = useState(() => withDefaults(schema, {}));
  const [value, setValue] = useState(begun);
  const [version, setVersion] = useState<string | null>(null);
  const [typed, setTyped] = useState("");
  const named = !spec.confirmation?.type_name || typed.trim() === instance.resource_name;
  const fields = visibleFields(schema, value);
  const wrong = check(fields, value);
  const body: Body = {
    kind: spec.kind,
    input: pruned(schema, value) as Body["input"] & JsonObject,
    member_ids: members.map(({ id }) => id),
    ...(version === null || !wantsVersion(spec) ? {} : { version }),
  };
  const filled = wrong.length === 0 && (version !== null || !wantsVersion(spec));
  const { preview, refused } = usePreview(instance.id, filled ? body : null);
  // What no field can show stands in the problem below them.
  const placed = inputErrors(refused).filter((one) => hasPlace(fields, one));
  const errors: readonly FieldError[] = [...wrong, ...placed];
  return {
    schema,
    value,
    setValue,
    version,
    setVersion,
    typed,
    setTyped,
    touched: !same(value, begun) || version !== null || typed !== "",
    named,
    errors,
    body,
    preview,
    refused,
    complete: filled && named,
  };
}

function usePreview(instanceId: string, body: Body | null) {
  const [preview, setPreview] = useState<Schemas["Preview"] | null>(null);
  const [refused, setRefused] = useState<Problem | null>(null);
  const content = body === null ? null : JSON.stringify(body);
  useEffect(() => {
    setRefused(null);
    if (content === null) return setPreview(null);
    const gone = new AbortController();
    const timer = setTimeout(() => {
      void foresee(instanceId, JSON.parse(content) as Body, gone.signal).then((found) => {
        if (gone.signal.aborted) return;
        setRefused(found instanceof Problem ? found : null);
        setPreview(found instanceof Problem ? null : found);
      });
    }, PREVIEW_AFTER_MS);
    return () => {
      clearTimeout(timer);
      gone.abort();
    };
  }, [instanceId, content]);
  return { preview, refused };
}

/** What the platform foresees of a request; told once nothing is pressed, for it moves what stands around it. */
async function foresee(
  instanceId: string,
  body: Body,
  signal: AbortSignal,
): Promise<Schemas["Preview"] | Problem> {
  const path = { instance_id: instanceId };
  const found = await call(
    api.POST("/api/v1/app-instances/{instance_id}/operations/preview", {
      params: { path },
      body,
      signal,
    }),
  ).catch(asProblem);
  await released();
  return found;
}

/** What the platform found wrong with the input, by the pointers the form knows. */
function inputErrors(refused: Problem | null): FieldError[] {
  return (refused?.fieldErrors ?? [])
    .filter(({ pointer }) => pointer.startsWith("/input"))
    .map(({ pointer, message }) => ({ pointer: pointer.slice("/input".length), message }));
}

async function request(
  instance: AppInstance,
  { title }: OperationSpec,
  body: Body,
  key: string,
): Promise<void> {
  const asked = await call(
    api.POST("/api/v1/app-instances/{instance_id}/operations", {
      params: { path: { instance_id: instance.id } },
      body,
      headers: { "Idempotency-Key": key },
    }),
  );
  const href = asked.group_id
    ? `/operation-groups/${asked.group_id}`
    : `/operations/${asked.operation.id}`;
  noticeDone(`Asked for: ${title}.`, href);
}
