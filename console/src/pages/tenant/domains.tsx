/** Domains of email addresses a tenant claims: by a DNS record, or by the operator's decision. */

import Button from "@cloudscape-design/components/button";
import SpaceBetween from "@cloudscape-design/components/space-between";
import { useState } from "react";
import { api, call } from "../../api/client.ts";
import type { Schemas } from "../../api/contract.ts";
import { pageQuery } from "../../api/pages.ts";
import { useCan } from "../../app/access.ts";
import { FormDialog } from "../../forms/form-dialog.tsx";
import { objectOf, REASON } from "../../forms/own-schemas.ts";
import { useList } from "../../live/use-list.ts";
import { Copy } from "../../widgets/copy.tsx";
import { type Column, DataTable } from "../../widgets/data-table.tsx";
import { Empty } from "../../widgets/empty.tsx";
import { Moment } from "../../widgets/moment.tsx";
import { Status } from "../../widgets/status.tsx";

type Domain = Schemas["TenantDomain"];
type Doing = { readonly what: "verify" | "approve" | "withdraw"; readonly claim: Domain };

const CLAIM = "Claim a domain";

export function Domains({ orgId }: { readonly orgId: string }) {
  const can = useCan();
  const manages = can("identity.provider.manage", { org_id: orgId, project_id: null });
  const decides = can("identity.domain.decide");
  const [claiming, setClaiming] = useState(false);
  const [doing, setDoing] = useState<Doing | null>(null);
  const list = useList(
    `tenant-domains:${orgId}`,
    (cursor, signal) =>
      call(
        api.GET("/api/v1/tenants/{org_id}/domains", {
          params: { path: { org_id: orgId }, query: pageQuery(cursor) },
          signal,
        }),
      ),
    { on: ({ type }) => type.startsWith("identity.domain.") },
  );
  const changes = manages || decides ? [changeColumn({ manages, decides, set: setDoing })] : [];
  return (
    <>
      <DataTable
        name="tenant-domains"
        title="Domains"
        description="At its own domains, a tenant's provider makes and links accounts of the tenant."
        list={list}
        idOf={({ id }) => id}
        columns={[...COLUMNS, ...changes]}
        actions={manages && <Button onClick={() => setClaiming(true)}>{CLAIM}</Button>}
        empty={
          <Empty title="No domain is claimed">
            Without one, no account is made or linked through the tenant's provider.
          </Empty>
        }
      />
      {claiming && <ClaimDomain orgId={orgId} onClose={() => setClaiming(false)} />}
      {doing !== null && <Change doing={doing} onClose={() => setDoing(null)} />}
    </>
  );
}

interface ClaimDomainProps {
  readonly orgId: string;
  readonly onClose: () => void;
}

function ClaimDomain({ orgId, onClose }: ClaimDomainProps) {
  return (
    <FormDialog
      title={CLAIM}
      submitText="Claim"
      schema={objectOf(
        {
          domain: {
            title: "Domain",
            type: "string",
            minLength: 3,
            maxLength: 253,
            "x-help": "The part of addresses after the @. It covers no subdomains.",
          },
        },
        "domain",
      )}
      onClose={onClose}
      submit={({ domain }, key) =>
        call(
          api.POST("/api/v1/tenants/{org_id}/domains", {
            params: { path: { org_id: orgId } },
            body: { domain: String(domain) },
            headers: { "Idempotency-Key": key },
          }),
        )
      }
    >
      The list then shows the TXT record that proves the claim.
    </FormDialog>
  );
}

function Change({ doing, onClose }: { readonly doing: Doing; readonly onClose: () => void }) {
  const { what, claim } = doing;
  const params = { path: { domain_id: claim.id } };
  if (what === "verify") {
    return (
      <FormDialog
        title={`Verify ${claim.domain}`}
        submitText="Verify"
        onClose={onClose}
        submit={(_, key) =>
          call(
            api.POST("/api/v1/domains/{domain_id}/verify", {
              params,
              headers: { "Idempotency-Key": key },
            }),
          )
        }
      >
        Publish this TXT record at your DNS provider first.
        <br />
        <Copy text={claim.record_name} what="the record's name" />
        <br />
        <Copy text={claim.record_value} what="the record's value" />
      </FormDialog>
    );
  }
  if (what === "approve") {
    return (
      <FormDialog
        title={`Give ${claim.domain} to this tenant?`}
        submitText="Give it"
        schema={objectOf({ reason: { ...REASON, minLength: 10, maxLength: 500 } }, "reason")}
        onClose={onClose}
        submit={({ reason }, key) =>
          call(
            api.POST("/api/v1/domains/{domain_id}/approve", {
              params,
              body: { reason: String(reason) },
              headers: { "Idempotency-Key": key },
            }),
          )
        }
      >
        Without a DNS record, you decide whose it is. The tenant reads your reason.
      </FormDialog>
    );
  }
  return (
    <FormDialog
      title={`Withdraw the claim to ${claim.domain}?`}
      submitText="Withdraw"
      onClose={onClose}
      submit={(_, key) =>
        call(
          api.DELETE("/api/v1/domains/{domain_id}", {
            params,
            headers: { "Idempotency-Key": key },
          }),
        )
      }
    >
      No further account is made or linked by it. Accounts and links that exist stay.
    </FormDialog>
  );
}

const COLUMNS: readonly Column<Domain>[] = [
  {
    id: "domain",
    header: "Domain",
    cell: ({ domain }) => domain,
    value: ({ domain }) => domain,
    rowHeader: true,
  },
  {
    id: "state",
    header: "State",
    cell: ({ state }) => <Status word={state} />,
    value: ({ state }) => state,
  },
  {
    id: "next",
    header: "Next",
    cell: ({ state, verified_by }) =>
      state === "verified"
        ? verified_by === "operator"
          ? "Nothing to do: the operator decided it"
          : "Nothing to do"
        : "Publish its TXT record, then verify",
  },
  {
    id: "since",
    header: "Since",
    cell: ({ verified_at, created_at }) => <Moment at={verified_at ?? created_at} />,
    value: ({ verified_at, created_at }) => verified_at ?? created_at,
  },
];

interface Changes {
  readonly manages: boolean;
  readonly decides: boolean;
  readonly set: (doing: Doing) => void;
}

function changeColumn({ manages, decides, set }: Changes): Column<Domain> {
  return {
    id: "change",
    header: "Change",
    cell: (claim) => {
      const button = (what: Doing["what"], text: string) => (
        <Button
          variant="inline-link"
          ariaLabel={`${text} ${claim.domain}`}
          onClick={() => set({ what, claim })}
        >
          {text}
        </Button>
      );
      const pending = claim.state === "pending";
      return (
        <SpaceBetween direction="horizontal" size="xs">
          {manages && pending && button("verify", "Verify")}
          {decides && pending && button("approve", "Decide")}
          {manages && button("withdraw", "Withdraw")}
        </SpaceBetween>
      );
    },
  };
}
