/** Sending something once: the same content keeps its idempotency key, however often it is sent (a double
 * click, a lost answer, a session that had to be renewed), and other content gets another one. */

import { useRef, useState } from "react";
import { asProblem } from "../api/client.ts";
import { newId } from "../api/correlation.ts";
import type { Problem } from "../api/problem.ts";

export interface Submission<T> {
  readonly sending: boolean;
  readonly problem: Problem | null;
  readonly send: (body: T) => Promise<boolean>;
  readonly clear: () => void;
}

/** Which key content was last sent with. */
export interface SentKey {
  readonly key: string;
  readonly content: string;
}

export function keyFor(content: string, last: SentKey | null): SentKey {
  return last !== null && last.content === content ? last : { key: newId("web_"), content };
}

export function useSubmission<T>(perform: (body: T, key: string) => Promise<void>): Submission<T> {
  const [sending, setSending] = useState(false);
  const [problem, setProblem] = useState<Problem | null>(null);
  const last = useRef<SentKey | null>(null);
  const busy = useRef<boolean>(false);

  async function send(body: T): Promise<boolean> {
    if (busy.current) return false;
    busy.current = true;
    last.current = keyFor(JSON.stringify(body), last.current);
    setSending(true);
    setProblem(null);
    try {
      await perform(body, last.current.key);
      last.current = null;
      return true;
    } catch (thrown) {
      setProblem(asProblem(thrown));
      return false;
    } finally {
      busy.current = false;
      setSending(false);
    }
  }

  return { sending, problem, send, clear: () => setProblem(null) };
}
