/** What stands in one cell of a list; a dash where there is nothing. Used by data-table.tsx and data-cards.tsx. */

import Box from "@cloudscape-design/components/box";
import type { ReactNode } from "react";
import type { Column } from "./arrange.ts";

const NOTHING: readonly ReactNode[] = [null, undefined, "", false];

export function cellOf<T>(column: Column<T>, item: T): ReactNode {
  const shown = column.cell(item);
  return NOTHING.includes(shown) ? <Box color="text-body-secondary">–</Box> : shown;
}
