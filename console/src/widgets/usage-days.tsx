/** Usage by day: bars on a scale for the eye, and the same in a table for everybody else. */

import Box from "@cloudscape-design/components/box";
import ExpandableSection from "@cloudscape-design/components/expandable-section";
import Table from "@cloudscape-design/components/table";
import type { Schemas } from "../api/contract.ts";
import { money } from "../manifest/price.ts";
import {
  calendar,
  type Day,
  dayText,
  hoursNumber,
  hoursText,
  type Measure,
  measureOf,
  namedDays,
  roundTop,
  SHOWN,
} from "./usage-scale.ts";
import { count } from "./words.ts";

type Total = Schemas["UsageTotal"];

const HEIGHT = 100;

export function UsageDays({ days }: { readonly days: readonly Total[] }) {
  const found = byDay(days).slice(-SHOWN);
  if (found.length === 0) {
    return (
      <Box color="text-body-secondary">
        Nothing has been counted yet. Machines are counted from the moment they are held, apps while
        they run, and both are shown here by day.
      </Box>
    );
  }
  return (
    <div>
      <Bars days={found} />
      <ExpandableSection headerText="By day, in numbers">
        <Table
          variant="embedded"
          items={found.toReversed()}
          trackBy="day"
          ariaLabels={{ tableLabel: "Usage by day" }}
          columnDefinitions={[
            { id: "day", header: "Day (UTC)", cell: ({ day }) => day, isRowHeader: true },
            {
              id: "machines",
              header: "Machine hours",
              cell: (one) => hoursNumber(one.machineHours),
            },
            {
              id: "running",
              header: "App ran, hours",
              cell: (one) => hoursNumber(one.runningHours),
            },
            { id: "amount", header: "Cost", cell: costText },
          ]}
        />
      </ExpandableSection>
    </div>
  );
}

/** Bars over a scale: round values beside them, dates below, and all of it in words for whoever sees none. */
function Bars({ days }: { readonly days: readonly Day[] }) {
  const measure = measureOf(days);
  const shown = calendar(days);
  const top = roundTop(Math.max(...shown.map(measure.of)));
  return (
    <div className="usage" role="img" aria-label={spoken(shown, measure, top)}>
      <div className="usage-title">{`${measure.title} per day, in UTC`}</div>
      <div className="usage-values">
        {[top, top / 2, 0].map((value) => (
          <span key={value}>{measure.text(value)}</span>
        ))}
      </div>
      <Box color="text-status-info">
        <svg viewBox={`0 0 ${SHOWN} ${HEIGHT}`} preserveAspectRatio="none" aria-hidden>
          {[0.5, HEIGHT / 2, HEIGHT - 0.5].map((y) => (
            <line key={y} className="usage-line" x1={0} x2={SHOWN} y1={y} y2={y} />
          ))}
          {shown.map((one, at) => (
            <Bar key={one.day} day={one} at={at} part={measure.of(one) / top} />
          ))}
        </svg>
      </Box>
      <div className="usage-days">
        {namedDays(shown).map((at) => (
          <span key={at} style={{ insetInlineEnd: `${((SHOWN - 1 - at) / SHOWN) * 100}%` }}>
            {dayText(shown[at]?.day ?? "")}
          </span>
        ))}
      </div>
    </div>
  );
}

interface BarProps {
  readonly day: Day;
  readonly at: number;
  readonly part: number;
}

function Bar({ day, at, part }: BarProps) {
  // However little was used: it can be seen that something was.
  const height = part === 0 ? 0 : Math.max(2, part * HEIGHT);
  return (
    <rect x={at + 0.15} y={HEIGHT - height} width={0.7} height={height} fill="currentColor">
      <title>{`${day.day}: ${costText(day)}, ${hoursText(day.machineHours)} of machines`}</title>
    </rect>
  );
}

/** One row per day out of one per day and unit. A day in two currencies shows the first. */
function byDay(totals: readonly Total[]): readonly Day[] {
  const found = new Map<string, Day>();
  for (const one of totals) {
    const day = one.day ?? "";
    const before = found.get(day) ?? {
      day,
      machineHours: 0,
      runningHours: 0,
      amount: 0,
      currency: "",
    };
    const currency = before.currency || (one.currency ?? "");
    found.set(day, {
      day,
      machineHours: before.machineHours + (one.unit === "node_hour" ? Number(one.quantity) : 0),
      runningHours: before.runningHours + (one.unit === "runtime_hour" ? Number(one.quantity) : 0),
      amount: before.amount + (one.currency === currency ? Number(one.amount ?? 0) : 0),
      currency,
    });
  }
  return [...found.values()];
}

function costText({ amount, currency }: Day): string {
  return currency === "" ? "–" : money(amount, currency);
}

function spoken(days: readonly Day[], { title, of, text }: Measure, top: number): string {
  const used = days.filter((one) => of(one) > 0).length;
  const most = days.reduce((best, one) => (of(one) > of(best) ? one : best));
  return `${title} by day, ${count(days.length, "day")} up to ${days.at(-1)?.day}, on a scale up to ${text(top)}: something on ${count(used, "day")}, most on ${most.day} with ${text(of(most))}. The table below has every day.`;
}
