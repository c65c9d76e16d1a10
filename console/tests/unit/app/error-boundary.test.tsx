import { render, screen } from "@testing-library/react";
import { beforeEach, expect, it, vi } from "vitest";
import { ErrorBoundary } from "../../../src/app/error-boundary.tsx";

function Broken({ error }: { readonly error: Error }): never {
  throw error;
}

beforeEach(() => {
  // React writes what a boundary caught to the console.
  vi.spyOn(console, "error").mockImplementation(() => undefined);
});

it("shows what failed, and starts afresh at another place", () => {
  const { rerender } = render(
    <ErrorBoundary key="/a">
      <Broken error={new Error("no such column")} />
    </ErrorBoundary>,
  );
  expect(screen.getByRole("alert").textContent).toContain("no such column");
  rerender(<ErrorBoundary key="/b">fine</ErrorBoundary>);
  expect(screen.queryByRole("alert")).toBeNull();
  expect(screen.getByText("fine")).toBeDefined();
});

it("tells a missing chunk from a bug", () => {
  const error = new TypeError("Failed to fetch dynamically imported module: /assets/x.js");
  render(
    <ErrorBoundary key="/a">
      <Broken error={error} />
    </ErrorBoundary>,
  );
  expect(screen.getByRole("alert").textContent).toContain("could not be loaded");
  expect(screen.getByRole("button", { name: "Reload" })).toBeDefined();
});
