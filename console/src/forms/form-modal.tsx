/** The dialog around a form: a click beside it drops nothing that was typed, nothing closes it while it is sent,
 * and Enter in a line of it sends it. Used by form-dialog.tsx, and by dialogs that draw their own form. It holds
 * no value, and knows not what is sent. */

import Modal from "@cloudscape-design/components/modal";
import SpaceBetween from "@cloudscape-design/components/space-between";
import type { FormEvent, ReactNode } from "react";
import { session } from "../app/session.ts";
import { DialogFooter } from "../widgets/dialog-footer.tsx";

interface FormModalProps {
  readonly title: string;
  readonly children: ReactNode;
  readonly submitText: string;
  readonly sending: boolean;
  /** Something was typed that would be lost. */
  readonly typed: boolean;
  readonly onSubmit: () => void;
  readonly onClose: () => void;
  readonly size?: "medium" | "large";
}

export function FormModal({
  title,
  children,
  submitText,
  sending,
  typed,
  onSubmit,
  onClose,
  size = "medium",
}: FormModalProps) {
  function close(): void {
    if (!sending) onClose();
  }

  function submit(event: FormEvent): void {
    event.preventDefault();
    if (isMeant(event.nativeEvent)) onSubmit();
  }

  return (
    <Modal
      visible
      size={size}
      header={title}
      onDismiss={({ detail }) => {
        // Who is asked to sign in again on top of it means that question.
        if (session.get().kind === "expired") return;
        // Esc and the cross are meant; a click beside it may have slipped.
        if (detail.reason !== "overlay" || !typed) close();
      }}
      footer={
        <DialogFooter text={submitText} sending={sending} onCancel={close} onConfirm={onSubmit} />
      }
    >
      <form noValidate onSubmit={submit}>
        {/* The buttons stand outside of the form: without one in it, Enter does nothing. */}
        <button type="submit" hidden />
        <SpaceBetween size="l">{children}</SpaceBetween>
      </form>
    </Modal>
  );
}

/** Not by a button that stands in the form for something else, nor by Enter where one looks for something. */
function isMeant(event: Event): boolean {
  const { submitter = null } = event as SubmitEvent;
  if (submitter !== null && !submitter.hidden) return false;
  const { activeElement: at } = document;
  return !(at instanceof HTMLInputElement && at.type === "search");
}
