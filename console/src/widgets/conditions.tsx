/** Facts beside a status: what holds, since when, why, and what to do about it. */

import Alert from "@cloudscape-design/components/alert";
import SpaceBetween from "@cloudscape-design/components/space-between";
import type { Condition } from "../api/contract.ts";
import { Moment } from "./moment.tsx";
import { nextActionText } from "./next-actions.ts";
import { Prose } from "./prose.tsx";
import { sentence } from "./words.ts";

export function Conditions({ conditions }: { readonly conditions: readonly Condition[] }) {
  if (conditions.length === 0) return null;
  return (
    <SpaceBetween size="s">
      {conditions.map((condition) => (
        <Alert key={condition.type} type="warning" header={sentence(condition.type)}>
          <div className="wrap-anywhere">
            <Prose>{condition.message || condition.reason || ""}</Prose>
          </div>
          {condition.next_action && <div>{nextActionText(condition.next_action)}</div>}
          <div>
            Since <Moment at={condition.since} />
          </div>
        </Alert>
      ))}
    </SpaceBetween>
  );
}
