/** A problem in full: the sentence, what is wrong where, the way on, and the ids support asks for.
 * Used inside flashes and alerts, whose header shows the problem's title. */

import Box from "@cloudscape-design/components/box";
import CopyToClipboard from "@cloudscape-design/components/copy-to-clipboard";
import SpaceBetween from "@cloudscape-design/components/space-between";
import type { Problem } from "../api/problem.ts";
import { nextActionSentence } from "./next-actions.ts";
import { Prose } from "./prose.tsx";

interface ProblemDetailsProps {
  readonly problem: Problem;
  /** Without links, for a ground that has its own colours. */
  readonly plain?: boolean;
}

export function ProblemDetails({ problem, plain = false }: ProblemDetailsProps) {
  const { message, title, fieldErrors, nextActions, code, correlationId } = problem;
  return (
    <SpaceBetween size="xs">
      {message !== title && <Prose plain={plain}>{message}</Prose>}
      {fieldErrors.length > 0 && (
        <ul className="plain-list">
          {fieldErrors.map(({ pointer, message: wrong }) => (
            <li key={`${pointer} ${wrong}`}>
              <Box variant="code" color="inherit">
                {pointer || "/"}
              </Box>{" "}
              <Prose plain={plain}>{wrong}</Prose>
            </li>
          ))}
        </ul>
      )}
      {nextActions.length > 0 && (
        <ul className="plain-list">
          {nextActions.map((action) => (
            <li key={action}>{nextActionSentence(action)}</li>
          ))}
        </ul>
      )}
      <div className="problem-ids">
        <Box variant="code" color="inherit" fontSize="body-s">
          {code}
        </Box>
        {correlationId !== null && (
          <span>
            Correlation id{" "}
            <CopyToClipboard
              variant="inline"
              textToCopy={correlationId}
              copyButtonAriaLabel="Copy the correlation id"
              copySuccessText="Correlation id copied"
              copyErrorText="The correlation id could not be copied"
            />
          </span>
        )}
      </div>
    </SpaceBetween>
  );
}
