/** One node for its operators: how it is reached, its agent, and what the agent says of the machine. */

import Alert from "@cloudscape-design/components/alert";
import Box from "@cloudscape-design/components/box";
import Button from "@cloudscape-design/components/button";
import Container from "@cloudscape-design/components/container";
import Header from "@cloudscape-design/components/header";
import KeyValuePairs from "@cloudscape-design/components/key-value-pairs";
import SpaceBetween from "@cloudscape-design/components/space-between";
import { useState } from "react";
import { api, call } from "../../api/client.ts";
import type { CloudEvent, Schemas } from "../../api/contract.ts";
import { Problem } from "../../api/problem.ts";
import { useCan } from "../../app/access.ts";
import type { PageProps } from "../../app/router.tsx";
import { FormDialog } from "../../forms/form-dialog.tsx";
import { objectOf, REASON } from "../../forms/own-schemas.ts";
import { readSkus } from "../../forms/use-offers.ts";
import { useLive } from "../../live/use-live.ts";
import { gpusText, skuText } from "../../manifest/price.ts";
import { Conditions } from "../../widgets/conditions.tsx";
import { Copy, CopyBlock } from "../../widgets/copy.tsx";
import { Moment } from "../../widgets/moment.tsx";
import { Later, Loaded, Page } from "../../widgets/page.tsx";
import { Prose } from "../../widgets/prose.tsx";
import { Status } from "../../widgets/status.tsx";
import { Thing } from "../../widgets/thing.tsx";
import { CleaningPanel } from "./cleaning-panel.tsx";
import { FactsPanel } from "./facts-panel.tsx";

const EVERY_MS = 5_000;
const ABSENT = "agent_absent";

export default function NodePage({ params }: PageProps) {
  const id = params.node_id ?? "";
  const path = { node_id: id };
  const on = ({ subject }: CloudEvent) => subject === id;
  const node = useLive(
    `node:${id}`,
    (signal) => call(api.GET("/api/v1/nodes/{node_id}", { params: { path }, signal })),
    { on, everyMs: EVERY_MS },
  );
  const agent = useLive(
    `agent:${id}`,
    (signal) =>
      unlessAbsent(call(api.GET("/api/v1/nodes/{node_id}/agent", { params: { path }, signal }))),
    { on, everyMs: EVERY_MS },
  );
  const access = useLive(
    `access:${id}`,
    (signal) => call(api.GET("/api/v1/nodes/{node_id}/access", { params: { path }, signal })),
    { on, everyMs: EVERY_MS },
  );
  const facts = useLive(
    `facts:${id}`,
    (signal) =>
      unlessAbsent(call(api.GET("/api/v1/nodes/{node_id}/facts", { params: { path }, signal }))),
    { on, everyMs: EVERY_MS, later: true },
  );
  const absent = (node.value?.conditions ?? []).some(({ type }) => type === ABSENT);
  return (
    <Page title={node.value?.name ?? "Node"}>
      <Loaded live={node}>{(found) => <Machine node={found} />}</Loaded>
      <CleaningPanel nodeId={id} />
      <Loaded live={access}>{(found) => <Access access={found} />}</Loaded>
      <Loaded live={agent}>
        {({ found }) => <Agent agent={found} nodeId={id} absent={absent} />}
      </Loaded>
      <Later>
        <Loaded live={facts}>{({ found }) => found && <FactsPanel facts={found} />}</Loaded>
      </Later>
    </Page>
  );
}

function Machine({ node }: { readonly node: Schemas["Node"] }) {
  const skus = useLive("skus", readSkus).value ?? [];
  const sku = skus.find(({ name }) => name === node.sku) ?? null;
  return (
    <Container header={<Header variant="h2">The machine</Header>}>
      <SpaceBetween size="m">
        <Conditions conditions={node.conditions ?? []} />
        <KeyValuePairs
          columns={4}
          items={[
            { label: "Status", value: <Status word={node.status} /> },
            {
              label: "Kind",
              value: sku === null ? node.sku : `${sku.display_name}: ${skuText(sku)}`,
            },
            { label: "GPUs", value: sku === null ? "–" : gpusText(sku) },
            { label: "Region", value: node.region },
            { label: "Provider", value: node.provider },
            { label: "Address", value: <Copy text={node.address} what="the address" /> },
            {
              label: "Held as",
              value: node.allocation_id ? <Thing id={node.allocation_id} /> : "Nothing: it is free",
            },
            {
              label: "Given out to",
              value: node.last_org_id ? (
                <>
                  <Thing id={node.last_org_id} /> alone, until it is cleaned
                </>
              ) : (
                "Any tenant"
              ),
            },
            ...(node.allocation_id
              ? [{ label: "Held by", value: <Holder allocationId={node.allocation_id} /> }]
              : []),
            { label: "Reason", value: <Prose>{node.status_reason || "–"}</Prose> },
            { label: "Since", value: <Moment at={node.created_at} /> },
          ]}
        />
        <CopyBlock text={node.host_keys.join("\n")} what="the host keys" />
      </SpaceBetween>
    </Container>
  );
}

/** Whose the machine is, as far as whoever looks may know it: the allocation says it. */
function Holder({ allocationId }: { readonly allocationId: string }) {
  const allocation = useLive(
    `allocation:${allocationId}`,
    (signal) =>
      call(
        api.GET("/api/v1/allocations/{allocation_id}", {
          params: { path: { allocation_id: allocationId } },
          signal,
        }),
      ),
    { on: ({ subject }) => subject === allocationId },
  );
  const { value, problem } = allocation;
  if (value === null) return <>{problem === null ? "–" : problem.title}</>;
  return (
    <>
      Project <Thing id={value.project_id} />, tenant <Thing id={value.org_id} />
    </>
  );
}

const CARRIERS: Record<Schemas["AccessCarrier"], string> = {
  agent: "Its agent",
  provider: "The provider that made it",
  nobody: "Nobody: whoever keeps the host",
};

/** Who tells a machine without an agent whom to let in; an agent speaks for itself below. */
function Access({ access }: { readonly access: Schemas["NodeAccess"] }) {
  if (access.carrier === "agent") return null;
  return (
    <Container header={<Header variant="h2">Access</Header>}>
      <SpaceBetween size="m">
        {access.error !== "" && (
          <Alert type="warning" header="The last attempt to tell it failed">
            {access.error}
          </Alert>
        )}
        <KeyValuePairs
          columns={4}
          items={[
            { label: "Told by", value: CARRIERS[access.carrier] },
            { label: "Trusts what it should", value: trusts(access) },
            {
              label: "Confirmed",
              value: access.confirmed_at ? <Moment at={access.confirmed_at} /> : "–",
            },
          ]}
        />
      </SpaceBetween>
    </Container>
  );
}

function trusts({ applied, carrier }: Schemas["NodeAccess"]): string {
  if (carrier === "nobody") return "Not known";
  return applied ? "Yes" : "Not yet";
}

interface AgentProps {
  readonly agent: Schemas["NodeAgent"] | null;
  readonly nodeId: string;
  /** It is not heard: what is known of it is what it said last. */
  readonly absent: boolean;
}

function Agent({ agent, nodeId, absent }: AgentProps) {
  const manages = useCan()("capacity.node.manage");
  const [leaving, setLeaving] = useState(false);
  if (agent === null) {
    return (
      <Container header={<Header variant="h2">Agent</Header>}>
        <Box color="text-body-secondary">
          None: the host was made known by hand, or its provider made it. Enrol it to get facts and
          tasks.
        </Box>
      </Container>
    );
  }
  return (
    <Container
      header={
        <Header
          variant="h2"
          actions={
            manages &&
            agent.status !== "left" && <Button onClick={() => setLeaving(true)}>Let it go</Button>
          }
        >
          Agent
        </Header>
      }
    >
      <SpaceBetween size="m">
        {agent.access_error !== "" && (
          <Alert type="warning" header="Its sshd could not be set up">
            {agent.access_error}
          </Alert>
        )}
        <KeyValuePairs
          columns={4}
          items={[
            {
              label: "Status",
              value: (
                <>
                  <Status word={agent.status} />
                  {absent && (
                    <div>
                      <Status word={ABSENT} />
                    </div>
                  )}
                </>
              ),
            },
            { label: "Last heard", value: <Moment at={agent.last_seen_at} /> },
            { label: "Version", value: agent.agent_version || "–" },
            { label: "Trusts what it should", value: agentTrusts(agent, absent) },
            { label: "Enrolled", value: <Moment at={agent.enrolled_at} /> },
            {
              label: "Identity",
              value:
                agent.identities.length === 0
                  ? "None"
                  : agent.identities.map(({ id, fingerprint }) => (
                      <div key={id} className="wrap-anywhere">
                        {fingerprint}
                      </div>
                    )),
            },
          ]}
        />
      </SpaceBetween>
      {leaving && (
        <FormDialog
          title="Let this host go?"
          submitText="Let it go"
          schema={objectOf(
            {
              reason: REASON,
              force: {
                title: "The host will not come back",
                type: "boolean",
                default: false,
                "x-help": "Its identity ends now, and what is on it stays as it is.",
              },
            },
            "reason",
          )}
          onClose={() => setLeaving(false)}
          submit={({ reason, force }, key) =>
            call(
              api.POST("/api/v1/nodes/{node_id}/unenrol", {
                params: { path: { node_id: nodeId } },
                body: { reason: String(reason), force: force === true },
                headers: { "Idempotency-Key": key },
              }),
            )
          }
        >
          The agent cleans the host of everything the platform put there, and ends.
        </FormDialog>
      )}
    </Container>
  );
}

/** As far as the agent has said: one that is not heard may have lost it since, one that has left took it
 * back. */
function agentTrusts({ status, access_applied }: Schemas["NodeAgent"], absent: boolean): string {
  if (status === "left") return "Not known: it has left";
  if (!access_applied) return "Not yet";
  return absent ? "Yes, when it was last heard" : "Yes";
}

/** What is read, or that there is none: a node made known by hand has no agent. */
async function unlessAbsent<T>(reading: Promise<T>): Promise<{ found: T | null }> {
  try {
    return { found: await reading };
  } catch (thrown) {
    if (thrown instanceof Problem && thrown.status === 404) return { found: null };
    throw thrown;
  }
}
