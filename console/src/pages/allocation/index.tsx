/** One allocation: its state, what sits on it, how a person gets in, and the way to give it back. */

import Alert from "@cloudscape-design/components/alert";
import Box from "@cloudscape-design/components/box";
import Button from "@cloudscape-design/components/button";
import Container from "@cloudscape-design/components/container";
import Header from "@cloudscape-design/components/header";
import KeyValuePairs from "@cloudscape-design/components/key-value-pairs";
import Link from "@cloudscape-design/components/link";
import SpaceBetween from "@cloudscape-design/components/space-between";
import { useState } from "react";
import { api, call } from "../../api/client.ts";
import type { Allocation } from "../../api/contract.ts";
import { useCan } from "../../app/access.ts";
import { placeOf, useProjectOf, useProjects, useTenantNames } from "../../app/place.ts";
import type { PageProps } from "../../app/router.tsx";
import { FormDialog } from "../../forms/form-dialog.tsx";
import { readSkus } from "../../forms/use-offers.ts";
import { rowOf } from "../../live/use-list.ts";
import { type Live, useLive } from "../../live/use-live.ts";
import { gpusText, money, skuText } from "../../manifest/price.ts";
import { AllocationStatus } from "../../widgets/allocation-table.tsx";
import { Conditions } from "../../widgets/conditions.tsx";
import { Copy, CopyBlock } from "../../widgets/copy.tsx";
import { Moment } from "../../widgets/moment.tsx";
import { Named } from "../../widgets/named.tsx";
import { Later, Loaded, Page, ReadProblem } from "../../widgets/page.tsx";
import { Thing } from "../../widgets/thing.tsx";
import { BoundMembers, useBoundMembers } from "./bound-members.tsx";
import { GrantTable } from "./grants.tsx";

export default function AllocationPage({ params }: PageProps) {
  const id = params.allocation_id ?? "";
  const allocation = useLive(
    `allocation:${id}`,
    (signal) =>
      call(
        api.GET("/api/v1/allocations/{allocation_id}", {
          params: { path: { allocation_id: id } },
          signal,
        }),
      ),
    {
      on: ({ subject, type }) => subject === id || type.startsWith("apps."),
      seed: () => rowOf<Allocation>("allocations", id),
    },
  );
  useProjectOf(allocation.value);
  if (allocation.value === null) {
    return (
      <Page title="Allocation">
        <Loaded live={allocation}>{() => null}</Loaded>
      </Page>
    );
  }
  return <AllocationView allocation={allocation.value} live={allocation} />;
}

interface AllocationViewProps {
  readonly allocation: Allocation;
  readonly live: Live<Allocation>;
}

function AllocationView({ allocation, live }: AllocationViewProps) {
  const { id, bound_instance_id: boundTo } = allocation;
  const bound = useBoundMembers(boundTo, id);
  const [releasing, setReleasing] = useState(false);
  const releasable =
    useCan()("capacity.allocation.release", placeOf(allocation)) &&
    !["released", "releasing"].includes(allocation.status);
  return (
    <Page
      title={allocation.name}
      actions={
        releasable && (
          <Button
            onClick={() => setReleasing(true)}
            disabled={boundTo !== null}
            disabledReason="An instance uses it. Remove its members first."
          >
            Release
          </Button>
        )
      }
    >
      <ReadProblem live={live} />
      {allocation.status === "cleanup_blocked" && (
        <Alert type="warning" header="It is set aside">
          The app that was on it has not stated that nothing of it is left. The machine is not used
          again before that. Reconcile the instance, or look at the machine.
        </Alert>
      )}
      <Conditions conditions={allocation.conditions ?? []} />
      <Machine allocation={allocation} />
      {boundTo !== null && <BoundMembers list={bound} />}
      <WayIn allocation={allocation} />
      <Later>
        <GrantTable allocation={allocation} />
      </Later>
      {releasing && (
        <FormDialog
          title={`Release ${allocation.name}?`}
          submitText="Release"
          onClose={() => setReleasing(false)}
          submit={(_, key) =>
            call(
              api.POST("/api/v1/allocations/{allocation_id}/release", {
                params: { path: { allocation_id: id } },
                headers: { "Idempotency-Key": key },
              }),
            )
          }
        >
          The machine is given back, and billing ends. What is on it is lost to this project.
        </FormDialog>
      )}
    </Page>
  );
}

function Machine({ allocation }: { readonly allocation: Allocation }) {
  const skus = useLive("skus", readSkus).value ?? [];
  const sku = skus.find(({ name }) => name === allocation.sku) ?? null;
  const project = (useProjects().value ?? []).find(({ id }) => id === allocation.project_id);
  const tenants = useTenantNames();
  return (
    <Container header={<Header variant="h2">The machine</Header>}>
      <KeyValuePairs
        columns={4}
        items={[
          { label: "Status", value: <AllocationStatus allocation={allocation} /> },
          {
            label: "Kind",
            value: sku === null ? allocation.sku : `${sku.display_name}: ${skuText(sku)}`,
          },
          { label: "GPUs", value: sku === null ? "–" : gpusText(sku) },
          { label: "Region", value: allocation.region },
          {
            label: "Held by",
            value: (
              <>
                Project <Thing id={allocation.project_id}>{project?.display_name}</Thing>, tenant{" "}
                {tenants.get(allocation.org_id) ?? <Named id={allocation.org_id} />}
              </>
            ),
          },
          {
            label: "Price per hour",
            value: sku === null ? "–" : money(Number(sku.price_per_hour), sku.currency),
          },
          { label: "Held since", value: <Moment at={allocation.created_at} /> },
          { label: "Id", value: <Copy text={allocation.id} what="the id" /> },
          {
            label: "Used by",
            value: allocation.bound_instance_id ? (
              <Thing id={allocation.bound_instance_id} />
            ) : (
              "Nothing: it is free"
            ),
          },
          {
            label: "Correlation id",
            value: (
              <Link href={`/correlations/${encodeURIComponent(allocation.correlation_id)}`}>
                {allocation.correlation_id}
              </Link>
            ),
          },
        ]}
      />
    </Container>
  );
}

/** How a person logs in: with a certificate of minutes, to a machine whose keys are known. */
function WayIn({ allocation }: { readonly allocation: Allocation }) {
  const { address, host_keys, status, id } = allocation;
  if (address === null || status !== "active") return null;
  const known = host_keys.map((key) => `${address} ${key}`).join("\n");
  return (
    <Container
      header={
        <Header
          variant="h2"
          description="Ask for access below with your public key: you get the whole command and a certificate of minutes, and your private key stays with you."
        >
          Log in
        </Header>
      }
    >
      <SpaceBetween size="s">
        <Box>
          <b>Command</b>
        </Box>
        <CopyBlock
          text={`ssh -o CertificateFile=~/.ssh/${id}-cert.pub -o UserKnownHostsFile=~/.ssh/${id}.known USER@${address}`}
          what="the ssh command"
        />
        <Box>
          <b>Host keys</b>, for ~/.ssh/{id}.known
        </Box>
        <CopyBlock text={known} what="the host keys" />
      </SpaceBetween>
    </Container>
  );
}
