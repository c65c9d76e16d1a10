/** What stands where nothing is yet: why, and how one gets the first. */

import Box from "@cloudscape-design/components/box";
import SpaceBetween from "@cloudscape-design/components/space-between";
import type { ReactNode } from "react";

interface EmptyProps {
  readonly title: string;
  readonly children?: ReactNode;
  readonly action?: ReactNode;
}

export function Empty({ title, children, action }: EmptyProps) {
  return (
    <Box textAlign="center" padding={{ vertical: "m" }} color="inherit">
      <SpaceBetween size="xs">
        <b>{title}</b>
        {children && (
          <Box variant="p" color="text-body-secondary">
            {children}
          </Box>
        )}
        {action}
      </SpaceBetween>
    </Box>
  );
}
