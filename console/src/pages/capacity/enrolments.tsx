/** Enrolments: the permission for one host to become a node, once, by one command run on it. */

import Alert from "@cloudscape-design/components/alert";
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
import { CopyBlock } from "../../widgets/copy.tsx";
import { type Column, DataTable } from "../../widgets/data-table.tsx";
import { Empty } from "../../widgets/empty.tsx";
import { Moment } from "../../widgets/moment.tsx";
import { ReadDialog } from "../../widgets/read-dialog.tsx";
import { Status } from "../../widgets/status.tsx";
import { type Offer, useOffer } from "./offer.ts";

type Enrolment = Schemas["Enrolment"];
type Created = Schemas["EnrolmentCreated"];

const ENROL = "Enrol a host";

export function Enrolments() {
  const manages = useCan()("capacity.node.manage");
  const offer = useOffer(manages);
  const [enrolling, setEnrolling] = useState(false);
  const [created, setCreated] = useState<Created | null>(null);
  const [ending, setEnding] = useState<Enrolment | null>(null);
  const list = useList(
    "enrolments",
    (cursor, signal) =>
      call(api.GET("/api/v1/enrolments", { params: { query: pageQuery(cursor) }, signal })),
    { on: ({ type }) => type.startsWith("fleet."), everyMs: 5_000 },
  );
  const enrol = manages && <Button onClick={() => setEnrolling(true)}>{ENROL}</Button>;
  return (
    <SpaceBetween size="s">
      {created !== null && <Command created={created} onClose={() => setCreated(null)} />}
      <DataTable
        name="enrolments"
        title="Enrolments"
        list={list}
        idOf={({ id }) => id}
        columns={[...COLUMNS, ...(manages ? [endColumn(setEnding)] : [])]}
        sortedBy="-created"
        actions={enrol}
        empty={
          <Empty title="No host was enrolled yet" action={enrol}>
            One command, run as root on the host, makes it a node. It needs nothing but Python.
          </Empty>
        }
      />
      {enrolling && (
        <ReadDialog title={ENROL} live={offer} onClose={() => setEnrolling(false)}>
          {(known) => (
            <NewEnrolment
              offer={known}
              onCreated={setCreated}
              onClose={() => setEnrolling(false)}
            />
          )}
        </ReadDialog>
      )}
      {ending !== null && (
        <FormDialog
          title={`End the enrolment of ${ending.node_name}?`}
          submitText="End it"
          onClose={() => setEnding(null)}
          submit={(_, key) =>
            call(
              api.POST("/api/v1/enrolments/{enrolment_id}/revoke", {
                params: { path: { enrolment_id: ending.id } },
                body: { reason: "" },
                headers: { "Idempotency-Key": key },
              }),
            )
          }
        >
          Its command no longer works.
        </FormDialog>
      )}
    </SpaceBetween>
  );
}

function Command({
  created,
  onClose,
}: {
  readonly created: Created;
  readonly onClose: () => void;
}) {
  return (
    <Alert
      type="success"
      header={`Run this on ${created.enrolment.node_name}, as root`}
      dismissible
      onDismiss={onClose}
    >
      <SpaceBetween size="s">
        <div>
          It is shown once, works once, and ends <Moment at={created.enrolment.expires_at} />. The
          host appears here when it has called.
        </div>
        <CopyBlock text={created.command} what="the enrolment command" />
      </SpaceBetween>
    </Alert>
  );
}

interface NewEnrolmentProps {
  readonly offer: Offer;
  readonly onCreated: (created: Created) => void;
  readonly onClose: () => void;
}

function NewEnrolment({ offer, onCreated, onClose }: NewEnrolmentProps) {
  return (
    <FormDialog
      title={ENROL}
      submitText="Make the command"
      schema={objectOf(
        {
          name: { ...NAME, title: "Name of the node" },
          region: choice("Region", offer.regions),
          sku: choice("Kind", offer.kinds),
          address: {
            title: "Address",
            type: "string",
            maxLength: 253,
            "x-help": "Where its sshd is reached; the address it calls from when left empty.",
          },
          platform_url: {
            title: "How the host reaches the platform",
            type: "string",
            maxLength: 500,
            "x-placeholder": window.location.origin,
            "x-help": "The platform's public address when left empty.",
          },
        },
        "name",
        "region",
        "sku",
      )}
      onClose={onClose}
      submit={async ({ name, region, sku, address, platform_url }, key) => {
        const created = await call(
          api.POST("/api/v1/enrolments", {
            body: {
              node: {
                name: String(name),
                region: String(region),
                sku: String(sku),
                ...(address === undefined ? {} : { address: String(address) }),
              },
              ...(platform_url === undefined ? {} : { platform_url: String(platform_url) }),
              expires_in_seconds: 3600,
            },
            headers: { "Idempotency-Key": key },
          }),
        );
        onCreated(created);
      }}
    />
  );
}

const COLUMNS: readonly Column<Enrolment>[] = [
  {
    id: "node",
    header: "Node",
    cell: ({ node_name, node_id }) =>
      node_id === null ? node_name : <Link href={`/admin/nodes/${node_id}`}>{node_name}</Link>,
    value: ({ node_name }) => node_name,
    rowHeader: true,
  },
  {
    id: "status",
    header: "Status",
    cell: ({ status }) => <Status word={status} />,
    value: ({ status }) => status,
  },
  { id: "sku", header: "Kind", cell: ({ sku }) => sku, value: ({ sku }) => sku },
  { id: "region", header: "Region", cell: ({ region }) => region, value: ({ region }) => region },
  {
    id: "until",
    header: "Ends",
    cell: ({ expires_at }) => <Moment at={expires_at} />,
    value: ({ expires_at }) => expires_at,
  },
  {
    id: "created",
    header: "Made",
    cell: ({ created_at }) => <Moment at={created_at} />,
    value: ({ created_at }) => created_at,
  },
];

function endColumn(end: (enrolment: Enrolment) => void): Column<Enrolment> {
  return {
    id: "end",
    header: "Change",
    cell: (enrolment) =>
      enrolment.status === "pending" && (
        <Button
          variant="inline-link"
          ariaLabel={`End the enrolment of ${enrolment.node_name}`}
          onClick={() => end(enrolment)}
        >
          End
        </Button>
      ),
  };
}
