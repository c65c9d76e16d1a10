import { act, render, screen } from "@testing-library/react";
import { beforeEach, expect, it } from "vitest";
import { chooseProject, useProject } from "../../../src/app/place.ts";
import { session } from "../../../src/app/session.ts";
import { forgetReadings } from "../../../src/live/kept.ts";
import { type FakePlatform, fakePlatform, json, person, problem } from "../fake-platform.ts";

let platform: FakePlatform;

beforeEach(() => {
  forgetReadings();
  session.set({ kind: "signed_in", who: person("ada@example.org") });
  platform = fakePlatform();
});

function project(id: string, active = true) {
  return { id, display_name: `Project ${id}`, active };
}

/** A list of projects that goes on for ever, or ends with its first page. */
function listed(more: boolean): void {
  platform.on("GET /api/v1/projects", () =>
    json(200, { items: [project("proj_1")], next_cursor: more ? "on" : null }),
  );
}

function Where() {
  return <p>{useProject()?.display_name ?? "nowhere"}</p>;
}

async function draw(): Promise<void> {
  await act(async () => render(<Where />));
}

it("is the chosen project though more are in reach than are listed", async () => {
  listed(true);
  let answer: (response: Response) => void = () => undefined;
  platform.on("GET /api/v1/projects/proj_9", () => new Promise((done) => (answer = done)));
  chooseProject("proj_9");
  await draw();
  expect(screen.getByText("nowhere")).toBeDefined();
  await act(async () => answer(json(200, project("proj_9"))));
  expect(await screen.findByText("Project proj_9")).toBeDefined();
});

it.each([
  ["hidden", () => problem(404, "not_found")],
  ["closed", () => json(200, project("proj_9", false))],
])("is the first in reach where the chosen one is %s", async (_, answer) => {
  listed(true);
  platform.on("GET /api/v1/projects/proj_9", answer);
  chooseProject("proj_9");
  await draw();
  expect(await screen.findByText("Project proj_1")).toBeDefined();
});

it("asks for no project by itself where all are listed", async () => {
  listed(false);
  chooseProject("proj_9");
  await draw();
  expect(await screen.findByText("Project proj_1")).toBeDefined();
  expect(platform.requests.map(({ url }) => new URL(url).pathname)).toEqual(["/api/v1/projects"]);
});
