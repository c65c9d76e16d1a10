/** The two buttons below a dialog: leave it, or do what it is about. */

import Box from "@cloudscape-design/components/box";
import Button from "@cloudscape-design/components/button";
import SpaceBetween from "@cloudscape-design/components/space-between";

interface DialogFooterProps {
  readonly text: string;
  readonly sending: boolean;
  readonly onCancel: () => void;
  readonly onConfirm: () => void;
}

export function DialogFooter({ text, sending, onCancel, onConfirm }: DialogFooterProps) {
  return (
    <Box float="right">
      <SpaceBetween direction="horizontal" size="xs">
        <Button variant="link" disabled={sending} onClick={onCancel}>
          Cancel
        </Button>
        <Button variant="primary" loading={sending} onClick={onConfirm}>
          {text}
        </Button>
      </SpaceBetween>
    </Box>
  );
}
