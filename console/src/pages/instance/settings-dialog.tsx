/** Changes the settings of an instance: the fields of its deploy form that do not place members. When
 * somebody else was faster, theirs is read, what was typed here stays on top of it, and it is said. */

import Alert from "@cloudscape-design/components/alert";
import Box from "@cloudscape-design/components/box";
import FormField from "@cloudscape-design/components/form-field";
import Input from "@cloudscape-design/components/input";
import { useState } from "react";
import { api, call } from "../../api/client.ts";
import type { AppInstance, JsonObject, Manifest, OperationSpec } from "../../api/contract.ts";
import { type FieldError, Problem } from "../../api/problem.ts";
import { noticeDone } from "../../app/notices.ts";
import { placeOf } from "../../app/place.ts";
import { check } from "../../forms/check.ts";
import { hasPlace } from "../../forms/error-places.ts";
import { FormModal } from "../../forms/form-modal.tsx";
import { pointerParts } from "../../forms/pointers.ts";
import { expanded, pruned, same, visibleFields, withDefaults } from "../../forms/schema.ts";
import { SchemaForm } from "../../forms/schema-form.tsx";
import { useSubmission } from "../../forms/use-submission.ts";
import { refresh } from "../../live/events.ts";
import { differences, merged, settingsSchema } from "../../manifest/settings.ts";
import { ProblemAlert } from "../../widgets/problem-alert.tsx";
import { sentence } from "../../widgets/words.ts";

interface SettingsDialogProps {
  readonly instance: AppInstance;
  readonly manifest: Manifest;
  readonly deploy: OperationSpec;
  readonly onClose: () => void;
}

export function SettingsDialog({ instance, manifest, deploy, onClose }: SettingsDialogProps) {
  const edit = useEdit(instance, deploy);
  const [tried, setTried] = useState(false);

  async function save(): Promise<void> {
    setTried(true);
    if (edit.wrong.length > 0 || !(await edit.send())) return;
    noticeDone("The settings are saved. The app applies them when it next reconciles.");
    refresh();
    onClose();
  }

  return (
    <FormModal
      title="Change settings"
      size="large"
      submitText="Save"
      sending={edit.sending}
      typed={edit.typed}
      onSubmit={() => void save()}
      onClose={onClose}
    >
      <Box>
        Where members run is not changed here: add, replace or remove them on the page of the
        instance.
      </Box>
      {edit.theirs.length > 0 && (
        <Alert type="warning" header="Somebody else has saved meanwhile">
          {`They changed ${edit.theirs.join(", ")}. What you typed is still here; the rest is as they saved it. Look at it, and save again.`}
        </Alert>
      )}
      <FormField label="Label" description="What people call this instance.">
        <Input value={edit.label} onChange={({ detail }) => edit.setLabel(detail.value)} />
      </FormField>
      <SchemaForm
        schema={edit.schema}
        value={edit.value}
        onChange={edit.setValue}
        errors={edit.errors}
        showAll={tried}
        context={{ place: placeOf(instance), operation: deploy, manifest, instance }}
      />
      {edit.problem !== null && <ProblemAlert problem={edit.problem} />}
    </FormModal>
  );
}

/** What is being typed, what it was typed over, and the way to save it. */
function useEdit(instance: AppInstance, deploy: OperationSpec) {
  const [whole] = useState(() => expanded((deploy.input ?? {}) as JsonObject));
  const [schema] = useState(() => settingsSchema(deploy));
  const [base, setBase] = useState(instance);
  const [label, setLabel] = useState(instance.display_name);
  const [value, setValue] = useState(() => withDefaults(whole, settingsOf(instance)));
  const [theirs, setTheirs] = useState<readonly string[]>([]);
  const fields = visibleFields(schema, value);
  const wrong = check(fields, value);

  /** Takes over what somebody else has saved; says what, when it is anything on this form. */
  function rebase(now: AppInstance): readonly string[] {
    const before = withDefaults(whole, settingsOf(base));
    const saved = withDefaults(whole, settingsOf(now));
    const changed = differences(before, saved).map((pointer) => titleAt(whole, pointer));
    setBase(now);
    setValue(merged(before, value, saved));
    if (now.display_name === base.display_name) return changed;
    if (label === base.display_name) setLabel(now.display_name);
    return ["Label", ...changed];
  }

  const submission = useSubmission<Edited>(async (edited, key) => {
    const now = await saved(base, edited, key);
    if (now !== null) {
      setTheirs(rebase(now));
      throw CONFLICT;
    }
  });
  const failed = submission.problem === CONFLICT ? null : submission.problem;
  // What no field can show stands in the problem below them.
  const refused = settingsErrors(failed).filter((one) => hasPlace(fields, one));
  return {
    schema,
    value,
    setValue(next: JsonObject) {
      setValue(next);
      // Something else was refused.
      submission.clear();
    },
    label,
    setLabel,
    theirs,
    wrong,
    errors: [...wrong, ...refused],
    typed: label !== base.display_name || !same(value, withDefaults(whole, settingsOf(base))),
    sending: submission.sending,
    problem: failed,
    send: () => submission.send({ label, settings: pruned(whole, value) }),
  };
}

interface Edited {
  readonly label: string;
  readonly settings: JsonObject;
}

/** Saves; null when it is done, the instance as it is now when its settings are others than those that were
 * changed here. That the instance has moved on otherwise is no conflict: it is tried again. */
async function saved(base: AppInstance, edited: Edited, key: string): Promise<AppInstance | null> {
  let { revision } = base;
  for (let attempt = 1; ; attempt += 1) {
    try {
      await update(base.id, edited, key, revision);
      return null;
    } catch (thrown) {
      const moved = thrown instanceof Problem && thrown.status === 412;
      if (!moved || attempt === MOST_ATTEMPTS) throw thrown;
    }
    const now = await read(base.id);
    const same =
      now.settings_revision === base.settings_revision && now.display_name === base.display_name;
    if (!same) return now;
    revision = now.revision;
  }
}

const MOST_ATTEMPTS = 5;

/** Only to leave the dialog open: what happened stands in it already. */
const CONFLICT = new Problem({
  status: 412,
  code: "precondition_failed",
  title: "Somebody else has saved meanwhile",
  detail: "",
  correlationId: null,
});

function update(
  id: string,
  { label, settings }: Edited,
  key: string,
  revision: number,
): Promise<unknown> {
  return call(
    api.PATCH("/api/v1/app-instances/{instance_id}", {
      params: { path: { instance_id: id } },
      body: { display_name: label, settings },
      headers: { "Idempotency-Key": `${key}-${revision}`, "If-Match": `"${revision}"` },
    }),
  );
}

function read(id: string): Promise<AppInstance> {
  return call(
    api.GET("/api/v1/app-instances/{instance_id}", { params: { path: { instance_id: id } } }),
  );
}

function settingsOf({ settings }: AppInstance): JsonObject {
  return settings as JsonObject;
}

function settingsErrors(problem: Problem | null): FieldError[] {
  return (problem?.fieldErrors ?? [])
    .filter(({ pointer }) => pointer.startsWith("/settings"))
    .map(({ pointer, message }) => ({ pointer: pointer.slice("/settings".length), message }));
}

/** What the form calls a field. */
function titleAt(schema: JsonObject, pointer: string): string {
  let node: JsonObject = schema;
  let title = "";
  for (const part of pointerParts(pointer)) {
    node = ((node.properties as JsonObject | undefined)?.[part] ?? {}) as JsonObject;
    title = typeof node.title === "string" ? node.title : sentence(part);
  }
  return title;
}
