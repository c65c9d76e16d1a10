import { act, renderHook, waitFor } from "@testing-library/react";
import { expect, it } from "vitest";
import { session } from "../../../src/app/session.ts";
import { useUtilities } from "../../../src/app/top-bar.tsx";
import { connectionForget, connectionReport } from "../../../src/live/connection.ts";
import { fakePlatform, json, person } from "../fake-platform.ts";

const PROJECT = { id: "proj_1", org_id: "org_1", display_name: "Vision", active: true };

it("has no menu before which something comes in later: it would close, or become another", async () => {
  const platform = fakePlatform();
  let answer = (): void => undefined;
  const answered = new Promise<void>((done) => {
    answer = done;
  });
  platform.on("GET /api/v1/projects", async () => {
    await answered;
    return json(200, { items: [PROJECT] });
  });
  platform.on("GET /api/v1/tenants", () => json(200, { items: [] }));
  session.set({ kind: "unknown" });
  const { result } = renderHook(() => useUtilities(false, "/sign-in"));
  const names = () => result.current.map(({ ariaLabel, text }) => ariaLabel ?? text);
  expect(names()).toEqual([]);
  act(() => session.set({ kind: "signed_in", who: person("ada@example.org") }));
  expect(names()).toEqual([]);

  await act(async () => answer());
  await waitFor(() => expect(names()[0]).toBe("Project: Vision"));
  expect(names().slice(2)).toEqual(["Appearance", "Ada"]);
  act(() => connectionReport("test", "reconnecting"));
  expect(names()[1]).toBe("Connection: Reconnecting");
  expect(names().slice(2)).toEqual(["Appearance", "Ada"]);
  act(() => connectionForget("test"));
});

it("offers a stranger the appearance first, and to sign in", () => {
  fakePlatform();
  session.set({ kind: "anonymous" });
  const { result } = renderHook(() => useUtilities(false, "/sign-in"));
  const names = () => result.current.map(({ ariaLabel, text }) => ariaLabel ?? text);
  expect(names()).toEqual(["Appearance", "Sign in"]);
  act(() => connectionReport("test", "live"));
  expect(names()).toEqual(["Appearance", "Connection: Live", "Sign in"]);
  act(() => connectionForget("test"));
});
