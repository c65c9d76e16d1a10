/** Nodes: machines the platform has, free or held, open or cordoned. */

import Box from "@cloudscape-design/components/box";
import Button from "@cloudscape-design/components/button";
import Link from "@cloudscape-design/components/link";
import SpaceBetween from "@cloudscape-design/components/space-between";
import { useState } from "react";
import { api, call } from "../../api/client.ts";
import type { Schemas } from "../../api/contract.ts";
import { pageQuery } from "../../api/pages.ts";
import { useCan } from "../../app/access.ts";
import { FormDialog } from "../../forms/form-dialog.tsx";
import { choice, NAME, objectOf } from "../../forms/own-schemas.ts";
import { useList } from "../../live/use-list.ts";
import { Copy } from "../../widgets/copy.tsx";
import { type Column, DataTable } from "../../widgets/data-table.tsx";
import { Empty } from "../../widgets/empty.tsx";
import { findable } from "../../widgets/named.tsx";
import { Prose } from "../../widgets/prose.tsx";
import { ReadDialog } from "../../widgets/read-dialog.tsx";
import { Status } from "../../widgets/status.tsx";
import { Thing } from "../../widgets/thing.tsx";
import { type Offer, useOffer } from "./offer.ts";

type Node = Schemas["Node"];

const ADD = "Add an existing host";

export function Nodes() {
  const manages = useCan()("capacity.node.manage");
  const offer = useOffer(manages);
  const [adding, setAdding] = useState(false);
  const [changing, setChanging] = useState<Node | null>(null);
  const list = useList(
    "nodes",
    (cursor, signal) =>
      call(api.GET("/api/v1/nodes", { params: { query: pageQuery(cursor) }, signal })),
    { on: ({ type }) => type.startsWith("capacity."), everyMs: 10_000 },
  );
  const add = manages && <Button onClick={() => setAdding(true)}>{ADD}</Button>;
  return (
    <>
      <DataTable
        name="nodes"
        title="Nodes"
        list={list}
        idOf={({ id }) => id}
        columns={[...COLUMNS, ...(manages ? [cordonColumn(setChanging)] : [])]}
        sortedBy="name"
        actions={
          <SpaceBetween size="xs" direction="horizontal">
            {add}
          </SpaceBetween>
        }
        empty={
          <Empty title="No machine yet" action={add}>
            Tenants can hold nothing until the platform has nodes.
          </Empty>
        }
      />
      {adding && (
        <ReadDialog title={ADD} live={offer} onClose={() => setAdding(false)}>
          {(known) => <NewNode offer={known} onClose={() => setAdding(false)} />}
        </ReadDialog>
      )}
      {changing !== null && <CordonDialog node={changing} onClose={() => setChanging(null)} />}
    </>
  );
}

interface NewNodeProps {
  readonly offer: Offer;
  readonly onClose: () => void;
}

function NewNode({ offer, onClose }: NewNodeProps) {
  return (
    <FormDialog
      title={ADD}
      submitText="Add"
      size="large"
      schema={objectOf(
        {
          name: NAME,
          region: choice("Region", offer.regions),
          sku: choice("Kind", offer.kinds),
          address: { title: "Address", type: "string", minLength: 1, maxLength: 253 },
          host_keys: {
            title: "Host keys",
            type: "array",
            items: { type: "string" },
            minItems: 1,
            maxItems: 8,
            "x-placeholder": "ssh-ed25519 AAAA…",
            "x-help":
              "As ssh-keyscan prints them, without the host. Nothing is trusted on first use.",
          },
        },
        "name",
        "region",
        "sku",
        "address",
        "host_keys",
      )}
      onClose={onClose}
      submit={(value, key) =>
        call(
          api.POST("/api/v1/nodes", {
            body: {
              name: String(value.name),
              region: String(value.region),
              sku: String(value.sku),
              address: String(value.address),
              host_keys: Array.isArray(value.host_keys) ? value.host_keys.map(String) : [],
            },
            headers: { "Idempotency-Key": key },
          }),
        )
      }
    />
  );
}

interface CordonDialogProps {
  readonly node: Node;
  readonly onClose: () => void;
}

function CordonDialog({ node, onClose }: CordonDialogProps) {
  const closes = node.status === "ready";
  return (
    <FormDialog
      title={closes ? `Cordon ${node.name}?` : `Open ${node.name} again?`}
      submitText={closes ? "Cordon" : "Open"}
      schema={objectOf({
        reason: { title: "Reason", type: "string", maxLength: 2000, "x-widget": "textarea" },
      })}
      onClose={onClose}
      submit={({ reason }, key) =>
        call(
          api.PATCH("/api/v1/nodes/{node_id}", {
            params: { path: { node_id: node.id } },
            body: { status: closes ? "cordoned" : "ready", reason: String(reason ?? "") },
            headers: { "Idempotency-Key": key, "If-Match": `"${node.revision}"` },
          }),
        )
      }
    >
      {closes
        ? "No new allocation lands on it. The one it carries stays."
        : "It can be given out again."}
    </FormDialog>
  );
}

const COLUMNS: readonly Column<Node>[] = [
  {
    id: "name",
    header: "Name",
    cell: ({ id, name }) => <Link href={`/admin/nodes/${id}`}>{name}</Link>,
    value: ({ name, id }) => `${name} ${id}`,
    rowHeader: true,
  },
  {
    id: "status",
    header: "Status",
    cell: ({ status, status_reason }) => (
      <>
        <Status word={status} />
        {status_reason && (
          <Box color="text-body-secondary">
            <Prose>{status_reason}</Prose>
          </Box>
        )}
      </>
    ),
    value: ({ status }) => status,
  },
  { id: "sku", header: "Kind", cell: ({ sku }) => sku, value: ({ sku }) => sku },
  { id: "region", header: "Region", cell: ({ region }) => region, value: ({ region }) => region },
  {
    id: "address",
    header: "Address",
    cell: ({ address }) => <Copy text={address} what="the address" />,
    value: (one) => one.address,
    minWidth: 160,
  },
  {
    id: "held",
    header: "Held as",
    cell: ({ allocation_id, last_org_id }) =>
      allocation_id ? <Thing id={allocation_id} /> : <Free lastOrgId={last_org_id} />,
    value: ({ allocation_id }) => (allocation_id ? findable(allocation_id) : "free"),
  },
];

function cordonColumn(open: (node: Node) => void): Column<Node> {
  return {
    id: "cordon",
    header: "Change",
    cell: (node) =>
      (node.status === "ready" || node.status === "cordoned") && (
        <Button
          variant="inline-link"
          ariaLabel={`${node.status === "ready" ? "Cordon" : "Open"} ${node.name}`}
          onClick={() => open(node)}
        >
          {node.status === "ready" ? "Cordon" : "Open"}
        </Button>
      ),
  };
}

/** A free machine, and the one tenant that may get it while another's traces would be on it. */
function Free({ lastOrgId }: { readonly lastOrgId: string | null }) {
  if (lastOrgId === null) return <>Free</>;
  return (
    <>
      Free, for <Thing id={lastOrgId} /> alone until it is cleaned
    </>
  );
}
