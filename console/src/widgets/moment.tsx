/** A point in time: how long ago, with the exact time for whoever points at it. */

import { useNow } from "../live/use-now.ts";
import { ago, elapsed, exact } from "./times.ts";

export function Moment({ at }: { readonly at: string | null | undefined }) {
  const now = useNow();
  if (!at) return <>–</>;
  const then = Date.parse(at);
  return (
    <time dateTime={at} title={exact(at)}>
      {then > now ? `in ${elapsed(then - now)}` : ago(then, now)}
    </time>
  );
}

interface ElapsedProps {
  readonly from: string | null | undefined;
  readonly to: string | null | undefined;
}

/** How long something took, or has taken until now. */
export function Elapsed({ from, to }: ElapsedProps) {
  const now = useNow();
  if (!from) return null;
  const end = to ? Date.parse(to) : now;
  return <span className="digits">{elapsed(end - Date.parse(from))}</span>;
}
