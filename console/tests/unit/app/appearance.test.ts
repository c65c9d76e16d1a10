import { beforeEach, describe, expect, it, vi } from "vitest";

/** The module reads what is remembered when it is loaded: each test loads it anew. */
async function load() {
  vi.resetModules();
  return import("../../../src/app/appearance.ts");
}

let systemDark: boolean;
let systemChanged: () => void;

beforeEach(() => {
  systemDark = false;
  window.localStorage.clear();
  document.body.className = "";
  vi.stubGlobal("matchMedia", () => ({
    get matches() {
      return systemDark;
    },
    addEventListener: (_: string, listener: () => void) => {
      systemChanged = listener;
    },
  }));
});

function isDark(): boolean {
  return document.body.classList.contains("awsui-dark-mode");
}

describe("the appearance", () => {
  it("is the system's, and follows it", async () => {
    (await load()).followAppearance();
    expect(isDark()).toBe(false);
    systemDark = true;
    systemChanged();
    expect(isDark()).toBe(true);
  });

  it("is what the person chose, also after a reload and whatever the system says", async () => {
    const { chooseAppearance, followAppearance } = await load();
    followAppearance();
    chooseAppearance("dark");
    expect(isDark()).toBe(true);
    document.body.className = "";
    (await load()).followAppearance();
    systemChanged();
    expect(isDark()).toBe(true);
  });

  it("works where storage is blocked or holds nonsense", async () => {
    window.localStorage.setItem("gpuaas.appearance", "pink");
    expect((await load()).appearance.get()).toBe("system");
    vi.spyOn(Storage.prototype, "getItem").mockImplementation(() => {
      throw new DOMException("blocked", "SecurityError");
    });
    vi.spyOn(Storage.prototype, "setItem").mockImplementation(() => {
      throw new DOMException("blocked", "SecurityError");
    });
    const { appearance, chooseAppearance } = await load();
    chooseAppearance("light");
    expect(appearance.get()).toBe("light");
  });
});
