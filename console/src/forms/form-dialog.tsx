/** A dialog with a form in it: the console's way to make or change one thing. Also asks before something
 * that cannot be taken back, then with no fields or few. */

import Modal from "@cloudscape-design/components/modal";
import SpaceBetween from "@cloudscape-design/components/space-between";
import { type ReactNode, useState } from "react";
import type { JsonObject, Place } from "../api/contract.ts";
import { refresh } from "../live/events.ts";
import { DialogFooter } from "../widgets/dialog-footer.tsx";
import { ProblemAlert } from "../widgets/problem-alert.tsx";
import { check } from "./check.ts";
import { expanded, pruned, visibleFields, withDefaults } from "./schema.ts";
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
  const [value, setValue] = useState(() => withDefaults(form, initial));
  const [tried, setTried] = useState(false);
  const submission = useSubmission<JsonObject>(async (body, key) => {
    await submit(body, key);
  });
  const wrong = check(visibleFields(form, value), value);
  const errors = [...wrong, ...(submission.problem?.fieldErrors ?? [])];

  async function confirm(): Promise<void> {
    setTried(true);
    if (wrong.length > 0) return;
    if (!(await submission.send(pruned(form, value)))) return;
    refresh();
    onClose();
  }

  return (
    <Modal
      visible
      size={size}
      header={title}
      onDismiss={onClose}
      footer={
        <DialogFooter
          text={submitText}
          sending={submission.sending}
          onCancel={onClose}
          onConfirm={() => void confirm()}
        />
      }
    >
      <form
        noValidate
        onSubmit={(event) => {
          event.preventDefault();
          void confirm();
        }}
      >
        <SpaceBetween size="l">
          {children}
          <SchemaForm
            schema={form}
            value={value}
            onChange={setValue}
            errors={errors}
            showAll={tried}
            context={{ place }}
          />
          {submission.problem !== null && <ProblemAlert problem={submission.problem} />}
        </SpaceBetween>
      </form>
    </Modal>
  );
}
