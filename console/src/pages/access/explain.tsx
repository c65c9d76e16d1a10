/** May somebody do something here, and by what? */

import Alert from "@cloudscape-design/components/alert";
import Button from "@cloudscape-design/components/button";
import Container from "@cloudscape-design/components/container";
import FormField from "@cloudscape-design/components/form-field";
import Header from "@cloudscape-design/components/header";
import Select from "@cloudscape-design/components/select";
import SpaceBetween from "@cloudscape-design/components/space-between";
import { useState } from "react";
import { api, call } from "../../api/client.ts";
import type { Permission, Place, Schemas } from "../../api/contract.ts";
import { useLive } from "../../live/use-live.ts";
import { scopeOf } from "../../widgets/bindings.tsx";
import { ReadProblem } from "../../widgets/page.tsx";
import { usePrincipals } from "../../widgets/principals.ts";
import { ProblemAlert } from "../../widgets/problem-alert.tsx";
import { Suggest } from "../../widgets/suggest.tsx";
import { useAnswer } from "../../widgets/use-answer.ts";

export function Explain({ place }: { readonly place: Place }) {
  const permissions = useLive("permissions", (signal) =>
    call(api.GET("/api/v1/permissions", { signal })),
  );
  const principals = usePrincipals(place);
  const [who, setWho] = useState("");
  const [permission, setPermission] = useState<Permission>("apps.instance.create");
  const { asking, answer, problem, ask } = useAnswer(
    { principal_id: who.trim(), permission, scope: scopeOf(place) },
    (body) => call(api.POST("/api/v1/authorization/explain", { body })),
  );
  const options = (permissions.value?.items ?? []).map(({ key, description }) => ({
    value: key,
    label: key,
    description,
  }));
  return (
    <Container header={<Header variant="h2">Why may somebody, or why not</Header>}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (who.trim() !== "") ask();
        }}
      >
        <SpaceBetween size="m">
          <ReadProblem live={permissions} />
          <FormField
            label="Who"
            description="Somebody of this project or its tenant, or a service account: by name, or by id."
          >
            <Suggest
              value={who}
              onChange={setWho}
              among={principals}
              placeholder="A name or an id"
            />
          </FormField>
          <FormField label="May do">
            <Select
              options={options}
              selectedOption={options.find(({ value }) => value === permission) ?? null}
              filteringType="auto"
              onChange={({ detail }) =>
                setPermission(
                  options.find(({ value }) => value === detail.selectedOption.value)?.value ??
                    permission,
                )
              }
            />
          </FormField>
          <Button formAction="submit" loading={asking}>
            Explain
          </Button>
          {problem !== null && <ProblemAlert problem={problem} />}
          {answer !== null && <Answer answer={answer} />}
        </SpaceBetween>
      </form>
    </Container>
  );
}

function Answer({ answer }: { readonly answer: Schemas["Explanation"] }) {
  return (
    <Alert type={answer.allowed ? "success" : "warning"} header={answer.summary}>
      <ul className="plain-list">
        {answer.bindings.map(({ binding_id, role_name, verdict }) => (
          <li key={binding_id}>
            {role_name}: {verdict}
          </li>
        ))}
      </ul>
      {!answer.allowed && answer.roles_that_would_do.length > 0 && (
        <div>Roles that would do: {answer.roles_that_would_do.join(", ")}.</div>
      )}
    </Alert>
  );
}
