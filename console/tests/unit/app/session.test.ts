import { beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { noticeDone, notices } from "../../../src/app/notices.ts";
import { followSession, session, sessionLeave, signIn, signOut } from "../../../src/app/session.ts";
import { connectionForget, connectionReport } from "../../../src/live/connection.ts";
import { keep, recall } from "../../../src/live/kept.ts";
import { NOTHING_READ } from "../../../src/live/poller.ts";
import { type FakePlatform, fakePlatform, json, person, problem } from "../fake-platform.ts";

const ada = person("ada@example.org");

let platform: FakePlatform;

function whoamiIs(who: object | null): void {
  platform.on("GET /api/v1/whoami", () =>
    who === null ? problem(401, "unauthenticated") : json(200, who),
  );
}

function pageShown(): void {
  document.dispatchEvent(new Event("visibilitychange"));
}

beforeEach(() => {
  platform = fakePlatform();
  session.set({ kind: "unknown" });
  notices.set([]);
});

// Its listeners live as long as the page does: it is called once, as in the console.
beforeAll(() => {
  vi.stubGlobal("fetch", () => Promise.reject(new TypeError("not there yet")));
  followSession();
});

describe("the session", () => {
  it("stays unknown while the platform does not answer, and is read when it does", async () => {
    expect(session.get().kind).toBe("unknown");
    whoamiIs(ada);
    connectionReport("test", "live");
    await vi.waitFor(() => expect(session.get()).toEqual({ kind: "signed_in", who: ada }));
    connectionForget("test");
  });

  it("is anonymous when the platform says so", async () => {
    whoamiIs(null);
    pageShown();
    await vi.waitFor(() => expect(session.get().kind).toBe("anonymous"));
  });

  it("expires without forgetting who it was, and goes on when they sign in elsewhere", async () => {
    session.set({ kind: "signed_in", who: ada });
    whoamiIs(null);
    pageShown();
    await vi.waitFor(() => expect(session.get()).toEqual({ kind: "expired", who: ada }));
    whoamiIs(ada);
    pageShown();
    await vi.waitFor(() => expect(session.get().kind).toBe("signed_in"));
  });

  it("starts by signing in", async () => {
    platform.on("POST /api/v1/sessions", () => json(201, {}));
    whoamiIs(ada);
    await signIn("ada@example.org", "secret");
    expect(await platform.requests[0]?.json()).toEqual({
      email: "ada@example.org",
      password: "secret",
    });
    expect(session.get()).toEqual({ kind: "signed_in", who: ada });
  });

  it("ends by signing out, also when it had ended already", async () => {
    session.set({ kind: "signed_in", who: ada });
    platform.on("DELETE /api/v1/sessions/current", () => problem(401, "unauthenticated"));
    await signOut();
    expect(session.get().kind).toBe("anonymous");
    expect(notices.get()).toEqual([]);
  });

  it("leaves nothing of one person to the next", async () => {
    const here = window.location;
    const reload = vi.fn();
    vi.stubGlobal("location", { ...here, reload });
    platform.on("POST /api/v1/sessions", () => json(201, {}));
    whoamiIs(ada);
    await signIn("ada@example.org", "secret");
    noticeDone("Asked for: Stop.");
    keep("instances:proj_1", { ...NOTHING_READ, value: ["hers"] });
    sessionLeave();
    expect(notices.get()).toEqual([]);
    expect(recall("instances:proj_1").value).toBeNull();
    await signIn("ada@example.org", "secret");
    expect(reload).not.toHaveBeenCalled();
    sessionLeave();
    whoamiIs({ ...person("bob@example.org"), id: "user_2" });
    await signIn("bob@example.org", "secret");
    expect(reload).toHaveBeenCalledOnce();
    vi.stubGlobal("location", here);
  });

  it("does not pretend to have signed out", async () => {
    session.set({ kind: "signed_in", who: ada });
    platform.on("DELETE /api/v1/sessions/current", () => problem(500, "internal"));
    await signOut();
    expect(session.get().kind).toBe("signed_in");
    expect(notices.get()).toMatchObject([{ problem: { code: "internal" } }]);
  });
});
