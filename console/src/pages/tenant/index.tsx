/** One tenant, for whoever administers it: projects, people, roles, entitlements, rules, quotas. */

import SpaceBetween from "@cloudscape-design/components/space-between";
import Tabs from "@cloudscape-design/components/tabs";
import { api, call } from "../../api/client.ts";
import type { Place } from "../../api/contract.ts";
import { useCan } from "../../app/access.ts";
import { type PageProps, useQuery } from "../../app/router.tsx";
import { useLive } from "../../live/use-live.ts";
import { BindingTable } from "../../widgets/bindings.tsx";
import { EntitlementTable } from "../../widgets/entitlements.tsx";
import { OverlayTable } from "../../widgets/overlays.tsx";
import { Loaded, Page } from "../../widgets/page.tsx";
import { Webhooks } from "../../widgets/webhooks.tsx";
import { BreakGlass } from "./break-glass.tsx";
import { Domains } from "./domains.tsx";
import { Groups } from "./groups.tsx";
import { People } from "./people.tsx";
import { Projects } from "./projects.tsx";
import { Providers } from "./providers.tsx";
import { Quotas } from "./quotas.tsx";
import { Roles } from "./roles.tsx";
import { SignInRule } from "./sign-in-rule.tsx";

export default function TenantPage({ params }: PageProps) {
  const id = params.org_id ?? "";
  const can = useCan();
  const [tab, setTab] = useQuery("tab");
  const place = { org_id: id, project_id: null };
  const tenant = useLive(
    `tenant:${id}`,
    (signal) =>
      call(api.GET("/api/v1/tenants/{org_id}", { params: { path: { org_id: id } }, signal })),
    { on: ({ subject }) => subject === id },
  );
  const tabs = [
    { id: "projects", label: "Projects", content: <Projects orgId={id} /> },
    ...(can("identity.user.read", place)
      ? [
          {
            id: "people",
            label: "People",
            content: (
              <SpaceBetween size="l">
                {tenant.value !== null && <SignInRule tenant={tenant.value} />}
                <People orgId={id} />
              </SpaceBetween>
            ),
          },
        ]
      : []),
    ...(can("identity.binding.read", place)
      ? [{ id: "roles", label: "Roles", content: <RolesTab place={place} /> }]
      : []),
    ...(can("identity.provider.read", place)
      ? [{ id: "sign-in", label: "Sign-in", content: <SignInTab orgId={id} /> }]
      : []),
    ...(can("catalog.entitlement.read", place)
      ? [
          {
            id: "entitlements",
            label: "Entitlements",
            content: <EntitlementTable scope={{ kind: "tenant", id }} />,
          },
        ]
      : []),
    ...(can("policy.overlay.read", place)
      ? [
          {
            id: "policy",
            label: "Policy",
            content: (
              <OverlayTable
                scope={{ kind: "tenant", id }}
                manages={can("policy.overlay.write", place)}
              />
            ),
          },
        ]
      : []),
    ...(can("events.webhook.read", place)
      ? [{ id: "webhooks", label: "Webhooks", content: <Webhooks place={place} /> }]
      : []),
    ...(can("capacity.quota.manage", place)
      ? [{ id: "quotas", label: "Quotas", content: <Quotas orgId={id} /> }]
      : []),
    ...(can("identity.break_glass.use")
      ? [{ id: "break-glass", label: "Break glass", content: <BreakGlass orgId={id} /> }]
      : []),
  ];
  return (
    <Page title={tenant.value?.display_name ?? "Tenant"}>
      <Loaded live={tenant}>
        {() => (
          <Tabs
            activeTabId={tabs.some((one) => one.id === tab) ? tab : "projects"}
            onChange={({ detail }) => setTab(detail.activeTabId)}
            tabs={tabs}
          />
        )}
      </Loaded>
    </Page>
  );
}

/** Through which providers people of the tenant sign in, and at which domains. */
function SignInTab({ orgId }: { readonly orgId: string }) {
  return (
    <SpaceBetween size="l">
      <Providers orgId={orgId} />
      <Domains orgId={orgId} />
    </SpaceBetween>
  );
}

/** Who holds which role, which groups bring one along, and what each allows. */
function RolesTab({ place }: { readonly place: Place }) {
  const can = useCan();
  return (
    <SpaceBetween size="l">
      <BindingTable place={place} title="Roles held here" />
      <Groups place={place} />
      {can("identity.role.read", place) && <Roles place={place} />}
    </SpaceBetween>
  );
}
