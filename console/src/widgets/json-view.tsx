/** What an app or the platform says as data, readable: labels and values, rows where there are many of a
 * kind, lines as lines. Nothing in it is taken for markup. */

import Box from "@cloudscape-design/components/box";
import SpaceBetween from "@cloudscape-design/components/space-between";
import { isJsonObject } from "../api/contract.ts";
import { Copy, CopyBlock } from "./copy.tsx";
import { isId, Named } from "./named.tsx";
import { Prose } from "./prose.tsx";
import { Thing } from "./thing.tsx";
import { sentence } from "./words.ts";

const DEEPEST = 6;

interface JsonViewProps {
  readonly value: unknown;
  readonly depth?: number;
  /** Every text gets a button that copies it. */
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
  if (!copies)
    return (
      <div className="wrap-anywhere">
        <Prose>{text}</Prose>
      </div>
    );
  if (isId(text)) return <NamedCopy id={text} what={name} />;
  return <Copy text={text} what={name} />;
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
      {entries.map(([key, inner]) => (
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
