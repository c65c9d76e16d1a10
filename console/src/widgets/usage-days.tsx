/** Usage by day: bars for the eye, and the same in a table for everybody else. */

import Box from "@cloudscape-design/components/box";
import ExpandableSection from "@cloudscape-design/components/expandable-section";
import Table from "@cloudscape-design/components/table";
import type { Schemas } from "../api/contract.ts";
import { money } from "../manifest/price.ts";
import { count } from "./words.ts";

type Total = Schemas["UsageTotal"];

interface Day {
  readonly day: string;
  readonly machineHours: number;
  readonly runningHours: number;
  readonly amount: number;
  readonly currency: string;
}

const SHOWN = 31;
const WIDTH = 620;
const HEIGHT = 90;

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
            { id: "machines", header: "Machine hours", cell: (one) => short(one.machineHours) },
            { id: "running", header: "App ran, hours", cell: (one) => short(one.runningHours) },
            { id: "amount", header: "Cost", cell: costText },
          ]}
        />
      </ExpandableSection>
    </div>
  );
}

function Bars({ days }: { readonly days: readonly Day[] }) {
  const most = Math.max(...days.map(weight));
  const step = WIDTH / SHOWN;
  return (
    <Box color="text-status-info">
      <svg
        role="img"
        aria-label={spoken(days)}
        viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
        width="100%"
        height={HEIGHT}
        preserveAspectRatio="xMinYMax meet"
      >
        {days.map((one, at) => {
          const height = most === 0 ? 0 : Math.max(2, (weight(one) / most) * (HEIGHT - 4));
          return (
            <rect
              key={one.day}
              x={at * step}
              y={HEIGHT - height}
              width={step * 0.7}
              height={height}
              rx={2}
              fill="currentColor"
            >
              <title>{`${one.day}: ${costText(one)}, ${short(one.machineHours)} machine hours`}</title>
            </rect>
          );
        })}
      </svg>
    </Box>
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

/** How tall a day's bar is: its cost, or its hours where nothing costs anything. */
function weight({ amount, machineHours }: Day): number {
  return amount || machineHours;
}

function costText({ amount, currency }: Day): string {
  return currency === "" ? "–" : money(amount, currency);
}

function short(hours: number): string {
  return String(Number(hours.toFixed(2)));
}

function spoken(days: readonly Day[]): string {
  const last = days[days.length - 1];
  const top = days.reduce((most, one) => (weight(one) > weight(most) ? one : most));
  return `Cost by day, ${count(days.length, "day")} up to ${last?.day}: most on ${top.day} with ${costText(top)}. The table below has every day.`;
}
