/** May this be used here, and why? Asked of what the platform knows by that name, or of any other value: rules may
 * speak of what is not there yet. */

import Alert from "@cloudscape-design/components/alert";
import Button from "@cloudscape-design/components/button";
import Container from "@cloudscape-design/components/container";
import FormField from "@cloudscape-design/components/form-field";
import Header from "@cloudscape-design/components/header";
import Select from "@cloudscape-design/components/select";
import SpaceBetween from "@cloudscape-design/components/space-between";
import { useState } from "react";
import { api, call } from "../../api/client.ts";
import type { Schemas } from "../../api/contract.ts";
import { DIMENSIONS, type Dimension, dimensionName } from "../../widgets/dimensions.ts";
import { ProblemAlert } from "../../widgets/problem-alert.tsx";
import { Status } from "../../widgets/status.tsx";
import { Suggest } from "../../widgets/suggest.tsx";
import { useAnswer } from "../../widgets/use-answer.ts";
import { useValues } from "./values.ts";

type Decision = Schemas["Decision"];

const CHOICES = DIMENSIONS.map((value) => ({ value, label: dimensionName(value) }));

export function Ask({ projectId }: { readonly projectId: string }) {
  const [dimension, setDimension] = useState<Dimension>("skus");
  const [value, setValue] = useState("");
  const values = useValues(projectId, dimension);
  const { asking, answer, problem, ask } = useAnswer(
    { projectId, dimension, value: value.trim() },
    readDecision,
  );
  return (
    <Container header={<Header variant="h2">Ask why</Header>}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (value.trim() !== "") ask();
        }}
      >
        <SpaceBetween size="s">
          <FormField label="Of what">
            <Select
              options={CHOICES}
              selectedOption={CHOICES.find((one) => one.value === dimension) ?? null}
              onChange={({ detail }) =>
                setDimension(
                  CHOICES.find((one) => one.value === detail.selectedOption.value)?.value ?? "skus",
                )
              }
            />
          </FormField>
          <FormField label="Value">
            <Suggest value={value} onChange={setValue} among={values} />
          </FormField>
          <Button formAction="submit" loading={asking}>
            Explain
          </Button>
          {problem !== null && <ProblemAlert problem={problem} />}
          {answer !== null && <Explained decision={answer} />}
        </SpaceBetween>
      </form>
    </Container>
  );
}

interface Question {
  readonly projectId: string;
  readonly dimension: Dimension;
  readonly value: string;
}

async function readDecision({ projectId, ...query }: Question): Promise<Decision | null> {
  const { decision } = await call(
    api.GET("/api/v1/projects/{project_id}/effective-policy", {
      params: { path: { project_id: projectId }, query },
    }),
  );
  return decision ?? null;
}

function Explained({ decision }: { readonly decision: Decision }) {
  return (
    <Alert
      type={decision.allowed ? "success" : "error"}
      header={`${decision.value} is ${decision.allowed ? "allowed" : "not allowed"}`}
    >
      <SpaceBetween size="xs">
        <div>{decision.message}</div>
        {decision.chain.length > 0 && (
          <ul className="plain-list">
            {decision.chain.map((finding) => (
              <li key={`${finding.overlay_id}:${finding.rule}:${finding.pattern}`}>
                <Status word={finding.allowed ? "allowed" : "denied"} /> {finding.overlay_name} (
                {finding.scope.kind}): {finding.message}
              </li>
            ))}
          </ul>
        )}
      </SpaceBetween>
    </Alert>
  );
}
