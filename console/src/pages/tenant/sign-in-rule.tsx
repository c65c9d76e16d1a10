/** Whether people of a tenant need a second factor beside their password, and the way to change it. */

import Alert from "@cloudscape-design/components/alert";
import Button from "@cloudscape-design/components/button";
import { useState } from "react";
import { api, call } from "../../api/client.ts";
import type { Schemas } from "../../api/contract.ts";
import { useCan } from "../../app/access.ts";
import { FormDialog } from "../../forms/form-dialog.tsx";

type Tenant = Schemas["Tenant"];

export function SignInRule({ tenant }: { readonly tenant: Tenant }) {
  const [changing, setChanging] = useState(false);
  const changes = useCan()("identity.tenant.update", { org_id: tenant.id, project_id: null });
  const required = tenant.second_factor_required;
  return (
    <>
      <Alert
        type={required ? "success" : "info"}
        action={
          changes && (
            <Button onClick={() => setChanging(true)}>
              {required ? "Require none" : "Require a second factor"}
            </Button>
          )
        }
      >
        {required
          ? "People who sign in with a password need a second factor."
          : "A password alone signs people in, unless they set up a second factor themselves."}
      </Alert>
      {changing && (
        <FormDialog
          title={required ? "Require no second factor?" : "Require a second factor?"}
          submitText={required ? "Require none" : "Require it"}
          onClose={() => setChanging(false)}
          submit={(_, key) =>
            call(
              api.PATCH("/api/v1/tenants/{org_id}", {
                params: { path: { org_id: tenant.id } },
                body: { second_factor_required: !required },
                headers: { "Idempotency-Key": key, "If-Match": `"${tenant.revision}"` },
              }),
            )
          }
        >
          {required
            ? "Those who set one up are still asked for its code."
            : "Everybody managed by this tenant or with a role in it who signs in with a password must set one up before they can do anything else, from now on, you too. Tokens for scripts go on working."}
        </FormDialog>
      )}
    </>
  );
}
