/** The last look before a deploy is sent: what will happen on which machine, what it costs, who pays. */

import Alert from "@cloudscape-design/components/alert";
import Box from "@cloudscape-design/components/box";
import Button from "@cloudscape-design/components/button";
import Container from "@cloudscape-design/components/container";
import Header from "@cloudscape-design/components/header";
import KeyValuePairs from "@cloudscape-design/components/key-value-pairs";
import SpaceBetween from "@cloudscape-design/components/space-between";
import Table from "@cloudscape-design/components/table";
import { Fragment } from "react";
import type { JsonObject, Manifest, OperationSpec } from "../../api/contract.ts";
import { useProject, useTenantNames } from "../../app/place.ts";
import type { ProjectApp } from "../../forms/project-app.ts";
import type { Offer } from "../../forms/use-offers.ts";
import type { Live } from "../../live/use-live.ts";
import { billedText } from "../../manifest/billing.ts";
import { allocationsOf, componentTitle, seatsOf, topologyFor } from "../../manifest/placement.ts";
import {
  HOURS_A_MONTH,
  money,
  type Price,
  perHourText,
  perMonthText,
  priceOf,
  skuText,
} from "../../manifest/price.ts";
import { Answers } from "../../widgets/answers.tsx";
import { Named } from "../../widgets/named.tsx";
import { Loaded } from "../../widgets/page.tsx";
import { Prose } from "../../widgets/prose.tsx";
import { sentence } from "../../widgets/words.ts";
import type { Draft } from "./draft.ts";
import type { InTheWay } from "./in-the-way.ts";

interface ReviewProps {
  readonly app: ProjectApp;
  readonly draft: Draft;
  readonly manifest: Manifest;
  readonly input: JsonObject;
  readonly offers: Live<readonly Offer[]>;
  readonly inTheWay: readonly InTheWay[];
  readonly onEdit: (step: number) => void;
}

export function Review({ app, draft, manifest, input, offers, inTheWay, onEdit }: ReviewProps) {
  const operation = manifest.operations.find(({ purpose }) => purpose === "deploy");
  if (operation === undefined) return null;
  const ids = allocationsOf(operation, input);
  const topology = topologyFor(manifest, ids.length);
  return (
    <SpaceBetween size="l">
      {inTheWay.length > 0 && <Blocked machines={inTheWay} onEdit={onEdit} />}
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
      <Loaded live={offers}>
        {(found) => {
          const machines = found.filter(({ allocation }) => ids.includes(allocation.id));
          return (
            <SpaceBetween size="l">
              <Machines {...{ machines, manifest, operation, input, onEdit }} />
              <Costs price={priceOfOffers(machines)} manifest={manifest} />
            </SpaceBetween>
          );
        }}
      </Loaded>
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

interface BlockedProps {
  readonly machines: readonly InTheWay[];
  readonly onEdit: (step: number) => void;
}

function Blocked({ machines, onEdit }: BlockedProps) {
  return (
    <div role="alert">
      <Alert
        type="error"
        header="It cannot be deployed on these machines"
        action={<Button onClick={() => onEdit(1)}>Choose others</Button>}
      >
        <ul className="plain-list">
          {machines.map(({ allocationId, why }) => (
            <li key={allocationId}>
              <Named id={allocationId} />: <Prose plain>{why}</Prose>
            </li>
          ))}
        </ul>
      </Alert>
    </div>
  );
}

function priceOfOffers(machines: readonly Offer[]): Price {
  return priceOf(
    machines.map(({ allocation }) => allocation),
    machines.flatMap(({ sku }) => (sku === null ? [] : [sku])),
  );
}

interface MachinesProps {
  readonly machines: readonly Offer[];
  readonly manifest: Manifest;
  readonly operation: OperationSpec;
  readonly input: JsonObject;
  readonly onEdit: (step: number) => void;
}

/** Which component comes to which machine; and what the deploy does, which step on which machine only the app
 * knows. */
function Machines({ machines, manifest, operation, input, onEdit }: MachinesProps) {
  const seats = seatsOf(operation, input);
  const steps = (operation.steps ?? []).map(({ title, name }) => title || sentence(name));
  return (
    <Table
      header={
        <Header
          variant="h2"
          counter={`(${machines.length})`}
          description={steps.length === 0 ? undefined : `The deploy: ${steps.join(" → ")}.`}
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
          { label: "Per hour", value: perHourText(price) },
          { label: `Per month (${HOURS_A_MONTH} hours)`, value: perMonthText(price) },
          { label: "Paid by", value: `Project ${project?.display_name ?? "–"}, tenant ${tenant}` },
          { label: "Counted", value: billedText(manifest) },
        ]}
      />
      {price.unknown.length > 0 && (
        <Box color="text-status-warning">
          The price of{" "}
          {price.unknown.map((id, at) => (
            <Fragment key={id}>
              {at > 0 && ", "}
              <Named id={id} />
            </Fragment>
          ))}{" "}
          is not known.
        </Box>
      )}
    </Container>
  );
}
