/** A problem that belongs to one place on a page, shown there. */

import Alert from "@cloudscape-design/components/alert";
import type { ReactNode } from "react";
import type { Problem } from "../api/problem.ts";
import { ProblemDetails } from "./problem-details.tsx";

interface ProblemAlertProps {
  readonly problem: Problem;
  readonly action?: ReactNode;
}

export function ProblemAlert({ problem, action }: ProblemAlertProps) {
  return (
    <div role="alert">
      <Alert type="error" header={problem.title} action={action}>
        <ProblemDetails problem={problem} />
      </Alert>
    </div>
  );
}
