/** The app's own panels, as its manifest wants them; and what every instance has: where it sits, and what
 * that costs. */

import Container from "@cloudscape-design/components/container";
import Header from "@cloudscape-design/components/header";
import KeyValuePairs from "@cloudscape-design/components/key-value-pairs";
import Link from "@cloudscape-design/components/link";
import SpaceBetween from "@cloudscape-design/components/space-between";
import type { AppInstance, Manifest, Member, Panel } from "../../api/contract.ts";
import { useProject, useTenantNames } from "../../app/place.ts";
import { type Machine, machineName } from "../../forms/use-offers.ts";
import { billedText } from "../../manifest/billing.ts";
import { priceOf, priceText } from "../../manifest/price.ts";
import { Named } from "../../widgets/named.tsx";
import { NotRead } from "../../widgets/not-read.tsx";
import { Later, Reading } from "../../widgets/page.tsx";
import { ManifestPanel } from "../../widgets/panel.tsx";
import { Thing } from "../../widgets/thing.tsx";
import { type InstanceTabProps, inOrder } from "./view.ts";

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

const FIRST_PANELS = 2;

/** Whether what stands first calls machines by their names. */
export function namesMachinesFirst(manifest: Manifest): boolean {
  return panelsOf(manifest).slice(0, FIRST_PANELS).some(showsMembers);
}

function showsMembers({ kind, source }: Panel): boolean {
  return kind === "topology" || source === "members";
}

export function OverviewTab(view: InstanceTabProps) {
  const { instance, members, membersKnown, manifest, operations, machines, reading } = view;
  if (manifest === null) return null;
  const allocationName = (id: string) => machineName(machines, id);
  const scene = {
    manifest,
    instance,
    members: inOrder(members, manifest, allocationName),
    operations: operations.items ?? [],
    allocationName,
  };
  const drawn = panelsOf(manifest);
  const draw = (panel: Panel) =>
    membersKnown || reading || !showsMembers(panel) ? (
      <ManifestPanel key={panel.key} panel={panel} scene={scene} />
    ) : (
      <Container key={panel.key} header={<Header variant="h2">{panel.title}</Header>}>
        <NotRead />
      </Container>
    );
  return (
    <SpaceBetween size="l">
      {drawn.slice(0, FIRST_PANELS).map(draw)}
      <Later>
        {reading ? (
          <Reading />
        ) : (
          <SpaceBetween size="l">
            {drawn.slice(FIRST_PANELS).map(draw)}
            <Cost
              instance={instance}
              members={scene.members}
              manifest={manifest}
              machines={machines}
            />
          </SpaceBetween>
        )}
      </Later>
    </SpaceBetween>
  );
}

/** As the app wants them; with a picture in front where it has none. */
function panelsOf({ panels = [] }: Manifest): readonly Panel[] {
  return panels.some(({ kind }) => kind === "topology") ? panels : [PICTURE, ...panels];
}

interface CostProps {
  readonly instance: AppInstance;
  readonly members: readonly Member[];
  readonly manifest: Manifest;
  readonly machines: readonly Machine[];
}

/** What the machines under the instance cost, and who pays. */
function Cost({ instance, members, manifest, machines }: CostProps) {
  const project = useProject();
  const tenants = useTenantNames();
  const used = new Set(members.map(({ allocation_id }) => allocation_id));
  const found = machines.filter(({ allocation }) => used.has(allocation.id));
  const price = priceOf(
    found.map(({ allocation }) => allocation),
    found.flatMap(({ sku }) => (sku === null ? [] : [sku])),
  );
  const { project_id, org_id } = instance;
  return (
    <Container header={<Header variant="h2">Cost and help</Header>}>
      <KeyValuePairs
        columns={3}
        items={[
          { label: "Machines", value: found.length === 0 ? "–" : priceText(price) },
          {
            label: "Paid by",
            value: (
              <>
                Project{" "}
                <Thing id={project_id}>
                  {project?.id === project_id ? project.display_name : undefined}
                </Thing>
                , tenant {tenants.get(org_id) ?? <Named id={org_id} />}
              </>
            ),
          },
          {
            label: "Counted",
            value: billedText(manifest),
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
