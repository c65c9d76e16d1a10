import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { api, asProblem, call, onUnauthenticated } from "../../../src/api/client.ts";
import { Problem } from "../../../src/api/problem.ts";
import { type FakePlatform, fakePlatform, json, problem } from "../fake-platform.ts";

let platform: FakePlatform;

beforeEach(() => {
  platform = fakePlatform();
});

afterEach(() => {
  // biome-ignore lint/suspicious/noDocumentCookie: the test plays the server that sets it
  document.cookie = "gpuaas_csrf=; max-age=0";
});

function sent(): Headers {
  return platform.requests[0]?.headers ?? new Headers();
}

describe("what goes out", () => {
  it("gives every request a correlation id the platform accepts", async () => {
    platform.on("GET /api/v1/version", () => json(200, { version: "1", schema_revision: 1 }));
    await call(api.GET("/api/v1/version"));
    expect(sent().get("X-Correlation-ID")).toMatch(/^web_[0-9a-f]{24}$/);
    expect(sent().has("Idempotency-Key")).toBe(false);
    expect(sent().has("X-CSRF-Token")).toBe(false);
  });

  it("gives every mutation an idempotency key and the CSRF token", async () => {
    // biome-ignore lint/suspicious/noDocumentCookie: the test plays the server that sets it
    document.cookie = "gpuaas_csrf=a%3Db";
    platform.on("POST /api/v1/sessions", () => json(201, {}));
    await call(api.POST("/api/v1/sessions", { body: { email: "a@b.c", password: "x" } }));
    await call(api.POST("/api/v1/sessions", { body: { email: "a@b.c", password: "x" } }));
    const keys = platform.requests.map(({ headers }) => headers.get("Idempotency-Key"));
    expect(new Set(keys).size).toBe(2);
    expect(sent().get("X-CSRF-Token")).toBe("a=b");
  });

  it("leaves the caller's own headers as they are", async () => {
    platform.on("DELETE /api/v1/sessions/current", () => new Response(null, { status: 204 }));
    const headers = { "Idempotency-Key": "mine", "If-Match": '"7"', "X-Correlation-ID": "cor" };
    const params = { path: { session_id: "current" } };
    await call(api.DELETE("/api/v1/sessions/{session_id}", { params, headers }));
    for (const [name, value] of Object.entries(headers)) expect(sent().get(name)).toBe(value);
  });
});

describe("what comes back", () => {
  it("is the data of a success", async () => {
    platform.on("GET /api/v1/version", () => json(200, { version: "1", schema_revision: 4 }));
    expect(await call(api.GET("/api/v1/version"))).toEqual({ version: "1", schema_revision: 4 });
  });

  it("is a Problem for a refusal, with everything the platform said", async () => {
    platform.on("GET /api/v1/version", () =>
      problem(409, "in_use", {
        detail: "A member lives on it.",
        correlation_id: "cor-1",
        retryable: true,
        next_actions: ["remove_users_first"],
        errors: [{ pointer: "/name", message: "is taken" }, "nonsense"],
      }),
    );
    expect(await failure()).toMatchObject({
      status: 409,
      code: "in_use",
      title: "Title of in_use",
      message: "A member lives on it.",
      correlationId: "cor-1",
      retryable: true,
      nextActions: ["remove_users_first"],
      fieldErrors: [{ pointer: "/name", message: "is taken" }],
      unreachable: false,
    });
  });

  it("is an unreachable Problem with the id that was sent when no answer comes", async () => {
    platform.on("GET /api/v1/version", () => Promise.reject(new TypeError("Failed to fetch")));
    const thrown = await failure();
    expect(thrown).toMatchObject({ status: 0, code: "unreachable", unreachable: true });
    expect(thrown.correlationId).toBe(sent().get("X-Correlation-ID"));
  });

  it("is unreachable behind a gateway that cannot reach the platform", async () => {
    platform.on("GET /api/v1/version", () => new Response("<h1>Bad gateway</h1>", { status: 502 }));
    expect(await failure()).toMatchObject({ status: 502, unreachable: true, retryable: true });
  });

  it("is reached, though wrong, when the platform itself says 503", async () => {
    platform.on("GET /api/v1/version", () => problem(503, "unavailable"));
    expect(await failure()).toMatchObject({ code: "unavailable", unreachable: false });
  });

  it("is a Problem when a page comes where JSON was due", async () => {
    platform.on("GET /api/v1/version", () => new Response("<!doctype html>", { status: 200 }));
    expect(await failure()).toMatchObject({ code: "unexpected_answer" });
  });

  it.each([
    ["12", 12],
    ["soon", null],
  ])("reads Retry-After %s as %s", async (header, seconds) => {
    platform.on("GET /api/v1/version", () =>
      problem(429, "rate_limited", {}, { "Retry-After": header }),
    );
    expect((await failure()).retryAfterSeconds).toBe(seconds);
  });

  it("tells whoever asked when nobody is signed in", async () => {
    const listener = vi.fn();
    const stop = onUnauthenticated(listener);
    platform.on("GET /api/v1/whoami", () => problem(401, "unauthenticated"));
    await expect(call(api.GET("/api/v1/whoami"))).rejects.toBeInstanceOf(Problem);
    stop();
    await expect(call(api.GET("/api/v1/whoami"))).rejects.toBeInstanceOf(Problem);
    expect(listener).toHaveBeenCalledOnce();
  });
});

describe("asProblem", () => {
  it("lets a bug pass as the bug it is", () => {
    const bug = new RangeError("bug");
    expect(() => asProblem(bug)).toThrow(bug);
  });
});

async function failure(): Promise<Problem> {
  return call(api.GET("/api/v1/version")).then(() => {
    throw new Error("a failure was due");
  }, asProblem);
}
