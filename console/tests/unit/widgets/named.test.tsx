import { act, render, screen } from "@testing-library/react";
import { beforeEach, expect, it, vi } from "vitest";
import { session, signOut } from "../../../src/app/session.ts";
import { forgetNames, names, nameWanted } from "../../../src/live/names.ts";
import { findable, Named } from "../../../src/widgets/named.tsx";
import { Thing } from "../../../src/widgets/thing.tsx";
import { type FakePlatform, fakePlatform, json, person, problem } from "../fake-platform.ts";

const OLGA = id("user", 1);
const ROBOT = id("sa", 2);
const HIDDEN = id("user", 3);
let platform: FakePlatform;

function id(kind: string, number: number): string {
  return `${kind}_0${String(number).padStart(25, "0")}`;
}

function asked(): string[][] {
  return platform.requests
    .filter(({ url }) => url.includes("/api/v1/names"))
    .map(({ url }) => new URL(url).searchParams.getAll("id"));
}

beforeEach(() => {
  forgetNames();
  session.set({ kind: "anonymous" });
  platform = fakePlatform();
  const items = [
    { id: OLGA, name: "Olga Owner" },
    { id: ROBOT, name: "robot" },
  ];
  platform.on("GET /api/v1/names", () => json(200, { items }));
});

it("asks once for all that stand on a page, and shows what it is told", async () => {
  render(
    <>
      <Thing id={OLGA} />
      <Thing id={ROBOT} />
      <Thing id={OLGA} />
      <Thing id={HIDDEN} />
      <Thing id="a-word-of-somebody-elses" />
    </>,
  );
  expect(screen.getAllByTitle(OLGA)[0]?.textContent).toBe("user_…000001");
  expect(asked()).toEqual([]);
  expect(await screen.findAllByText("Olga Owner")).toHaveLength(2);
  const robot = screen.getByRole("link", { name: "robot" });
  expect(robot.getAttribute("href")).toBe(`/service-accounts/${ROBOT}`);
  expect(screen.getByTitle(HIDDEN).textContent).toBe("user_…000003");
  expect(screen.getByText("a-word-of-somebody-elses")).toBeDefined();
  expect(asked()).toEqual([[OLGA, ROBOT, HIDDEN]]);
});

it("remembers what it was told, and what nobody tells", async () => {
  render(<Named id={OLGA} />);
  await screen.findByText("Olga Owner");
  render(<Named id={OLGA} />);
  expect(screen.getAllByText("Olga Owner")).toHaveLength(2);
  await act(() => new Promise((done) => setTimeout(done, 5)));
  expect(asked()).toHaveLength(1);
  expect(findable(OLGA)).toBe(`Olga Owner ${OLGA}`);
  expect(findable(HIDDEN)).toBe(HIDDEN);
});

it("knows oneself without asking", async () => {
  session.set({ kind: "signed_in", who: { ...person("ada@example.org"), id: OLGA } });
  render(<Named id={OLGA} />);
  expect(screen.getByTitle(OLGA).textContent).toBe("Ada");
  expect(findable(OLGA)).toBe(`Ada ${OLGA}`);
  await act(() => new Promise((done) => setTimeout(done, 5)));
  expect(asked()).toEqual([]);
});

it("asks for no more at once than the platform takes", async () => {
  for (let number = 1; number <= 250; number += 1) nameWanted(id("user", number));
  await vi.waitFor(() => expect(asked().map(({ length }) => length)).toEqual([100, 100, 50]));
});

it("asks again for what could not be read", async () => {
  platform.on("GET /api/v1/names", () => problem(503, "unavailable"));
  const { unmount } = render(<Named id={OLGA} />);
  await vi.waitFor(() => expect(asked()).toHaveLength(1));
  unmount();
  platform.on("GET /api/v1/names", () => json(200, { items: [{ id: OLGA, name: "Olga" }] }));
  await vi.waitFor(() => {
    nameWanted(OLGA);
    expect(names.get().get(OLGA)).toBe("Olga");
  });
});

it("forgets every name at sign-out, also one that is on its way", async () => {
  let answer: (response: Response) => void = () => undefined;
  platform.on("GET /api/v1/names", () => new Promise((done) => (answer = done)));
  platform.on("DELETE /api/v1/sessions/current", () => new Response(null, { status: 204 }));
  names.set(new Map([[ROBOT, "robot"]]));
  nameWanted(OLGA);
  await vi.waitFor(() => expect(asked()).toHaveLength(1));
  await signOut();
  answer(json(200, { items: [{ id: OLGA, name: "Olga Owner" }] }));
  await new Promise((done) => setTimeout(done, 5));
  expect(names.get().size).toBe(0);
});
