/** The platform's machines, for its operators: nodes, the kinds they are sold as, regions, and the rules
 * that hold for every tenant. */

import Tabs from "@cloudscape-design/components/tabs";
import { useCan } from "../../app/access.ts";
import { useQuery } from "../../app/router.tsx";
import { OverlayTable } from "../../widgets/overlays.tsx";
import { Page } from "../../widgets/page.tsx";
import { Enrolments } from "./enrolments.tsx";
import { Kinds } from "./kinds.tsx";
import { Nodes } from "./nodes.tsx";
import { Regions } from "./regions.tsx";

export default function CapacityPage() {
  const can = useCan();
  const [tab, setTab] = useQuery("tab");
  return (
    <Page
      title="Capacity"
      description="Machines of the platform. Projects hold them as allocations and never see which node it is."
    >
      <Tabs
        activeTabId={tab || "nodes"}
        onChange={({ detail }) => setTab(detail.activeTabId)}
        tabs={[
          { id: "nodes", label: "Nodes", content: <Nodes /> },
          { id: "enrolments", label: "Enrolments", content: <Enrolments /> },
          { id: "kinds", label: "Kinds and prices", content: <Kinds /> },
          { id: "regions", label: "Regions", content: <Regions /> },
          {
            id: "policy",
            label: "Rules for everybody",
            content: (
              <OverlayTable
                scope={{ kind: "platform", id: "" }}
                manages={can("policy.overlay.write")}
              />
            ),
          },
        ]}
      />
    </Page>
  );
}
