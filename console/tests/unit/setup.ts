/** Runs before the tests of every file: nothing a test has rendered outlives it. */

import { cleanup, configure } from "@testing-library/react";
import { afterEach } from "vitest";

configure({
  getElementError: (message) => new Error(message ?? "not found"),
  asyncUtilTimeout: 20_000, // a machine may be busy with other things
});
afterEach(cleanup);
