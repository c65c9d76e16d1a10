/** Runs before the tests of every file: what a test rendered, stored or went to does not outlive it, and what every
 * browser has is there. */

import { cleanup, configure } from "@testing-library/react";
import { afterEach, beforeEach } from "vitest";
import { sessionLeave } from "../../src/app/session.ts";

configure({
  getElementError: (message) => new Error(message ?? "not found"),
  asyncUtilTimeout: 20_000, // a machine may be busy with other things
});
// Also ends what still asks on its own, such as who is signed in.
beforeEach(sessionLeave);
afterEach(() => {
  cleanup();
  document.body.replaceChildren();
  localStorage.clear();
  sessionStorage.clear();
  window.history.replaceState(null, "", "/");
});

// A notice is given the focus a moment after it is shown, found by its id. A browser's own way to write an id as a
// selector is missing here; whoever was quick never missed it.
globalThis.CSS ??= { escape: (text) => text.replace(/[^\w-]/g, "\\$&") } as typeof CSS;
