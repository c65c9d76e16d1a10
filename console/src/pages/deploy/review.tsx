/** The last look before a deploy is sent: what will happen on which machine, what it costs, who pays. */

import Alert from "@cloudscape-design/components/alert";
import Box from "@cloudscape-design/components/box";
import Button from "@cloudscape-design/components/button";
import Container from "@cloudscape-design/components/container";
import Header from "@cloudscape-design/components/header";
import KeyValuePairs from "@cloudscape-design/components/key-value-pairs";
import SpaceBetween from "@cloudscape-design/components/space-between";
import Table from "@cloudscape-design/components/table";
import type { JsonObject, Manifest, OperationSpec, Schemas } from "../../api/contract.ts";
import { useProject, useTenantNames } from "../../app/place.ts";
import { type Offer, useOffers } from "../../forms/use-offers.ts";
import { billedText } from "../../manifest/billing.ts";
import { allocationsOf, componentTitle, seatsOf, topologyFor } from "../../manifest/placement.ts";
import { HOURS_A_MONTH, money, type Price, priceOf, skuText } from "../../manifest/price.ts";
import { Answers } from "../../widgets/answers.tsx";
import { sentence } from "../../widgets/words.ts";
import type { Draft } from "./draft.ts";

interface ReviewProps {
  readonly app: Schemas["ProjectApp"];
  readonly draft: Draft;
  readonly manifest: Manifest | null;
  readonly input: JsonObject;
  readonly onEdit: (step: number) => void;
}

export function Review({ app, draft, manifest, input, onEdit }: ReviewProps) {
  const project = useProject();
  const offers = useOffers({ org_id: project?.org_id ?? null, project_id: project?.id ?? null });
  const operation = manifest?.operations.find(({ purpose }) => purpose === "deploy");
  if (manifest === null || operation === undefined) return null;
  const ids = allocationsOf(operation, input);
  const machines = (offers.value ?? []).filter(({ allocation }) => ids.includes(allocation.id));
  const price = priceOf(
    machines.map(({ allocation }) => allocation),
    machines.flatMap(({ sku }) => (sku === null ? [] : [sku])),
  );
  const topology = topologyFor(manifest, ids.length);
  return (
    <SpaceBetween size="l">
      <Container
        header={
          <Header variant="h2" actions={<Button onClick={() => onEdit(0)}>Change</Button>}>
            What
          </Header>
        }
      >
        <KeyValuePairs
          columns={4}
          items={[
            { label: "App", value: `${app.display_name} ${draft.version}` },
            { label: "Name", value: draft.name },
            { label: "Label", value: draft.displayName || "–" },
            { label: "Topology", value: topology?.title ?? "–" },
          ]}
        />
      </Container>
      <Machines
        machines={machines}
        manifest={manifest}
        operation={operation}
        input={input}
        onEdit={onEdit}
      />
      <Costs price={price} manifest={manifest} />
      <Container
        header={
          <Header variant="h2" actions={<Button onClick={() => onEdit(1)}>Change</Button>}>
            Settings
          </Header>
        }
      >
        <Answers schema={operation.input as JsonObject} value={input} />
      </Container>
      {operation.confirmation && (
        <Alert type="info" header={operation.confirmation.title}>
          {operation.confirmation.text}
        </Alert>
      )}
    </SpaceBetween>
  );
}

interface MachinesProps {
  readonly machines: readonly Offer[];
  readonly manifest: Manifest;
  readonly operation: OperationSpec;
  readonly input: JsonObject;
  readonly onEdit: (step: number) => void;
}

/** Which component comes to which machine, and what is done there. */
function Machines({ machines, manifest, operation, input, onEdit }: MachinesProps) {
  const seats = seatsOf(operation, input);
  const steps = (operation.steps ?? []).map(({ title, name }) => title || sentence(name));
  return (
    <Table
      header={
        <Header
          variant="h2"
          counter={`(${machines.length})`}
          description={steps.length === 0 ? undefined : `On each: ${steps.join(" → ")}.`}
          actions={<Button onClick={() => onEdit(1)}>Change</Button>}
        >
          What happens on which machine
        </Header>
      }
      items={machines}
      trackBy={({ allocation }) => allocation.id}
      wrapLines
      columnDefinitions={[
        {
          id: "name",
          header: "Machine",
          isRowHeader: true,
          minWidth: 110,
          cell: ({ allocation }) => allocation.name,
        },
        {
          id: "gets",
          header: "Gets",
          minWidth: 110,
          cell: ({ allocation }) =>
            seats
              .filter(({ allocationId }) => allocationId === allocation.id)
              .map(({ component }) => componentTitle(manifest, component))
              .join(", "),
        },
        {
          id: "kind",
          header: "Kind",
          minWidth: 150,
          cell: ({ allocation, sku }) =>
            sku === null ? allocation.sku : `${allocation.sku}: ${skuText(sku)}`,
        },
        {
          id: "region",
          header: "Region",
          minWidth: 100,
          cell: ({ allocation }) => allocation.region,
        },
        {
          id: "price",
          header: "Per hour",
          minWidth: 100,
          cell: ({ sku }) => (sku === null ? "–" : money(Number(sku.price_per_hour), sku.currency)),
        },
      ]}
      empty={<Box color="text-body-secondary">No machine is named.</Box>}
    />
  );
}

function Costs({ price, manifest }: { readonly price: Price; readonly manifest: Manifest }) {
  const project = useProject();
  const tenants = useTenantNames();
  const tenant = project === null ? "" : (tenants.get(project.org_id) ?? project.org_id);
  return (
    <Container
      header={
        <Header
          variant="h2"
          description="These machines are held by the project already: they cost the same whether the app runs or not."
        >
          Cost
        </Header>
      }
    >
      <KeyValuePairs
        columns={4}
        items={[
          { label: "Per hour", value: money(price.perHour, price.currency) },
          {
            label: `Per month (${HOURS_A_MONTH} hours)`,
            value: money(price.perHour * HOURS_A_MONTH, price.currency),
          },
          { label: "Paid by", value: `Project ${project?.display_name ?? "–"}, tenant ${tenant}` },
          { label: "Counted", value: billedText(manifest) },
        ]}
      />
      {price.unknown.length > 0 && (
        <Box color="text-status-warning">The price of {price.unknown.join(", ")} is not known.</Box>
      )}
    </Container>
  );
}
