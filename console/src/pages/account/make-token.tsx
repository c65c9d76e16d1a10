/** Making a token for scripts, and showing it once. */

import Alert from "@cloudscape-design/components/alert";
import Button from "@cloudscape-design/components/button";
import SpaceBetween from "@cloudscape-design/components/space-between";
import { useState } from "react";
import { api, call } from "../../api/client.ts";
import type { JsonObject, Schemas, Whoami } from "../../api/contract.ts";
import { FormDialog } from "../../forms/form-dialog.tsx";
import { choice, objectOf } from "../../forms/own-schemas.ts";
import { CopyBlock } from "../../widgets/copy.tsx";
import { Tokens } from "../../widgets/credentials.tsx";

const DAY_SECONDS = 86_400;

type Create = Schemas["PersonalTokenCreate"];

export function OwnTokens({ who }: { readonly who: Whoami }) {
  const [making, setMaking] = useState(false);
  const [made, setMade] = useState<string | null>(null);
  return (
    <SpaceBetween size="s">
      {made !== null && (
        <Alert
          type="success"
          header="This token is shown once"
          dismissible
          onDismiss={() => setMade(null)}
        >
          <CopyBlock text={made} what="the token" />
        </Alert>
      )}
      <Tokens actions={<Button onClick={() => setMaking(true)}>Make a token</Button>} />
      {making && (
        <FormDialog
          title="Make a token"
          submitText="Make it"
          schema={objectOf(fieldsFor(who), "name")}
          onClose={() => setMaking(false)}
          submit={async (value, key) => {
            const token = await call(
              api.POST("/api/v1/personal-tokens", {
                body: tokenOf(value, who),
                headers: { "Idempotency-Key": key },
              }),
            );
            setMade(token.secret);
          }}
        />
      )}
    </SpaceBetween>
  );
}

function fieldsFor(who: Whoami): Readonly<Record<string, JsonObject>> {
  const held = [...new Set(who.permissions.flatMap(({ permissions }) => permissions))].sort();
  return {
    name: { title: "Name", type: "string", minLength: 1, maxLength: 100 },
    days: {
      title: "Valid for days",
      type: "integer",
      minimum: 1,
      maximum: 730,
      "x-help": "Left empty, as long as is usual on this platform.",
    },
    place: choice(
      "Only in",
      placesOf(who).map(({ id, name }) => ({ value: id, label: name })),
      { "x-help": "Left empty, everywhere you have a role." },
    ),
    permissions: {
      title: "Only these permissions",
      type: "array",
      items: { type: "string", enum: held },
      "x-help": "Left empty, all of yours.",
    },
  };
}

interface Place {
  readonly id: string;
  readonly name: string;
  readonly scope: Schemas["Scope"];
}

/** The tenants and projects in which the person holds a role. */
function placesOf(who: Whoami): readonly Place[] {
  const places = who.bindings.flatMap(({ scope }): Place[] => {
    const { kind, org_id = null, project_id = null } = scope;
    const id = project_id ?? org_id;
    if (id === null) return [];
    const name = scope.project_name ?? scope.org_name ?? id;
    return [{ id, name, scope: { kind, org_id, project_id } }];
  });
  return [...new Map(places.map((place) => [place.id, place])).values()];
}

function tokenOf({ name, days, place, permissions }: JsonObject, who: Whoami): Create {
  const chosen = placesOf(who).find(({ id }) => id === place);
  const keys = Array.isArray(permissions) ? permissions : [];
  return {
    name: String(name),
    ...(days === undefined ? {} : { expires_in_seconds: Number(days) * DAY_SECONDS }),
    ...(keys.length === 0 ? {} : { permissions: keys as NonNullable<Create["permissions"]> }),
    ...(chosen === undefined ? {} : { scope: chosen.scope }),
  };
}
