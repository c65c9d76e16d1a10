/** Draws a page or a part of one at an address, as the shell does: with the router around it, until it stands. */

import { act, render } from "@testing-library/react";
import { type ReactNode, Suspense } from "react";
import { RouterProvider } from "../../src/app/router.tsx";

export async function drawn(part: ReactNode, address = "/"): Promise<void> {
  window.history.replaceState(null, "", address);
  await act(async () =>
    render(
      <RouterProvider>
        <Suspense>{part}</Suspense>
      </RouterProvider>,
    ),
  );
}
