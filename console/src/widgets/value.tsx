/** One value of a read model, shown the way a manifest asks for. */

import Box from "@cloudscape-design/components/box";
import Link from "@cloudscape-design/components/link";
import type { ValueFormat } from "../api/contract.ts";
import { Copy } from "./copy.tsx";
import { JsonView } from "./json-view.tsx";
import { isWeb } from "./markdown.tsx";
import { Moment } from "./moment.tsx";
import { Status } from "./status.tsx";
import { elapsed, exact } from "./times.ts";
import { bytes } from "./words.ts";

interface ValueProps {
  readonly value: unknown;
  readonly format: ValueFormat;
  readonly label: string;
}

export function Value({ value, format, label }: ValueProps) {
  if (value === undefined || value === null || value === "") return <>–</>;
  if (typeof value === "object" || format === "json" || format === "list") {
    return <JsonView value={value} name={label} />;
  }
  const text = String(value);
  switch (format) {
    case "code":
      return <Copy text={text} what={label} />;
    case "number":
      return <span className="digits">{Number(value).toLocaleString()}</span>;
    case "bytes":
      return <>{bytes(Number(value))}</>;
    case "percent":
      return <>{Math.round(Number(value) * 10) / 10} %</>;
    case "datetime":
      return <>{exact(text)}</>;
    case "age":
      return <Moment at={text} />;
    case "duration":
      return <>{elapsed(Number(value) * 1000)}</>;
    case "status":
    case "health":
      return <Status word={text} />;
    case "link":
      return isWeb(text) ? (
        <Link href={text} external>
          {text}
        </Link>
      ) : (
        <Copy text={text} what={label} />
      );
    default:
      return <Box variant="span">{text}</Box>;
  }
}
