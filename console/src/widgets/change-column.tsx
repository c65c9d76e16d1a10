/** The column of a table whose rows can be rotated and revoked while they are active. */

import Button from "@cloudscape-design/components/button";
import SpaceBetween from "@cloudscape-design/components/space-between";
import type { Column } from "./arrange.ts";

/** What a person chose to do with a row. */
export type Change<T> = { kind: "rotate" | "revoke"; of: T };

export function changeColumn<T extends { name: string; status: string }>(
  open: (change: Change<T>) => void,
): Column<T> {
  return {
    id: "act",
    header: "Change",
    cell: (of) =>
      of.status === "active" && (
        <SpaceBetween size="xs" direction="horizontal">
          <Button
            variant="inline-link"
            ariaLabel={`Rotate ${of.name}`}
            onClick={() => open({ kind: "rotate", of })}
          >
            Rotate
          </Button>
          <Button
            variant="inline-link"
            ariaLabel={`Revoke ${of.name}`}
            onClick={() => open({ kind: "revoke", of })}
          >
            Revoke
          </Button>
        </SpaceBetween>
      ),
  };
}
