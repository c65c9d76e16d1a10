/** What apps install on machines, and the sources it comes from. */

import Tabs from "@cloudscape-design/components/tabs";
import { type PageProps, useQuery } from "../../app/router.tsx";
import { ArtifactTable } from "../../widgets/artifacts.tsx";
import { Page } from "../../widgets/page.tsx";
import { Sources } from "./sources.tsx";

export default function ArtifactsPage(_: PageProps) {
  const [tab, setTab] = useQuery("tab");
  return (
    <Page
      title="Artifacts"
      description="What apps install on machines: known by its digest, trusted by its signature, allowed by policy."
    >
      <Tabs
        activeTabId={tab === "sources" ? tab : "artifacts"}
        onChange={({ detail }) => setTab(detail.activeTabId)}
        tabs={[
          { id: "artifacts", label: "Artifacts", content: <ArtifactTable /> },
          { id: "sources", label: "Sources", content: <Sources /> },
        ]}
      />
    </Page>
  );
}
