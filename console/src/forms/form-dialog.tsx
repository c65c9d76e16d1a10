/** A dialog with a form in it: the console's way to make or change one thing. Also asks before something
 * that cannot be taken back, then with no fields or few. */

import { type ReactNode, useState } from "react";
import type { JsonObject, Place } from "../api/contract.ts";
import { refresh } from "../live/events.ts";
import { ProblemAlert } from "../widgets/problem-alert.tsx";
import { check } from "./check.ts";
import { hasPlace } from "./error-places.ts";
import { FormModal } from "./form-modal.tsx";
import { expanded, pruned, same, visibleFields, withDefaults } from "./schema.ts";
import { SchemaForm } from "./schema-form.tsx";
import { useSubmission } from "./use-submission.ts";

interface FormDialogProps {
  readonly title: string;
  readonly children?: ReactNode;
  readonly schema?: JsonObject;
  readonly initial?: JsonObject;
  readonly submitText: string;
  /** Sends the value; throws a Problem when it is refused. */
  readonly submit: (value: JsonObject, key: string) => Promise<unknown>;
  readonly onClose: () => void;
  readonly place?: Place;
  readonly size?: "medium" | "large";
}

const NOTHING: JsonObject = { type: "object", properties: {} };
const NOWHERE: Place = { org_id: null, project_id: null };

export function FormDialog({
  title,
  children,
  schema = NOTHING,
  initial = {},
  submitText,
  submit,
  onClose,
  place = NOWHERE,
  size = "medium",
}: FormDialogProps) {
  const [form] = useState(() => expanded(schema));
  const [begun] = useState(() => withDefaults(form, initial));
  const [value, setValue] = useState(begun);
  const [tried, setTried] = useState(false);
  const submission = useSubmission<JsonObject>(async (body, key) => {
    await submit(body, key);
  });
  const fields = visibleFields(form, value);
  const wrong = check(fields, value);
  // What no field can show stands in the problem below them.
  const refused = (submission.problem?.fieldErrors ?? []).filter((one) => hasPlace(fields, one));

  async function confirm(): Promise<void> {
    setTried(true);
    if (wrong.length > 0) return;
    if (!(await submission.send(pruned(form, value)))) return;
    refresh();
    onClose();
  }

  function change(next: JsonObject): void {
    setValue(next);
    // Something else was refused.
    submission.clear();
  }

  return (
    <FormModal
      title={title}
      size={size}
      submitText={submitText}
      sending={submission.sending}
      typed={!same(value, begun)}
      onSubmit={() => void confirm()}
      onClose={onClose}
    >
      {children}
      <SchemaForm
        schema={form}
        value={value}
        onChange={change}
        errors={[...wrong, ...refused]}
        showAll={tried}
        context={{ place }}
      />
      {submission.problem !== null && <ProblemAlert problem={submission.problem} />}
    </FormModal>
  );
}
