/** How the console is built, served while it is written, and tested. */

import react from "@vitejs/plugin-react";
import { defineConfig } from "vitest/config";
import { fontFiles } from "./build/font-files.ts";
import { precompress } from "./build/precompress.ts";

export default defineConfig({
  plugins: [react(), fontFiles(), precompress()],
  build: {
    // The policy the platform serves with allows no `data:`: every asset is a file of its own.
    assetsInlineLimit: 0,
    license: { fileName: "licenses.md" },
    // Tells the budget test what a first load fetches.
    manifest: true,
    // A file over this size is only worth a look; what a first load may weigh is held by the test.
    chunkSizeWarningLimit: 1000,
    modulePreload: { polyfill: false },
    rolldownOptions: {
      output: {
        // Whole files are compiled while they are fetched ahead, beside the page, and not at the first click.
        postBanner: ({ isEntry }) => (isEntry ? "" : "//# allFunctionsCalledOnLoad\n"),
      },
    },
  },
  server: {
    proxy: { "/api": process.env.GPUAAS_URL ?? "http://127.0.0.1:8470" },
  },
  test: {
    projects: [
      {
        extends: true,
        test: {
          name: "unit",
          include: ["tests/unit/**/*.test.{ts,tsx}"],
          environment: "jsdom",
          setupFiles: ["tests/unit/setup.ts"],
          testTimeout: 60_000, // a machine may be busy with other things
          restoreMocks: true,
          unstubGlobals: true,
          server: { deps: { inline: [/@cloudscape-design\//] } },
        },
      },
      { test: { name: "dist", include: ["tests/dist/**/*.test.ts"] } },
    ],
  },
});
