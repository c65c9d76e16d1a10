/** The side navigation: what the person may look at, in the project they work in. */

import type { SideNavigationProps } from "@cloudscape-design/components/side-navigation";
import type { Permission, Whoami } from "../api/contract.ts";
import { canOf, canSomewhere } from "./access.ts";
import type { Project } from "./place.ts";

type Item = SideNavigationProps.Item;

interface Entry {
  readonly text: string;
  readonly href: string;
  readonly needs: Permission;
}

export function navigationOf(who: Whoami | null, project: Project | null): Item[] {
  if (who === null) return [link("Platform", "/platform")];
  return [
    link("Home", "/home"),
    ...(project === null ? [] : [projectGroup(who, project)]),
    {
      type: "section-group",
      title: "Operate",
      items: [...allowed(who, OPERATE), link("Platform", "/platform")],
    },
    ...adminGroup(who),
  ];
}

/** Whether the navigation leads to an address. */
export function offers(items: readonly Item[], href: string): boolean {
  return items.some(
    (item) =>
      ("href" in item && item.href === href) || ("items" in item && offers(item.items, href)),
  );
}

function projectGroup(who: Whoami, project: Project): Item {
  const can = canOf(who);
  const place = { org_id: project.org_id, project_id: project.id };
  const items = PROJECT.filter(({ needs }) => can(needs, place)).map(({ text, href }) =>
    link(text, `/projects/${project.id}/${href}`),
  );
  return { type: "section-group", title: project.display_name, items };
}

function adminGroup(who: Whoami): Item[] {
  const items = allowed(who, ADMIN);
  return items.length === 0 ? [] : [{ type: "section-group", title: "Administer", items }];
}

const PROJECT: readonly Entry[] = [
  { text: "Catalog", href: "catalog", needs: "catalog.app.read" },
  { text: "Instances", href: "instances", needs: "apps.instance.read" },
  { text: "Operations", href: "operations", needs: "apps.operation.read" },
  { text: "Allocations", href: "allocations", needs: "capacity.allocation.read" },
  { text: "Usage", href: "usage", needs: "billing.usage.read" },
  { text: "Access", href: "access", needs: "identity.project.read" },
  { text: "Policy", href: "policy", needs: "policy.overlay.read" },
  { text: "Events", href: "events", needs: "events.event.read" },
];

const OPERATE: readonly Entry[] = [
  { text: "Find by correlation id", href: "/correlations", needs: "operate.correlation.read" },
  { text: "Audit", href: "/audit", needs: "audit.entry.read" },
  { text: "Artifacts", href: "/artifacts", needs: "artifacts.artifact.publish" },
];

const ADMIN: readonly Entry[] = [
  { text: "Tenants", href: "/tenants", needs: "identity.tenant.read" },
  { text: "Published apps", href: "/admin/apps", needs: "catalog.app.publish" },
  { text: "Capacity", href: "/admin/capacity", needs: "capacity.node.read" },
];

function allowed(who: Whoami, entries: readonly Entry[]): SideNavigationProps.Link[] {
  return entries
    .filter(({ needs }) => canSomewhere(who, needs))
    .map(({ text, href }) => link(text, href));
}

function link(text: string, href: string): SideNavigationProps.Link {
  return { type: "link", text, href };
}
