/** A point in time: how long ago, with the exact time for whoever points at it. */

import { useAtTime } from "../live/use-now.ts";
import { ago, elapsed, exact } from "./times.ts";

/** The clock of the console may be behind by as much: what is newer happened just now. */
const TICK_MS = 1000;

export function Moment({ at }: { readonly at: string | null | undefined }) {
  const text = useAtTime((now) => (at ? told(Date.parse(at), now) : "–"));
  if (!at) return <>{text}</>;
  return (
    <time dateTime={at} title={exact(at)}>
      {text}
    </time>
  );
}

function told(then: number, now: number): string {
  return then > now + TICK_MS ? `in ${elapsed(then - now)}` : ago(then, now);
}

interface ElapsedProps {
  readonly from: string | null | undefined;
  readonly to: string | null | undefined;
}

/** How long something took, or has taken until now. */
export function Elapsed({ from, to }: ElapsedProps) {
  const text = useAtTime((now) =>
    from ? elapsed((to ? Date.parse(to) : now) - Date.parse(from)) : "",
  );
  return from ? <span className="digits">{text}</span> : null;
}
