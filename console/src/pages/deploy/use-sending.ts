/** Sends a deploy, once: its idempotency key is kept with the draft, so that what is sent again after a reload or a
 * lost answer is still the same request. For the wizard. */

import { useState } from "react";
import { api, asProblem, call } from "../../api/client.ts";
import type { Schemas } from "../../api/contract.ts";
import type { Problem } from "../../api/problem.ts";
import { noticeDone } from "../../app/notices.ts";
import { navigate } from "../../app/router.tsx";
import { keyFor } from "../../forms/use-submission.ts";
import { type Draft, draftForget, draftWrite } from "./draft.ts";

interface Sending {
  readonly projectId: string;
  readonly storeKey: string;
  readonly draft: Draft;
  readonly onSent: (draft: Draft) => void;
}

export function useSending({ projectId, storeKey, draft, onSent }: Sending) {
  const [sending, setSending] = useState(false);
  const [problem, setProblem] = useState<Problem | null>(null);

  async function send(body: Schemas["InstanceCreate"]): Promise<void> {
    const sent = keyFor(JSON.stringify(body), draft.sent);
    const kept = { ...draft, sent };
    onSent(kept);
    draftWrite(storeKey, kept);
    setSending(true);
    setProblem(null);
    try {
      const { instance } = await call(
        api.POST("/api/v1/projects/{project_id}/app-instances", {
          params: { path: { project_id: projectId } },
          body,
          headers: { "Idempotency-Key": sent.key },
        }),
      );
      draftForget(storeKey);
      noticeDone(`${instance.resource_name} is being deployed.`);
      navigate(`/instances/${instance.id}`);
    } catch (thrown) {
      setProblem(asProblem(thrown));
      setSending(false);
    }
  }

  return { sending, problem, send, clear: () => setProblem(null) };
}
