import { I18nProvider } from "@cloudscape-design/components/i18n";
import messages from "@cloudscape-design/components/i18n/messages/all.en";
import { act, fireEvent, render, screen, waitFor } from "@testing-library/react";
import { userEvent } from "@testing-library/user-event";
import { Suspense } from "react";
import { beforeEach, expect, it } from "vitest";
import { RouterProvider } from "../../../src/app/router.tsx";
import { session } from "../../../src/app/session.ts";
import { forgetReadings } from "../../../src/live/kept.ts";
import { forgetNames } from "../../../src/live/names.ts";
import { draftKey, draftRead, draftWrite, NO_DRAFT } from "../../../src/pages/deploy/draft.ts";
import DeployPage from "../../../src/pages/deploy/index.tsx";
import { type FakePlatform, fakePlatform, json, person, problem } from "../fake-platform.ts";

const KEY = draftKey("user_1", "proj_1", "web");
const APP = "/api/v1/projects/proj_1/apps/web";
const FORM = `GET ${APP}/versions/1.0.0/form`;
const CHECK = `POST ${APP}/versions/1.0.0/validate-input`;
const MANIFEST = "GET /api/v1/apps/web/versions/1.0.0";
const DEPLOY = "POST /api/v1/projects/proj_1/app-instances";
const input = {
  type: "object",
  required: ["machine"],
  properties: {
    machine: { title: "Machine", type: "string", "x-widget": "allocation_picker", "x-order": 1 },
    greeting: { title: "Greeting", type: "string", "x-order": 2 },
  },
};
const manifest = {
  components: [{ key: "server", title: "Server" }],
  topologies: [],
  operations: [
    {
      kind: "deploy",
      title: "Deploy",
      purpose: "deploy",
      input,
      placement: [{ pointer: "/machine", component: "server" }],
      steps: [{ name: "install" }, { name: "start" }],
    },
  ],
};
const form = { kind: "deploy", description: "", input_schema: input, initial: {}, fixed: [] };
const machine = {
  id: "alloc_1",
  name: "m-01",
  sku: "big",
  region: "north",
  status: "active",
  bound_instance_id: null,
};
const reviewed = {
  ...NO_DRAFT,
  version: "1.0.0",
  name: "mine",
  settings: { machine: "alloc_1" },
  step: 2,
};
let platform: FakePlatform;

beforeEach(() => {
  forgetReadings();
  forgetNames();
  window.sessionStorage.clear();
  window.history.replaceState(null, "", "/projects/proj_1/catalog/web/deploy");
  session.set({ kind: "signed_in", who: person("ada@example.com") });
  platform = fakePlatform();
  const versions = [{ version: "1.0.0", status: "published", available: true, reasons: [] }];
  platform.on(`GET ${APP}`, () =>
    json(200, {
      slug: "web",
      display_name: "Web",
      latest_available: "1.0.0",
      versions,
      reasons: [],
    }),
  );
  platform.on(MANIFEST, () => json(200, { manifest }));
  platform.on(FORM, () => json(200, form));
  platform.on(CHECK, () => json(200, { valid: true, errors: [], input: {} }));
  platform.on("GET /api/v1/projects", () =>
    json(200, { items: [{ id: "proj_1", org_id: "org_1", display_name: "One", active: true }] }),
  );
  hold(machine);
  platform.on("GET /api/v1/skus", () => json(200, { items: [] }));
});

function hold(...items: unknown[]): void {
  platform.on("GET /api/v1/allocations", () => json(200, { items }));
}

async function show(): Promise<void> {
  await act(async () => {
    render(
      <I18nProvider locale="en" messages={[messages]}>
        <RouterProvider>
          <Suspense>
            <DeployPage params={{ project_id: "proj_1", slug: "web" }} />
          </Suspense>
        </RouterProvider>
      </I18nProvider>,
    );
  });
}

const click = async (name: string | RegExp) =>
  userEvent.click(await screen.findByRole("button", { name }));
const asked = (method: string, path: string) =>
  platform.requests.filter((one) => one.method === method && new URL(one.url).pathname === path);
const posts = () => asked("POST", "/api/v1/projects/proj_1/app-instances");

it("says that a form could not be read, and reads it again", async () => {
  platform.on(FORM, () => problem(500, "broken", { correlation_id: "web_9" }));
  await show();
  await click("Next");
  expect(await screen.findByText("Title of broken")).toBeDefined();
  await click("Next");
  expect(screen.getByText("Title of broken")).toBeDefined();
  platform.on(FORM, () => json(200, form));
  await click("Read again");
  expect(await screen.findByRole("radio", { name: "m-01" })).toBeDefined();
});

it("sends nothing before its form was read, and then what was filled in", async () => {
  draftWrite(KEY, reviewed);
  let read = () => undefined as unknown;
  platform.on(FORM, () => new Promise((done) => (read = () => done(json(200, form)))));
  platform.on(DEPLOY, () => json(201, { instance: { id: "inst_1", resource_name: "mine" } }));
  await show();
  fireEvent.click(await screen.findByRole("button", { name: /Deploy/ }));
  expect(posts()).toHaveLength(0);
  read();
  expect(await screen.findByText("The deploy: Install → Start.")).toBeDefined();
  await click("Deploy");
  await waitFor(() => expect(posts()).toHaveLength(1));
  expect(await posts()[0]?.json()).toMatchObject({ settings: { machine: "alloc_1" } });
  await waitFor(() => expect(window.location.pathname).toBe("/instances/inst_1"));
});

it("goes back to what is wrong in a draft in place of sending it", async () => {
  draftWrite(KEY, { ...reviewed, settings: {} });
  await show();
  await screen.findByText("The deploy: Install → Start.");
  await click("Deploy");
  expect(await screen.findByText("Machine is needed.")).toBeDefined();
  expect(posts()).toHaveLength(0);
});

it("does not deploy on a machine that is taken or gone, and says which and why", async () => {
  draftWrite(KEY, reviewed);
  hold({ ...machine, status: "releasing" });
  await show();
  const alert = await screen.findByRole("alert");
  expect(alert.textContent).toContain("It cannot be deployed on these machines");
  expect(alert.textContent).toContain("It is releasing.");
  await click("Deploy");
  expect(posts()).toHaveLength(0);
  hold();
  await click("Choose others");
  expect(await screen.findByRole("button", { name: "Next" })).toBeDefined();
});

it("says that machines could not be read, and no price in their place", async () => {
  draftWrite(KEY, reviewed);
  platform.on("GET /api/v1/allocations", () => problem(500, "broken"));
  await show();
  expect(await screen.findByText("Title of broken")).toBeDefined();
  expect(screen.queryByText("No machine is named.")).toBeNull();
  expect(screen.queryByText(/0\.00/)).toBeNull();
});

it("sends again what was sent before, though its own deploy may hold the machine by now", async () => {
  draftWrite(KEY, reviewed);
  platform.on(DEPLOY, () => Promise.reject(new TypeError("lost")));
  await show();
  await screen.findByText("The deploy: Install → Start.");
  await click("Deploy");
  expect(await screen.findByText("The platform does not answer")).toBeDefined();
  forgetReadings();
  hold({ ...machine, bound_instance_id: "inst_1" });
  await click("Deploy");
  await waitFor(() => expect(posts()).toHaveLength(2));
  const keys = posts().map(({ headers }) => headers.get("Idempotency-Key"));
  expect(keys[0]).toBe(keys[1]);
});

it("takes back what the platform refused once it was corrected", async () => {
  draftWrite(KEY, reviewed);
  const errors = [{ pointer: "/settings/greeting", message: "is rude" }];
  platform.on(DEPLOY, () => problem(422, "invalid", { errors }));
  await show();
  await screen.findByText("The deploy: Install → Start.");
  await click("Deploy");
  await screen.findByText("is rude");
  await click("Previous");
  expect(await screen.findByText("Greeting is rude.")).toBeDefined();
  await userEvent.type(screen.getByRole("textbox", { name: /^Greeting/ }), "Hi");
  expect(screen.queryByText("Greeting is rude.")).toBeNull();
});

it("forgets what was wrong when it cannot ask again", async () => {
  draftWrite(KEY, { ...reviewed, step: 1 });
  const errors = [{ pointer: "/greeting", message: "is rude" }];
  platform.on(CHECK, () => json(200, { valid: false, errors, input: {} }));
  await show();
  const greeting = await screen.findByRole("textbox", { name: /^Greeting/ });
  await userEvent.type(greeting, "x");
  expect(await screen.findByText("Greeting is rude.")).toBeDefined();
  platform.on(CHECK, () => problem(500, "broken"));
  await userEvent.type(greeting, "y");
  await waitFor(() => expect(screen.queryByText("Greeting is rude.")).toBeNull());
});

it("asks before what was filled in is dropped", async () => {
  draftWrite(KEY, { ...reviewed, step: 0 });
  await show();
  await click("Cancel");
  const dialog = await screen.findByRole("dialog", { name: "Drop what you filled in?" });
  expect(dialog).toBeDefined();
  expect(draftRead(KEY).name).toBe("mine");
  await click("Drop it");
  await waitFor(() => expect(window.location.pathname).toBe("/projects/proj_1/catalog/web"));
  expect(draftRead(KEY)).toEqual(NO_DRAFT);
});

it("says that the chosen version was withdrawn, on the first step", async () => {
  draftWrite(KEY, { ...reviewed, version: "0.9.0" });
  await show();
  expect(await screen.findByText("Version 0.9.0 can no longer be deployed here")).toBeDefined();
  expect(screen.getByText(/^1\.0\.0 is chosen in its place\./)).toBeDefined();
  await click("Next");
  await waitFor(() =>
    expect(screen.getByRole("radio", { name: "m-01" })).toHaveProperty("checked", true),
  );
});
