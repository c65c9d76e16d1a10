/** Verifies the chain of the audit, link by link, to its end; and hands out a head to keep elsewhere. */

import Alert from "@cloudscape-design/components/alert";
import Box from "@cloudscape-design/components/box";
import Button from "@cloudscape-design/components/button";
import Container from "@cloudscape-design/components/container";
import Header from "@cloudscape-design/components/header";
import SpaceBetween from "@cloudscape-design/components/space-between";
import { useState } from "react";
import { api, asProblem, call } from "../../api/client.ts";
import type { Schemas } from "../../api/contract.ts";
import type { Problem } from "../../api/problem.ts";
import { Copy } from "../../widgets/copy.tsx";
import { Moment } from "../../widgets/moment.tsx";
import { ProblemAlert } from "../../widgets/problem-alert.tsx";

type Verification = Schemas["ChainVerification"];
type Head = Schemas["ChainHead"];

export function ChainCheck() {
  const [running, setRunning] = useState(false);
  const [result, setResult] = useState<Verification | null>(null);
  const [head, setHead] = useState<Head | null>(null);
  const [problem, setProblem] = useState<Problem | null>(null);

  async function verify(): Promise<void> {
    setRunning(true);
    setProblem(null);
    try {
      setResult(await verifyAll(setResult));
      setHead(await call(api.GET("/api/v1/audit/head")));
    } catch (thrown) {
      setProblem(asProblem(thrown));
    } finally {
      setRunning(false);
    }
  }

  return (
    <Container
      header={
        <Header
          variant="h2"
          description="Every entry holds the hash of the one before it. Verifying recomputes all of them."
          actions={
            <Button loading={running} onClick={() => void verify()}>
              Verify the chain
            </Button>
          }
        >
          Nothing was changed
        </Header>
      }
    >
      <SpaceBetween size="s">
        {problem !== null && <ProblemAlert problem={problem} />}
        {result === null && !running && problem === null && (
          <Box color="text-body-secondary">Not verified since you opened this page.</Box>
        )}
        {result !== null && <Outcome result={result} running={running} />}
        {head !== null && (
          <Box>
            Head signed <Moment at={head.at} />:{" "}
            <Copy text={`${head.seq}:${head.hash}`} what="the head of the chain" />. Kept outside
            the platform, it shows a chain that was cut short or rewritten.
          </Box>
        )}
      </SpaceBetween>
    </Container>
  );
}

function Outcome({
  result,
  running,
}: {
  readonly result: Verification;
  readonly running: boolean;
}) {
  if (result.fault) {
    return (
      <Alert
        type="error"
        header={`The chain is broken at ${result.fault.seq}: ${result.fault.kind}`}
      >
        {result.fault.detail}
      </Alert>
    );
  }
  return (
    <Alert
      type={running ? "info" : "success"}
      header={running ? "Sound so far" : "The chain is sound"}
    >
      {result.verified_to} entries recomputed, {result.heads} signed heads agree
      {result.waiting > 0 && `, ${result.waiting} wait for their place`}.
    </Alert>
  );
}

/** From the first link to the last, a stretch at a time. */
async function verifyAll(onProgress: (part: Verification) => void): Promise<Verification> {
  let after = 0;
  let heads = 0;
  for (;;) {
    const part = await call(
      api.GET("/api/v1/audit/verification", { params: { query: { after, limit: 20_000 } } }),
    );
    heads += part.heads;
    const whole = { ...part, heads };
    if (part.fault || part.next_after === null || part.next_after === undefined) return whole;
    onProgress(whole);
    after = part.next_after;
  }
}
