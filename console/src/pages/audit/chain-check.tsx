/** Verifies the chain of the audit, link by link, to its end; and hands out a head to keep elsewhere. */

import Alert from "@cloudscape-design/components/alert";
import SpaceBetween from "@cloudscape-design/components/space-between";
import { type ReactNode, useState } from "react";
import { api, asProblem, call } from "../../api/client.ts";
import type { Schemas } from "../../api/contract.ts";
import type { Problem } from "../../api/problem.ts";
import { Copy } from "../../widgets/copy.tsx";
import { Moment } from "../../widgets/moment.tsx";
import { ProblemAlert } from "../../widgets/problem-alert.tsx";

type Verification = Schemas["ChainVerification"];
type Head = Schemas["ChainHead"];

export interface ChainCheck {
  readonly running: boolean;
  readonly verify: () => void;
  /** What was found so far; null before anybody has asked. */
  readonly found: ReactNode;
}

export function useChainCheck(): ChainCheck {
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

  const found = (result !== null || problem !== null) && (
    <SpaceBetween size="s">
      {problem !== null && <ProblemAlert problem={problem} />}
      {result !== null && <Outcome result={result} head={head} running={running} />}
    </SpaceBetween>
  );
  return { running, verify: () => void verify(), found };
}

interface OutcomeProps {
  readonly result: Verification;
  readonly head: Head | null;
  readonly running: boolean;
}

function Outcome({ result, head, running }: OutcomeProps) {
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
      {head !== null && (
        <div>
          Head signed <Moment at={head.at} />:{" "}
          <Copy text={`${head.seq}:${head.hash}`} what="the head of the chain" />. Kept outside the
          platform, it shows a chain that was cut short or rewritten.
        </div>
      )}
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
