/** Verifies the chain of the audit, link by link, to its end; and hands out a head to keep elsewhere. What was
 * verified of a run that broke off is said as far as it came, and never taken for the whole. */

import Alert from "@cloudscape-design/components/alert";
import Button from "@cloudscape-design/components/button";
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

/** How far a run has come. */
interface Run {
  readonly running: boolean;
  readonly part: Verification | null;
  readonly head: Head | null;
  readonly problem: Problem | null;
}

const BEGUN: Run = { running: true, part: null, head: null, problem: null };

export function useChainCheck(): ChainCheck {
  const [run, setRun] = useState<Run | null>(null);

  /** From the first link, or behind the part that is verified already. */
  async function verify(done: Verification | null): Promise<void> {
    let part = done;
    setRun({ ...BEGUN, part });
    try {
      while (part === null || !isWhole(part)) {
        part = await verifyNext(part);
        setRun({ ...BEGUN, part });
      }
      const head = part.fault ? null : await call(api.GET("/api/v1/audit/head"));
      setRun({ running: false, part, head, problem: null });
    } catch (thrown) {
      setRun({ running: false, part, head: null, problem: asProblem(thrown) });
    }
  }

  return {
    running: run?.running ?? false,
    verify: () => void verify(null),
    found: run && <Found run={run} onGoOn={() => void verify(run.part)} />,
  };
}

interface FoundProps {
  readonly run: Run;
  readonly onGoOn: () => void;
}

function Found({ run, onGoOn }: FoundProps) {
  const { part, problem } = run;
  return (
    <SpaceBetween size="s">
      {problem !== null && (
        <ProblemAlert
          problem={problem}
          action={<Button onClick={onGoOn}>{part === null ? "Try again" : "Go on"}</Button>}
        />
      )}
      {part !== null && <Outcome run={run} part={part} />}
    </SpaceBetween>
  );
}

interface OutcomeProps {
  readonly run: Run;
  readonly part: Verification;
}

function Outcome({ run: { running, head }, part }: OutcomeProps) {
  if (part.fault) {
    return (
      <Alert type="error" header={`The chain is broken at ${part.fault.seq}: ${part.fault.kind}`}>
        {part.fault.detail}
      </Alert>
    );
  }
  const { type, header } = verdict(running, part);
  return (
    <Alert type={type} header={header}>
      {part.verified_to} entries recomputed, {part.heads} signed heads agree
      {part.waiting > 0 && `, ${part.waiting} wait for their place`}.
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

function verdict(running: boolean, part: Verification) {
  if (isWhole(part)) return { type: "success", header: "The chain is sound" } as const;
  if (running) return { type: "info", header: "Sound so far" } as const;
  const header = `Sound up to entry ${part.verified_to}; what follows was not verified`;
  return { type: "warning", header } as const;
}

/** Nothing follows, or nothing that follows matters any more. */
function isWhole({ fault, next_after }: Verification): boolean {
  return Boolean(fault) || next_after === null || next_after === undefined;
}

/** The next stretch, told together with those before it. */
async function verifyNext(done: Verification | null): Promise<Verification> {
  const after = done?.next_after ?? 0;
  const part = await call(
    api.GET("/api/v1/audit/verification", { params: { query: { after, limit: 20_000 } } }),
  );
  return { ...part, heads: part.heads + (done?.heads ?? 0) };
}
