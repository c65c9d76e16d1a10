import { act, render, screen } from "@testing-library/react";
import { Suspense } from "react";
import { expect, it } from "vitest";
import { RouterProvider } from "../../../src/app/router.tsx";
import { session } from "../../../src/app/session.ts";
import { forgetReadings } from "../../../src/live/kept.ts";
import AccountPage from "../../../src/pages/account/index.tsx";
import { fakePlatform, json, person } from "../fake-platform.ts";

const AT = "2026-03-14T09:30:00Z";

it("calls sessions browsers, and keeps their ids for whoever points at them", async () => {
  forgetReadings();
  session.set({ kind: "signed_in", who: person("ada@example.org") });
  const platform = fakePlatform();
  const one = { user_id: "user_1", created_at: AT, expires_at: AT, idle_until: AT };
  platform.on("GET /api/v1/personal-tokens", () => json(200, { items: [] }));
  platform.on("GET /api/v1/second-factors", () => json(200, { items: [] }));
  platform.on("GET /api/v1/sign-in-failures", () => json(200, { items: [] }));
  platform.on("GET /api/v1/sessions", () =>
    json(200, {
      items: [
        { ...one, id: "sess_1", current: true },
        { ...one, id: "sess_2" },
      ],
    }),
  );
  await act(async () =>
    render(
      <RouterProvider>
        <Suspense>
          <AccountPage />
        </Suspense>
      </RouterProvider>,
    ),
  );
  expect((await screen.findByText("This browser")).title).toBe("sess_1");
  expect(screen.getByText("Another browser").title).toBe("sess_2");
  expect(screen.queryByText("sess_2")).toBeNull();
  expect(screen.getAllByRole("button", { name: /^End the session since/ })).toHaveLength(1);
});
