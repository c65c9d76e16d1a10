/** A dialog that has something to read before it can be filled in: it opens at once, says that it reads, or why
 * that failed with the way to read again, and becomes the form once all is there. Called by whoever has a button
 * that opens such a form. */

import Box from "@cloudscape-design/components/box";
import Button from "@cloudscape-design/components/button";
import Modal from "@cloudscape-design/components/modal";
import type { ReactNode } from "react";
import type { Live } from "../live/use-live.ts";
import { Loaded } from "./page.tsx";

interface ReadDialogProps<T> {
  readonly title: string;
  readonly live: Live<T>;
  readonly onClose: () => void;
  /** The form itself, a dialog of its own. */
  readonly children: (value: T) => ReactNode;
}

export function ReadDialog<T>({ title, live, onClose, children }: ReadDialogProps<T>) {
  if (live.value !== null) return children(live.value);
  return (
    <Modal
      visible
      header={title}
      onDismiss={onClose}
      footer={
        <Box float="right">
          <Button variant="link" onClick={onClose}>
            Cancel
          </Button>
        </Box>
      }
    >
      <Loaded live={live}>{() => null}</Loaded>
    </Modal>
  );
}
