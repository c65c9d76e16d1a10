/** A few rows that are read and neither sorted nor chosen from: what an app wrote as a table, or said as data of
 * one shape. Where it is too wide it scrolls by itself, also by keys. */

import type { ReactNode } from "react";

interface PlainTableProps {
  /** What it is, for whoever does not see what stands above it. */
  readonly label: string;
  readonly head: readonly ReactNode[];
  readonly rows: readonly (readonly ReactNode[])[];
}

export function PlainTable({ label, head, rows }: PlainTableProps) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls is reached by the keyboard
    <section className="plain-table" tabIndex={0} aria-label={label}>
      <table>
        <thead>
          <tr>
            {head.map((one, at) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: a column is known by its place
              <th key={at} scope="col">
                {one}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((cells, row) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: a row of plain data is known by its place
            <tr key={row}>
              {cells.map((cell, at) => (
                // biome-ignore lint/suspicious/noArrayIndexKey: as its column
                <td key={at}>{cell}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}
