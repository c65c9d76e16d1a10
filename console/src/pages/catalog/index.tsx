/** The catalog of a project: what it may deploy, and what it may not yet, with the reason. */

import Badge from "@cloudscape-design/components/badge";
import Box from "@cloudscape-design/components/box";
import Button from "@cloudscape-design/components/button";
import Cards from "@cloudscape-design/components/cards";
import Header from "@cloudscape-design/components/header";
import Link from "@cloudscape-design/components/link";
import Pagination from "@cloudscape-design/components/pagination";
import Select from "@cloudscape-design/components/select";
import SpaceBetween from "@cloudscape-design/components/space-between";
import TextFilter from "@cloudscape-design/components/text-filter";
import Toggle from "@cloudscape-design/components/toggle";
import { useState } from "react";
import { api, call } from "../../api/client.ts";
import type { Schemas } from "../../api/contract.ts";
import { pageQuery } from "../../api/pages.ts";
import { useCan } from "../../app/access.ts";
import { placeOf, useProject } from "../../app/place.ts";
import { type PageProps, useQuery } from "../../app/router.tsx";
import { useList } from "../../live/use-list.ts";
import { Empty } from "../../widgets/empty.tsx";
import { NotRead } from "../../widgets/not-read.tsx";
import { Page, ReadProblem } from "../../widgets/page.tsx";
import { Status } from "../../widgets/status.tsx";

type ProjectApp = Schemas["ProjectApp"];

const PAGE_SIZE = 24;

interface Order {
  readonly value: string;
  readonly label: string;
  readonly of: (app: ProjectApp) => string;
}

const BY_NAME: Order = { value: "", label: "Order: Name", of: (app) => app.display_name };
const ORDERS: readonly Order[] = [
  BY_NAME,
  {
    value: "publisher",
    label: "Order: Publisher",
    of: (app) => `${app.publisher} ${app.display_name}`,
  },
];

export default function CatalogPage({ params }: PageProps) {
  const projectId = params.project_id ?? "";
  const [text, setText] = useQuery("q");
  const [all, setAll] = useQuery("all");
  const [wanted, setWanted] = useQuery("sort");
  const order = ORDERS.find(({ value }) => value === wanted) ?? BY_NAME;
  const apps = useList(
    `catalog:${projectId}:${all}`,
    (cursor, signal) =>
      call(
        api.GET("/api/v1/projects/{project_id}/apps", {
          params: {
            path: { project_id: projectId },
            query: { ...pageQuery(cursor), ...(all === "1" ? { include: "unavailable" } : {}) },
          },
          signal,
        }),
      ),
    { on: ({ type }) => type.startsWith("catalog.") || type.startsWith("policy.") },
  );
  const [page, setPage] = useState(1);
  const shown = (apps.items ?? []).filter((app) => matches(app, text)).sort(byChoice(order));
  const pages = Math.max(1, Math.ceil(shown.length / PAGE_SIZE));
  const current = Math.min(page, pages);

  function turnTo(next: number): void {
    if (next > pages && apps.more) apps.readMore();
    setPage(next);
  }

  return (
    <Page title="Catalog" description="Apps this project may run on the machines it holds.">
      <ReadProblem live={apps} />
      <Cards
        header={
          <Header counter={apps.items === null ? "" : `(${shown.length})`} variant="h2">
            Apps
          </Header>
        }
        filter={
          <SpaceBetween size="s" direction="horizontal" alignItems="center">
            <TextFilter
              filteringText={text}
              filteringPlaceholder="Find an app"
              filteringAriaLabel="Find an app"
              onChange={({ detail }) => {
                setText(detail.filteringText);
                setPage(1);
              }}
            />
            <Toggle
              checked={all === "1"}
              onChange={({ detail }) => {
                setAll(detail.checked ? "1" : "");
                setPage(1);
              }}
            >
              Also what cannot be deployed here
            </Toggle>
            <Select
              ariaLabel="Order"
              options={ORDERS}
              selectedOption={order}
              onChange={({ detail }) => {
                setWanted(detail.selectedOption.value ?? "");
                setPage(1);
              }}
            />
          </SpaceBetween>
        }
        pagination={
          (pages > 1 || apps.more) && (
            <Pagination
              currentPageIndex={current}
              pagesCount={pages}
              openEnd={apps.more}
              onChange={({ detail }) => turnTo(detail.currentPageIndex)}
            />
          )
        }
        items={shown.slice((current - 1) * PAGE_SIZE, current * PAGE_SIZE)}
        trackBy="slug"
        loading={apps.loading}
        loadingText="Reading the catalog"
        cardsPerRow={[{ cards: 1 }, { minWidth: 640, cards: 2 }, { minWidth: 1200, cards: 3 }]}
        cardDefinition={{
          header: ({ slug, display_name }) => (
            <Link href={`/projects/${projectId}/catalog/${slug}`} fontSize="heading-m">
              {display_name}
            </Link>
          ),
          sections: [
            { id: "about", content: (app) => <About app={app} /> },
            {
              id: "versions",
              header: "Version",
              content: ({ latest_available }) => latest_available ?? "None can be deployed here",
            },
            { id: "deploy", content: (app) => <Deploy app={app} projectId={projectId} /> },
          ],
        }}
        empty={apps.items === null ? <NotRead /> : <NothingEntitled filtered={text !== ""} />}
      />
    </Page>
  );
}

function About({ app }: { readonly app: ProjectApp }) {
  return (
    <SpaceBetween size="xs">
      <div>{app.description || "The publisher has not described it."}</div>
      <Box color="text-body-secondary">
        {app.kind_label && <Badge>{app.kind_label}</Badge>} by {app.publisher}
      </Box>
      {!app.available && (
        <div>
          <Status word="stopped" /> {app.reasons.map(({ message }) => message).join(" ")}
        </div>
      )}
    </SpaceBetween>
  );
}

interface DeployProps {
  readonly app: ProjectApp;
  readonly projectId: string;
}

function Deploy({ app, projectId }: DeployProps) {
  const can = useCan();
  const project = useProject();
  const here = project === null ? undefined : placeOf({ ...project, project_id: project.id });
  if (!app.available || !can("apps.instance.create", here)) return null;
  return (
    <Button
      href={`/projects/${projectId}/catalog/${app.slug}/deploy`}
      ariaLabel={`Deploy ${app.display_name}`}
    >
      Deploy
    </Button>
  );
}

function NothingEntitled({ filtered }: { readonly filtered: boolean }) {
  return filtered ? (
    <Empty title="Nothing matches" />
  ) : (
    <Empty title="No app is entitled to this project">
      The platform entitles a tenant to an app, and the tenant's administrator entitles projects.
      Switch on “Also what cannot be deployed here” to see what is missing.
    </Empty>
  );
}

/** What can be deployed first, each part in the order asked for. */
function byChoice({ of }: Order) {
  return (one: ProjectApp, other: ProjectApp): number =>
    Number(other.available) - Number(one.available) ||
    of(one).localeCompare(of(other), undefined, { numeric: true });
}

function matches(
  { display_name, slug, description, publisher }: ProjectApp,
  text: string,
): boolean {
  const all = `${display_name} ${slug} ${description} ${publisher}`.toLowerCase();
  return all.includes(text.trim().toLowerCase());
}
