/** Mints the ids the console sends: correlation ids and idempotency keys. */

/** 96 random bits in hex. `crypto.randomUUID` is missing where the page came over plain HTTP, as
 * on a first installation; `getRandomValues` is not. */
export function newId(prefix: string): string {
  const bytes = crypto.getRandomValues(new Uint8Array(12));
  return prefix + Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
