/** What an app or the platform says as data, readable: labels and values, rows where there are many of a
 * kind, lines as lines. Nothing in it is taken for markup. */

import Box from "@cloudscape-design/components/box";
import SpaceBetween from "@cloudscape-design/components/space-between";
import { isJsonObject } from "../api/contract.ts";
import { Copy, CopyBlock } from "./copy.tsx";
import { isId, Named } from "./named.tsx";
import { PlainTable } from "./plain-table.tsx";
import { Prose } from "./prose.tsx";
import { Thing } from "./thing.tsx";
import { sentence } from "./words.ts";

const DEEPEST = 6;

interface JsonViewProps {
  readonly value: unknown;
  readonly depth?: number;
  /** Texts get a button that copies them, but for those that are there to be read. */
  readonly copies?: boolean;
  readonly name?: string;
}

export function JsonView({ value, depth = 0, copies = false, name = "value" }: JsonViewProps) {
  if (depth > DEEPEST) return <CopyBlock text={JSON.stringify(value, null, 2)} what={name} />;
  if (Array.isArray(value))
    return <ListView items={value} depth={depth} copies={copies} name={name} />;
  if (isJsonObject(value)) return <ObjectView value={value} depth={depth} copies={copies} />;
  if (typeof value === "string") return <TextView text={value} copies={copies} name={name} />;
  return <>{value === null || value === undefined ? "–" : String(value)}</>;
}

function TextView({ text, copies, name }: { text: string; copies: boolean; name: string }) {
  if (text.includes("\n")) return <CopyBlock text={text} what={name} />;
  if (text === "") return <>–</>;
  if (!copies || isSaid(text))
    return (
      <div className="wrap-anywhere">
        <Prose>{text}</Prose>
      </div>
    );
  if (isId(text)) return <NamedCopy id={text} what={name} />;
  return <Copy text={text} what={name} />;
}

/** A sentence: it is read, and typed nowhere. */
function isSaid(value: unknown): boolean {
  return typeof value === "string" && /\s.*[.?!:]$/.test(value);
}

/** Called by its name; what is copied is the id. */
function NamedCopy({ id, what }: { readonly id: string; readonly what: string }) {
  return (
    <span className="beside">
      <Copy text={id} what={what} shown="" />
      <Thing id={id} />
    </span>
  );
}

interface ObjectViewProps {
  readonly value: Readonly<Record<string, unknown>>;
  readonly depth: number;
  readonly copies: boolean;
}

function ObjectView({ value, depth, copies }: ObjectViewProps) {
  const entries = Object.entries(value);
  if (entries.length === 0) return <Box color="text-body-secondary">Nothing</Box>;
  return (
    <dl className="facts">
      {narrowFirst(entries).map(([key, inner]) => (
        <div key={key} className={isWide(inner) ? "fact fact-nested" : "fact"}>
          <dt>{isId(key) ? <Named id={key} /> : sentence(key)}</dt>
          <dd>
            <JsonView value={inner} depth={depth + 1} copies={copies} name={sentence(key)} />
          </dd>
        </div>
      ))}
    </dl>
  );
}

/** What is short stands together, above what has parts: the order of data says nothing. */
function narrowFirst<E extends readonly [string, unknown]>(entries: readonly E[]): readonly E[] {
  return entries.toSorted(([, one], [, other]) => Number(isWide(one)) - Number(isWide(other)));
}

interface ListViewProps extends Omit<ObjectViewProps, "value"> {
  readonly items: readonly unknown[];
  readonly name: string;
}

function ListView({ items, depth, copies, name }: ListViewProps) {
  if (items.length === 0) return <Box color="text-body-secondary">None</Box>;
  if (items.every((item) => !isNested(item))) {
    return (
      <SpaceBetween size="xxs">
        {keyed(items).map(({ key, item }) => (
          <JsonView key={key} value={item} depth={depth + 1} copies={copies} name={name} />
        ))}
      </SpaceBetween>
    );
  }
  const columns = columnsOf(items);
  if (columns?.length === 1) {
    const [only = ""] = columns;
    const values = (items as readonly Plain[]).map((item) => item[only]);
    return <ListView items={values} depth={depth} copies={copies} name={name} />;
  }
  if (columns !== null) {
    return <RowsView rows={items as readonly Plain[]} {...{ columns, depth, copies, name }} />;
  }
  return (
    <ol className="plain-list">
      {keyed(items).map(({ key, item }) => (
        <li key={key}>
          <JsonView value={item} depth={depth + 1} copies={copies} name={name} />
        </li>
      ))}
    </ol>
  );
}

type Plain = Readonly<Record<string, unknown>>;

const MOST_COLUMNS = 10;

/** The columns of items that are alike and have no parts of their own, what they are called first; null for
 * others. Columns in which nothing stands are left out. */
function columnsOf(items: readonly unknown[]): readonly string[] | null {
  if (!items.every((item) => isJsonObject(item) && Object.values(item).every(isFlat))) return null;
  const rows = items as readonly Plain[];
  const all = [...new Set(rows.flatMap((row) => Object.keys(row)))];
  const used = all.filter((key) => rows.some((row) => !isNothing(row[key])));
  if (used.length === 0 || used.length > MOST_COLUMNS) return null;
  const first = CALLED.find((key) => used.includes(key));
  return first === undefined ? used : [first, ...used.filter((key) => key !== first)];
}

const CALLED = ["name", "machine", "node", "id"];

function isFlat(value: unknown): boolean {
  return Array.isArray(value) ? value.every((one) => !isNested(one)) : !isWide(value);
}

function isNothing(value: unknown): boolean {
  return value === undefined || value === null || value === "" || isEmpty(value);
}

/** A list or an object in which there is nothing. */
function isEmpty(value: unknown): boolean {
  return typeof value === "object" && value !== null && Object.keys(value).length === 0;
}

interface RowsViewProps {
  readonly rows: readonly Plain[];
  readonly columns: readonly string[];
  readonly depth: number;
  readonly copies: boolean;
  readonly name: string;
}

function RowsView({ rows, columns, depth, copies, name }: RowsViewProps) {
  // A column is copied from or read, in every row alike.
  const copied = columns.filter((key) => copies && !rows.some((row) => isSaid(row[key])));
  return (
    <PlainTable
      label={name}
      head={columns.map(sentence)}
      rows={rows.map((row) =>
        columns.map((key) => (
          <JsonView
            key={key}
            value={row[key]}
            depth={depth + 1}
            copies={copied.includes(key)}
            name={sentence(key)}
          />
        )),
      )}
    />
  );
}

/** Items of plain data have no name of their own: their text and place are all they can be told by. */
function keyed(items: readonly unknown[]): { key: string; item: unknown }[] {
  return items.map((item, index) => ({ key: `${index}:${JSON.stringify(item)}`, item }));
}

/** Needs the whole width: what has parts, and what has lines. */
function isWide(value: unknown): boolean {
  return isNested(value) || (typeof value === "string" && value.includes("\n"));
}

function isNested(value: unknown): boolean {
  return typeof value === "object" && value !== null && Object.keys(value).length > 0;
}
