import { act, renderHook } from "@testing-library/react";
import { expect, it, vi } from "vitest";
import { Problem } from "../../../src/api/problem.ts";
import { useAnswer } from "../../../src/widgets/use-answer.ts";

type Read = (question: string) => Promise<string>;

function asked(read: Read) {
  return renderHook(({ question }) => useAnswer(question, read), {
    initialProps: { question: "may Ada?" },
  });
}

it("shows an answer beside its own question only", async () => {
  const { result, rerender } = asked(async (question) => `yes to ${question}`);
  await act(async () => result.current.ask());
  expect(result.current.answer).toBe("yes to may Ada?");
  rerender({ question: "may Bob?" });
  expect(result.current.answer).toBeNull();
});

it("shows no answer that comes when something else would be asked", async () => {
  let answer: (text: string) => void = () => undefined;
  const { result, rerender } = asked(() => new Promise((done) => (answer = done)));
  act(() => result.current.ask());
  expect(result.current.asking).toBe(true);
  rerender({ question: "may Bob?" });
  await act(async () => answer("yes"));
  expect(result.current).toMatchObject({ asking: false, answer: null, problem: null });
});

it("shows why it was not answered, and no older answer with it", async () => {
  const facts = { status: 404, code: "not_found", title: "?", detail: "?", correlationId: null };
  const read = vi.fn<Read>().mockResolvedValueOnce("yes").mockRejectedValue(new Problem(facts));
  const { result } = asked(read);
  await act(async () => result.current.ask());
  await act(async () => result.current.ask());
  expect(result.current.answer).toBeNull();
  expect(result.current.problem?.code).toBe("not_found");
});
