/** Runs before the tests of every file: nothing a test has rendered outlives it, and what every browser has is
 * there. */

import { cleanup, configure } from "@testing-library/react";
import { afterEach } from "vitest";

configure({
  getElementError: (message) => new Error(message ?? "not found"),
  asyncUtilTimeout: 20_000, // a machine may be busy with other things
});
afterEach(cleanup);

// A notice is given the focus a moment after it is shown, found by its id. A browser's own way to write an id as a
// selector is missing here; whoever was quick never missed it.
globalThis.CSS ??= { escape: (text) => text.replace(/[^\w-]/g, "\\$&") } as typeof CSS;
