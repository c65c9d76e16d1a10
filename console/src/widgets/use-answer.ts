/** A question asked by a button, and its answer: shown beside the question it was given to and no other, so that it
 * is gone as soon as a field is changed. Called by pages that explain. */

import { useRef, useState } from "react";
import { asProblem } from "../api/client.ts";
import type { Problem } from "../api/problem.ts";

export interface Answering<A> {
  readonly asking: boolean;
  readonly answer: A | null;
  readonly problem: Problem | null;
  readonly ask: () => void;
}

interface Told<A> {
  readonly question: string;
  readonly answer: A | null;
  readonly problem: Problem | null;
}

export function useAnswer<Q, A>(question: Q, read: (question: Q) => Promise<A>): Answering<A> {
  const [told, setTold] = useState<Told<A> | null>(null);
  const [asking, setAsking] = useState(false);
  const busy = useRef<boolean>(false);
  const current = JSON.stringify(question);

  async function ask(): Promise<void> {
    if (busy.current) return;
    busy.current = true;
    setAsking(true);
    setTold(null);
    try {
      setTold({ question: current, answer: await read(question), problem: null });
    } catch (thrown) {
      setTold({ question: current, answer: null, problem: asProblem(thrown) });
    } finally {
      busy.current = false;
      setAsking(false);
    }
  }

  const shown = told?.question === current ? told : null;
  return {
    asking,
    answer: shown?.answer ?? null,
    problem: shown?.problem ?? null,
    ask: () => void ask(),
  };
}
