/** What an instance used: hours and money, by day as a picture and as a table, and by machine. Read only when
 * the tab is opened, all of it from the platform: what is shown here is what is billed. */

import Box from "@cloudscape-design/components/box";
import Container from "@cloudscape-design/components/container";
import Header from "@cloudscape-design/components/header";
import KeyValuePairs from "@cloudscape-design/components/key-value-pairs";
import Link from "@cloudscape-design/components/link";
import SpaceBetween from "@cloudscape-design/components/space-between";
import { api, call } from "../../api/client.ts";
import type { AppInstance, Manifest, Schemas } from "../../api/contract.ts";
import { useCan } from "../../app/access.ts";
import { placeOf } from "../../app/place.ts";
import { wholeList } from "../../live/use-list.ts";
import { type Live, useLive } from "../../live/use-live.ts";
import { componentTitle } from "../../manifest/placement.ts";
import { money } from "../../manifest/price.ts";
import { type Column, DataTable } from "../../widgets/data-table.tsx";
import { Empty } from "../../widgets/empty.tsx";
import { Moment } from "../../widgets/moment.tsx";
import { Loaded } from "../../widgets/page.tsx";
import { elapsed } from "../../widgets/times.ts";
import { UsageDays } from "../../widgets/usage-days.tsx";
import { hoursText } from "../../widgets/usage-scale.ts";
import type { InstanceTabProps } from "./view.ts";

type Usage = Schemas["InstanceUsage"];
type MachineUsage = Schemas["MachineUsage"];

export function UsageTab({ instance, manifest }: InstanceTabProps) {
  const may = useCan()("billing.usage.read", placeOf(instance));
  if (!may) {
    return (
      <Container>
        <Empty title="Not for you to see">
          Usage and cost are read with the permission billing.usage.read; who administers the
          project can give it.
        </Empty>
      </Container>
    );
  }
  return <UsageView instance={instance} manifest={manifest} />;
}

interface UsageViewProps {
  readonly instance: AppInstance;
  readonly manifest: Manifest | null;
}

function UsageView({ instance, manifest }: UsageViewProps) {
  const usage = useUsage(instance.id);
  return (
    <Loaded live={usage}>
      {(used) => (
        <SpaceBetween size="l">
          <Whole used={used} />
          <DataTable
            name="usage"
            title="By machine"
            description="Each counts while this instance holds it; members that share one pay it once."
            list={wholeList(used.machines)}
            idOf={({ allocation_id }) => allocation_id}
            columns={columns(manifest)}
            empty={
              <Empty title="No machine counted yet">
                Counting begins when the deploy has taken its machines, and ends when they are given
                up.
              </Empty>
            }
          />
        </SpaceBetween>
      )}
    </Loaded>
  );
}

function useUsage(id: string): Live<Usage> {
  return useLive(
    `usage:${id}`,
    (signal) =>
      call(
        api.GET("/api/v1/app-instances/{instance_id}/usage", {
          params: { path: { instance_id: id } },
          signal,
        }),
      ),
    { on: ({ appinstanceid }) => appinstanceid === id },
  );
}

function Whole({ used }: { readonly used: Usage }) {
  return (
    <Container
      header={
        <Header
          variant="h2"
          description="Times are counted to the second, days in UTC, prices as they were at the time."
        >
          Usage
        </Header>
      }
    >
      <SpaceBetween size="m">
        <KeyValuePairs
          columns={4}
          items={[
            { label: "Cost so far", value: sums(used.amounts) },
            { label: "Per hour now", value: sums(used.price_per_hour) },
            { label: "App ran for", value: elapsed(used.running_seconds * 1000) },
            {
              label: "Counted from",
              value: (
                <>
                  <Moment at={used.since} />
                  {used.open && <Box color="text-body-secondary">and goes on</Box>}
                </>
              ),
            },
          ]}
        />
        <UsageDays days={used.days} />
        {used.notes.map((note) => (
          <Box key={note} color="text-body-secondary">
            {note}
          </Box>
        ))}
      </SpaceBetween>
    </Container>
  );
}

function columns(manifest: Manifest | null): readonly Column<MachineUsage>[] {
  const carried = ({ components }: MachineUsage) =>
    components.map((key) => componentTitle(manifest, key)).join(", ");
  return [
    {
      id: "machine",
      header: "Machine",
      cell: ({ allocation_id, name, sku }) => (
        <>
          <Link href={`/allocations/${allocation_id}`}>{name}</Link>
          <Box color="text-body-secondary">{sku}</Box>
        </>
      ),
      value: ({ name }) => name,
      rowHeader: true,
    },
    {
      id: "components",
      header: "Carries",
      cell: carried,
      value: carried,
    },
    {
      id: "held",
      header: "Held",
      cell: ({ held_until, open }) =>
        held_until === null ? open ? "Now" : "Not counted now" : <Moment at={held_until} />,
      value: ({ held_until }) => held_until ?? "",
    },
    {
      id: "hours",
      header: "Hours",
      cell: (one) => hoursText(Number(one.hours)),
      value: (one) => Number(one.hours),
    },
    {
      id: "gpu_hours",
      header: "GPU hours",
      cell: ({ gpu_hours }) => (Number(gpu_hours) === 0 ? null : hoursText(Number(gpu_hours))),
      value: ({ gpu_hours }) => Number(gpu_hours),
    },
    {
      id: "price",
      header: "Per hour now",
      cell: ({ price_per_hour, currency }) =>
        price_per_hour && currency ? money(Number(price_per_hour), currency) : null,
      value: ({ price_per_hour }) => Number(price_per_hour ?? 0),
    },
    {
      id: "amount",
      header: "Cost",
      cell: ({ amount, currency }) => (amount && currency ? money(Number(amount), currency) : null),
      value: ({ amount }) => Number(amount ?? 0),
    },
  ];
}

function sums(amounts: Usage["amounts"]): string {
  return amounts.map(({ amount, currency }) => money(Number(amount), currency)).join(", ") || "–";
}
