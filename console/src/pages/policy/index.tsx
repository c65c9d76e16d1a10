/** The policy of a project: what may be used here, decided by whom, and why a value is allowed or not. */

import Alert from "@cloudscape-design/components/alert";
import Box from "@cloudscape-design/components/box";
import Button from "@cloudscape-design/components/button";
import Container from "@cloudscape-design/components/container";
import FormField from "@cloudscape-design/components/form-field";
import Header from "@cloudscape-design/components/header";
import Input from "@cloudscape-design/components/input";
import Select from "@cloudscape-design/components/select";
import SpaceBetween from "@cloudscape-design/components/space-between";
import Table from "@cloudscape-design/components/table";
import { useState } from "react";
import { api, asProblem, call } from "../../api/client.ts";
import type { Schemas } from "../../api/contract.ts";
import type { Problem } from "../../api/problem.ts";
import { useCan } from "../../app/access.ts";
import { useProject } from "../../app/place.ts";
import type { PageProps } from "../../app/router.tsx";
import { useLive } from "../../live/use-live.ts";
import { DIMENSIONS, type Dimension, dimensionName } from "../../widgets/dimensions.ts";
import { OverlayTable } from "../../widgets/overlays.tsx";
import { Loaded, Page } from "../../widgets/page.tsx";
import { ProblemAlert } from "../../widgets/problem-alert.tsx";
import { Status } from "../../widgets/status.tsx";

type Decision = Schemas["Decision"];

const CHOICES = DIMENSIONS.map((value) => ({ value, label: dimensionName(value) }));

export default function PolicyPage({ params }: PageProps) {
  const projectId = params.project_id ?? "";
  const project = useProject();
  const can = useCan();
  const policy = useLive(
    `policy:${projectId}`,
    (signal) =>
      call(
        api.GET("/api/v1/projects/{project_id}/effective-policy", {
          params: { path: { project_id: projectId } },
          signal,
        }),
      ),
    { on: ({ type }) => type.startsWith("policy.") },
  );
  const place = { org_id: project?.org_id ?? null, project_id: projectId };
  return (
    <Page
      title="Policy"
      description="What holds here: the platform's rules, narrowed by the tenant's and the project's."
    >
      <Loaded live={policy}>{(found) => <Effective policy={found} />}</Loaded>
      <Ask projectId={projectId} />
      <OverlayTable
        scope={{ kind: "project", id: projectId }}
        manages={can("policy.overlay.write", place)}
      />
    </Page>
  );
}

function Effective({ policy }: { readonly policy: Schemas["EffectivePolicy"] }) {
  const rules = Object.entries(policy.rules);
  return (
    <Table
      header={<Header variant="h2">In effect</Header>}
      items={rules}
      trackBy={([dimension]) => dimension}
      wrapLines
      columnDefinitions={[
        {
          id: "of",
          header: "Of",
          isRowHeader: true,
          cell: ([dimension]) => dimensionName(dimension),
        },
        {
          id: "allow",
          header: "Allowed",
          cell: ([, { allow }]) => (allow === null ? "Everything" : allow.join(", ") || "Nothing"),
        },
        { id: "deny", header: "Never", cell: ([, { deny }]) => deny.join(", ") || "–" },
        {
          id: "by",
          header: "Said by",
          cell: ([, { sources }]) =>
            [
              ...new Set(
                sources.map(({ overlay_name, scope }) => `${overlay_name} (${scope.kind})`),
              ),
            ].join(", ") || "–",
        },
      ]}
      empty={<Box color="text-body-secondary">No overlay speaks: everything is allowed.</Box>}
    />
  );
}

/** May this be used here, and why? */
function Ask({ projectId }: { readonly projectId: string }) {
  const [dimension, setDimension] = useState<Dimension>("skus");
  const [value, setValue] = useState("");
  const [decision, setDecision] = useState<Decision | null>(null);
  const [problem, setProblem] = useState<Problem | null>(null);

  async function ask(): Promise<void> {
    if (value.trim() === "") return;
    setProblem(null);
    try {
      const answer = await call(
        api.GET("/api/v1/projects/{project_id}/effective-policy", {
          params: { path: { project_id: projectId }, query: { dimension, value: value.trim() } },
        }),
      );
      setDecision(answer.decision ?? null);
    } catch (thrown) {
      setProblem(asProblem(thrown));
    }
  }

  return (
    <Container header={<Header variant="h2">Ask why</Header>}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void ask();
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
            <Input value={value} onChange={({ detail }) => setValue(detail.value)} />
          </FormField>
          <Button formAction="submit">Explain</Button>
          {problem !== null && <ProblemAlert problem={problem} />}
          {decision !== null && <Explained decision={decision} />}
        </SpaceBetween>
      </form>
    </Container>
  );
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
