import { screen } from "@testing-library/react";
import { beforeEach, expect, it } from "vitest";
import { forgetReadings } from "../../../src/live/kept.ts";
import CatalogPage from "../../../src/pages/catalog/index.tsx";
import { drawn } from "../drawn.tsx";
import { type FakePlatform, fakePlatform, json, problem } from "../fake-platform.ts";

let platform: FakePlatform;

beforeEach(() => {
  forgetReadings();
  platform = fakePlatform();
});

function app(display_name: string, available = true) {
  const slug = display_name.toLowerCase().replaceAll(" ", "-");
  return { slug, display_name, available, description: "", publisher: "us", reasons: [] };
}

async function open(address = "/here"): Promise<void> {
  await drawn(<CatalogPage params={{ project_id: "proj_1" }} />, address);
}

it("lists what can be deployed first, each part by name", async () => {
  const items = [app("Web 10"), app("Archive", false), app("Web 9"), app("Board", false)];
  platform.on("GET /api/v1/projects/proj_1/apps", () => json(200, { items }));
  await open("/here?all=1");
  await screen.findByText("Web 9");
  const names = screen.getAllByRole("link").map(({ textContent }) => textContent);
  expect(names).toEqual(["Web 9", "Web 10", "Archive", "Board"]);
});

it("orders by who published it, where the address says so", async () => {
  const items = [app("Alpha"), { ...app("Beta"), publisher: "an early one" }];
  platform.on("GET /api/v1/projects/proj_1/apps", () => json(200, { items }));
  await open("/here?sort=publisher");
  await screen.findByText("Beta");
  const names = screen.getAllByRole("link").map(({ textContent }) => textContent);
  expect(names).toEqual(["Beta", "Alpha"]);
  expect(screen.getByRole("button", { name: /Order/ })).toBeDefined();
});

it("does not say that no app is entitled where that could not be read", async () => {
  platform.on("GET /api/v1/projects/proj_1/apps", () => problem(500, "internal"));
  await open();
  expect(await screen.findByText("It could not be read")).toBeDefined();
  expect(screen.queryByText("No app is entitled to this project")).toBeNull();
});
