/** The two buttons of a row that can be changed and taken away again. */

import Button from "@cloudscape-design/components/button";
import SpaceBetween from "@cloudscape-design/components/space-between";

interface EditButtonsProps {
  /** What the row is called, for whoever does not see it. */
  readonly name: string;
  readonly endText: string;
  readonly onEdit: () => void;
  readonly onEnd: () => void;
}

export function EditButtons({ name, endText, onEdit, onEnd }: EditButtonsProps) {
  return (
    <SpaceBetween size="xs" direction="horizontal">
      <Button variant="inline-link" ariaLabel={`Change ${name}`} onClick={onEdit}>
        Change
      </Button>
      <Button variant="inline-link" ariaLabel={`${endText} ${name}`} onClick={onEnd}>
        {endText}
      </Button>
    </SpaceBetween>
  );
}
