/** May somebody do something here, and by what? */

import Alert from "@cloudscape-design/components/alert";
import Button from "@cloudscape-design/components/button";
import Container from "@cloudscape-design/components/container";
import FormField from "@cloudscape-design/components/form-field";
import Header from "@cloudscape-design/components/header";
import Input from "@cloudscape-design/components/input";
import Select from "@cloudscape-design/components/select";
import SpaceBetween from "@cloudscape-design/components/space-between";
import { useState } from "react";
import { api, asProblem, call } from "../../api/client.ts";
import type { Permission, Place, Schemas } from "../../api/contract.ts";
import type { Problem } from "../../api/problem.ts";
import { useLive } from "../../live/use-live.ts";
import { scopeOf } from "../../widgets/bindings.tsx";
import { ProblemAlert } from "../../widgets/problem-alert.tsx";

export function Explain({ place }: { readonly place: Place }) {
  const permissions = useLive("permissions", (signal) =>
    call(api.GET("/api/v1/permissions", { signal })),
  );
  const [who, setWho] = useState("");
  const [permission, setPermission] = useState<Permission>("apps.instance.create");
  const [answer, setAnswer] = useState<Schemas["Explanation"] | null>(null);
  const [problem, setProblem] = useState<Problem | null>(null);
  const options = (permissions.value?.items ?? []).map(({ key, description }) => ({
    value: key,
    label: key,
    description,
  }));

  async function ask(): Promise<void> {
    if (who.trim() === "") return;
    setProblem(null);
    try {
      setAnswer(
        await call(
          api.POST("/api/v1/authorization/explain", {
            body: { principal_id: who.trim(), permission, scope: scopeOf(place) },
          }),
        ),
      );
    } catch (thrown) {
      setProblem(asProblem(thrown));
    }
  }

  return (
    <Container header={<Header variant="h2">Why may somebody, or why not</Header>}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void ask();
        }}
      >
        <SpaceBetween size="m">
          <FormField label="Who" description="The id of a person or a service account.">
            <Input
              value={who}
              onChange={({ detail }) => setWho(detail.value)}
              placeholder="user_…"
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
          <Button formAction="submit">Explain</Button>
          {problem !== null && <ProblemAlert problem={problem} />}
          {answer !== null && (
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
          )}
        </SpaceBetween>
      </form>
    </Container>
  );
}
