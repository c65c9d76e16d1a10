/** The app's own panels, as its manifest wants them; and what every instance has: where it sits, and what
 * that costs. */

import Container from "@cloudscape-design/components/container";
import Header from "@cloudscape-design/components/header";
import KeyValuePairs from "@cloudscape-design/components/key-value-pairs";
import Link from "@cloudscape-design/components/link";
import SpaceBetween from "@cloudscape-design/components/space-between";
import Spinner from "@cloudscape-design/components/spinner";
import type { AppInstance, Manifest, Member, Panel } from "../../api/contract.ts";
import { placeOf, useProject, useTenantNames } from "../../app/place.ts";
import { useOffers } from "../../forms/use-offers.ts";
import { priceOf, priceText } from "../../manifest/price.ts";
import { ManifestPanel } from "../../widgets/panel.tsx";
import { sentence } from "../../widgets/words.ts";
import type { InstanceTabProps } from "./view.ts";

const PICTURE: Panel = {
  kind: "topology",
  key: "topology",
  title: "Topology",
  source: "members",
  description: "",
  empty: "",
  edges: [],
  label: "/node",
};

export function OverviewTab({ instance, members, manifest, operations }: InstanceTabProps) {
  const offers = useOffers(placeOf(instance), instance);
  if (manifest === null) return <Spinner />;
  const names = new Map(
    (offers.value ?? []).map(({ allocation }) => [allocation.id, allocation.name]),
  );
  const scene = {
    manifest,
    instance,
    members: members.filter(({ status }) => status !== "removed"),
    operations: operations.items ?? [],
    allocationName: (id: string) => names.get(id) ?? id,
  };
  const panels = manifest.panels ?? [];
  const drawn = panels.some(({ kind }) => kind === "topology") ? panels : [PICTURE, ...panels];
  return (
    <SpaceBetween size="l">
      {drawn.map((panel) => (
        <ManifestPanel key={panel.key} panel={panel} scene={scene} />
      ))}
      <Cost instance={instance} members={scene.members} manifest={manifest} />
    </SpaceBetween>
  );
}

interface CostProps {
  readonly instance: AppInstance;
  readonly members: readonly Member[];
  readonly manifest: Manifest;
}

/** What the machines under the instance cost, and who pays. */
function Cost({ instance, members, manifest }: CostProps) {
  const offers = useOffers(placeOf(instance), instance);
  const project = useProject();
  const tenants = useTenantNames();
  const used = new Set(members.map(({ allocation_id }) => allocation_id));
  const found = (offers.value ?? []).filter(({ allocation }) => used.has(allocation.id));
  const price = priceOf(
    found.map(({ allocation }) => allocation),
    found.flatMap(({ sku }) => (sku === null ? [] : [sku])),
  );
  const owner = project?.id === instance.project_id ? project.display_name : instance.project_id;
  return (
    <Container header={<Header variant="h2">Cost and help</Header>}>
      <KeyValuePairs
        columns={3}
        items={[
          { label: "Machines", value: found.length === 0 ? "–" : priceText(price) },
          {
            label: "Paid by",
            value: `Project ${owner}, tenant ${tenants.get(instance.org_id) ?? instance.org_id}`,
          },
          {
            label: "Counted",
            value:
              (manifest.billing_units ?? [])
                .map(({ unit, description }) => description || sentence(unit))
                .join(" ") || "The machines alone.",
          },
          {
            label: "Runbook",
            value: (
              <Link href={manifest.runbook_url} external>
                For operators
              </Link>
            ),
          },
          ...(manifest.documentation_url
            ? [
                {
                  label: "Documentation",
                  value: (
                    <Link href={manifest.documentation_url} external>
                      For users
                    </Link>
                  ),
                },
              ]
            : []),
        ]}
      />
    </Container>
  );
}
