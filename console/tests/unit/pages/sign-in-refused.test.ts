import { describe, expect, it } from "vitest";
import { refusalOf } from "../../../src/pages/sign-in/refused.ts";

describe("what a refused sign-in says", () => {
  it("is the platform's code, our sentence for it, and the correlation id", () => {
    const refused = refusalOf("?error=sign_in_failed&correlation_id=web-1.a");
    expect(refused).toMatchObject({ code: "sign_in_failed", correlationId: "web-1.a" });
    expect(refused?.message).toContain("The provider did not let you in");
  });

  it("is nothing that somebody wrote into an address", () => {
    expect(refusalOf("")).toBeNull();
    expect(refusalOf("?error=Call+this+number")).toBeNull();
    expect(refusalOf("?error=other&correlation_id=call+me")).toMatchObject({
      code: "other",
      correlationId: null,
    });
  });
});
