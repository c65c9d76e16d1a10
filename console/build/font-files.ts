/** Vite plugin: turns fonts embedded in a style sheet as `data:` into hashed files. Used by
 * vite.config.ts. The design system ships its fonts embedded; as files they pass a
 * `default-src 'self'` policy and the browser fetches only the weights a page shows. */

import { basename } from "node:path";
import type { Plugin } from "vite";

const EMBEDDED = /url\((["']?)data:font\/woff2;base64,([A-Za-z0-9+/=]+)\1\)/g;

export function fontFiles(): Plugin {
  return {
    name: "gpuaas:font-files",
    apply: "build",
    generateBundle(_, bundle) {
      for (const sheet of Object.values(bundle)) {
        if (sheet.type !== "asset" || !sheet.fileName.endsWith(".css")) continue;
        sheet.source = String(sheet.source).replace(EMBEDDED, (_match, _quote, base64: string) => {
          const reference = this.emitFile({
            type: "asset",
            name: "font.woff2",
            source: Buffer.from(base64, "base64"),
          });
          return `url(./${basename(this.getFileName(reference))})`;
        });
      }
    },
  };
}
